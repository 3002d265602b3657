//! Autonomy: how much an agent may do by itself, where, and when it may grow.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::agent::subtype::Subtype;
use crate::org::layer::{BusinessLayer, Standing};
use crate::time::Timestamp;

/// The four levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AutonomyLevel {
    /// Every tool call waits for a person.
    Supervised,
    /// Reading runs, everything else waits for a person.
    SemiAutonomous,
    /// Everything runs, except what the approval list names.
    Autonomous,
    /// Reading runs, nothing else does.
    DraftOnly,
}

use AutonomyLevel::{Autonomous, DraftOnly, SemiAutonomous, Supervised};

impl AutonomyLevel {
    /// All levels.
    pub const ALL: [Self; 4] = [Supervised, SemiAutonomous, Autonomous, DraftOnly];

    /// The name as it is stored and shown.
    pub const fn name(self) -> &'static str {
        match self {
            Supervised => "supervised",
            SemiAutonomous => "semi_autonomous",
            Autonomous => "autonomous",
            DraftOnly => "draft_only",
        }
    }
}

impl fmt::Display for AutonomyLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The levels an agent of this standing may have.
pub const fn allowed_levels(standing: &Standing) -> &'static [AutonomyLevel] {
    match standing.guarded_as {
        BusinessLayer::Platform => &[Autonomous, DraftOnly],
        BusinessLayer::Agency => &[Autonomous, SemiAutonomous, DraftOnly],
        BusinessLayer::Client => &[Supervised, SemiAutonomous, Autonomous, DraftOnly],
        BusinessLayer::EndCustomer => &[Supervised, SemiAutonomous, DraftOnly],
    }
}

/// A level that a business layer does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{business_layer} cannot be {level}; allowed here: {}", names(.allowed))]
pub struct LevelRefused {
    /// The business layer in question.
    pub business_layer: BusinessLayer,
    /// The level that was asked for.
    pub level: AutonomyLevel,
    /// The levels that it may have.
    pub allowed: &'static [AutonomyLevel],
}

/// Whether an agent of this standing may have this level.
pub fn check_level(standing: &Standing, level: AutonomyLevel) -> Result<(), LevelRefused> {
    let allowed = allowed_levels(standing);
    if allowed.contains(&level) {
        Ok(())
    } else {
        Err(LevelRefused { business_layer: standing.guarded_as, level, allowed })
    }
}

/// The level that a new agent gets: a client's agents start supervised and
/// grow, a coordinator only routes and needs nobody's consent.
pub fn initial_level(standing: &Standing) -> AutonomyLevel {
    match standing.guarded_as {
        _ if standing.subtype == Subtype::Coordinator => Autonomous,
        BusinessLayer::Platform => Autonomous,
        BusinessLayer::Agency => SemiAutonomous,
        BusinessLayer::Client | BusinessLayer::EndCustomer => Supervised,
    }
}

fn names(levels: &[AutonomyLevel]) -> String {
    levels.iter().map(|level| level.name()).collect::<Vec<_>>().join(", ")
}

/// How an agent has done, for the question whether it may do more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TrackRecord {
    /// Conversations it has finished.
    pub conversations: u32,
    /// Those in which a person corrected it.
    pub corrected: u32,
    /// Those that went to a human.
    pub escalated: u32,
    /// When an approval was last rejected.
    pub last_rejection_at: Option<Timestamp>,
}

const REJECTION_FREE: Duration = Duration::from_secs(30 * 24 * 3600);

/// The next level to propose to the owner. A proposal only: nothing here
/// changes an agent, and only the owner's approval does.
pub fn promotion(
    current: AutonomyLevel,
    standing: &Standing,
    record: &TrackRecord,
    now: Timestamp,
) -> Option<AutonomyLevel> {
    let (next, conversations, corrected_percent, escalated_percent) = match current {
        Supervised => (SemiAutonomous, 50, 5, 15),
        SemiAutonomous => (Autonomous, 200, 2, 10),
        Autonomous | DraftOnly => return None,
    };
    let within = |part: u32, percent: u64| {
        u64::from(part) * 100 <= u64::from(record.conversations) * percent
    };
    let no_recent_rejection =
        record.last_rejection_at.is_none_or(|at| now.since(at) >= REJECTION_FREE);
    let earned = record.conversations >= conversations
        && within(record.corrected, corrected_percent)
        && within(record.escalated, escalated_percent)
        && (next != Autonomous || no_recent_rejection);
    (earned && allowed_levels(standing).contains(&next)).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::{AutonomyLevel, TrackRecord, check_level, initial_level, promotion};
    use crate::agent::autonomy::AutonomyLevel::{
        Autonomous, DraftOnly, SemiAutonomous, Supervised,
    };
    use crate::agent::subtype::Subtype;
    use crate::org::layer::{BusinessLayer, Standing};
    use crate::testing;
    use crate::time::Timestamp;
    use std::time::Duration;

    fn guarded_as(layer: BusinessLayer) -> Standing {
        Standing { business_layer: layer, guarded_as: layer, subtype: Subtype::Pm }
    }

    /// D05: the table of 4 layers × 4 levels.
    #[test]
    fn d05_each_layer_has_its_levels() {
        let table = [
            (BusinessLayer::Platform, [false, false, true, true]),
            (BusinessLayer::Agency, [false, true, true, true]),
            (BusinessLayer::Client, [true, true, true, true]),
            (BusinessLayer::EndCustomer, [true, true, false, true]),
        ];
        for (layer, expected) in table {
            let got =
                AutonomyLevel::ALL.map(|level| check_level(&guarded_as(layer), level).is_ok());
            assert_eq!(got, expected, "{layer}");
        }
    }

    /// D05: the error names the allowed levels.
    #[test]
    fn d05_a_refusal_names_the_allowed_levels() {
        let why = check_level(&guarded_as(BusinessLayer::EndCustomer), Autonomous)
            .unwrap_err()
            .to_string();
        assert_eq!(
            why,
            "business layer 4 (End-Customer) cannot be autonomous; \
             allowed here: supervised, semi_autonomous, draft_only"
        );
    }

    /// D12: promotion is proposed at the default figures and not before.
    #[test]
    fn d12_promotion_is_earned() {
        let now = Timestamp::from_millis(0) + Duration::from_secs(90 * 86_400);
        let days_ago =
            |days: u64| Some(Timestamp::from_millis(0) + Duration::from_secs((90 - days) * 86_400));
        let record = |conversations, corrected, escalated, last_rejection_at| TrackRecord {
            conversations,
            corrected,
            escalated,
            last_rejection_at,
        };
        let client = BusinessLayer::Client;
        let table = [
            ("just enough", Supervised, client, record(50, 2, 7, None), Some(SemiAutonomous)),
            ("too few", Supervised, client, record(49, 0, 0, None), None),
            ("corrected too often", Supervised, client, record(50, 3, 0, None), None),
            ("escalated too often", Supervised, client, record(50, 0, 8, None), None),
            (
                "a rejection does not matter yet",
                Supervised,
                client,
                record(50, 0, 0, days_ago(1)),
                Some(SemiAutonomous),
            ),
            ("second step", SemiAutonomous, client, record(200, 4, 20, None), Some(Autonomous)),
            ("second step, too few", SemiAutonomous, client, record(199, 0, 0, None), None),
            ("second step, corrected", SemiAutonomous, client, record(200, 5, 0, None), None),
            ("rejected yesterday", SemiAutonomous, client, record(200, 0, 0, days_ago(1)), None),
            (
                "rejected 30 days ago",
                SemiAutonomous,
                client,
                record(200, 0, 0, days_ago(30)),
                Some(Autonomous),
            ),
            ("rejected 29 days ago", SemiAutonomous, client, record(200, 0, 0, days_ago(29)), None),
            ("second step, escalated", SemiAutonomous, client, record(200, 0, 21, None), None),
            (
                "layer 4 is never autonomous",
                SemiAutonomous,
                BusinessLayer::EndCustomer,
                record(900, 0, 0, None),
                None,
            ),
            ("nothing above", Autonomous, client, record(900, 0, 0, None), None),
            ("drafting is a choice", DraftOnly, client, record(900, 0, 0, None), None),
        ];
        for (name, level, layer, record, expected) in table {
            assert_eq!(promotion(level, &guarded_as(layer), &record, now), expected, "{name}");
        }
    }

    /// D12: a client's PM starts supervised; every start is an allowed level.
    #[test]
    fn d12_a_clients_pm_starts_supervised() {
        let table = [
            (testing::client(), "pm", Supervised),
            (testing::client(), "customer_service", Supervised),
            (testing::client(), "coordinator", Autonomous),
            (testing::agency(), "pm", SemiAutonomous),
            (testing::platform(), "system", Autonomous),
        ];
        for (org, subtype, expected) in table {
            let standing = Standing::of(&org, &Subtype::from(subtype));
            assert_eq!(initial_level(&standing), expected, "{} {subtype}", org.slug);
            assert_eq!(check_level(&standing, expected), Ok(()), "{} {subtype}", org.slug);
        }
    }
}
