//! Autonomy levels: what an agent may do without approval, which levels a business
//! layer allows, and when a higher one is proposed.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::subtype::Subtype;
use crate::org::layer::{BusinessLayer, BusinessPosition};
use crate::time::Timestamp;

/// How much an agent may do without approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AutonomyLevel {
    /// Every tool call needs approval.
    Supervised,
    /// Tools that read run; all others need approval.
    SemiAutonomous,
    /// Every tool runs, except those on the approval list.
    Autonomous,
    /// Tools that read run; all others are refused.
    DraftOnly,
}

use AutonomyLevel::{Autonomous, DraftOnly, SemiAutonomous, Supervised};

impl AutonomyLevel {
    /// All levels.
    pub const ALL: [Self; 4] = [Supervised, SemiAutonomous, Autonomous, DraftOnly];

    /// Returns the name that is stored and shown.
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

/// Returns the levels that an agent in this position may have.
pub const fn allowed_levels(position: &BusinessPosition) -> &'static [AutonomyLevel] {
    match position.guardrail_layer {
        BusinessLayer::Platform => &[Autonomous, DraftOnly],
        BusinessLayer::Agency => &[Autonomous, SemiAutonomous, DraftOnly],
        BusinessLayer::Client => &[Supervised, SemiAutonomous, Autonomous, DraftOnly],
        BusinessLayer::EndCustomer => &[Supervised, SemiAutonomous, DraftOnly],
    }
}

/// A level that a business layer does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{business_layer} cannot be {level}; allowed here: {}", names(.allowed))]
pub struct LevelRefused {
    pub business_layer: BusinessLayer,
    pub level: AutonomyLevel,
    pub allowed: &'static [AutonomyLevel],
}

/// Checks that an agent in this position may have this level.
pub fn check_level(position: &BusinessPosition, level: AutonomyLevel) -> Result<(), LevelRefused> {
    let allowed = allowed_levels(position);
    if allowed.contains(&level) {
        Ok(())
    } else {
        Err(LevelRefused { business_layer: position.guardrail_layer, level, allowed })
    }
}

/// Returns the level of a new agent. A client's agents start supervised; a
/// coordinator only routes and needs no approval.
pub fn initial_level(position: &BusinessPosition) -> AutonomyLevel {
    match position.guardrail_layer {
        _ if position.subtype == Subtype::Coordinator => Autonomous,
        BusinessLayer::Platform => Autonomous,
        BusinessLayer::Agency => SemiAutonomous,
        BusinessLayer::Client | BusinessLayer::EndCustomer => Supervised,
    }
}

fn names(levels: &[AutonomyLevel]) -> String {
    levels.iter().map(|level| level.name()).collect::<Vec<_>>().join(", ")
}

/// The results of an agent so far, from which a promotion is earned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TrackRecord {
    /// Finished conversations.
    pub conversations: u32,
    /// Conversations in which a person corrected the agent.
    pub corrected: u32,
    /// Conversations that were escalated to a human.
    pub escalated: u32,
    /// When a person last rejected an approval.
    pub last_rejection_at: Option<Timestamp>,
}

const REJECTION_FREE_PERIOD: Duration = Duration::from_secs(30 * 24 * 3600);

/// Returns the next level to propose to the owner, if the agent has earned it. It
/// changes nothing by itself: only the owner's approval does.
pub fn propose_promotion(
    current: AutonomyLevel,
    position: &BusinessPosition,
    record: &TrackRecord,
    now: Timestamp,
) -> Option<AutonomyLevel> {
    let (next, conversations, corrected_percent, escalated_percent) = match current {
        Supervised => (SemiAutonomous, 50, 5, 15),
        SemiAutonomous => (Autonomous, 200, 2, 10),
        Autonomous | DraftOnly => return None,
    };
    let at_most = |count: u32, percent: u64| {
        u64::from(count) * 100 <= u64::from(record.conversations) * percent
    };
    let no_recent_rejection =
        record.last_rejection_at.is_none_or(|at| now.since(at) >= REJECTION_FREE_PERIOD);
    let earned = record.conversations >= conversations
        && at_most(record.corrected, corrected_percent)
        && at_most(record.escalated, escalated_percent)
        && (next != Autonomous || no_recent_rejection);
    (earned && allowed_levels(position).contains(&next)).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::{AutonomyLevel, TrackRecord, check_level, initial_level, propose_promotion};
    use crate::agent::autonomy::AutonomyLevel::{
        Autonomous, DraftOnly, SemiAutonomous, Supervised,
    };
    use crate::agent::subtype::Subtype;
    use crate::org::layer::{BusinessLayer, BusinessPosition};
    use crate::testing;
    use crate::time::Timestamp;
    use std::time::Duration;

    fn guardrail_layer(layer: BusinessLayer) -> BusinessPosition {
        BusinessPosition { business_layer: layer, guardrail_layer: layer, subtype: Subtype::Pm }
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
                AutonomyLevel::ALL.map(|level| check_level(&guardrail_layer(layer), level).is_ok());
            assert_eq!(got, expected, "{layer}");
        }
    }

    /// D05: the error names the allowed levels.
    #[test]
    fn d05_a_refusal_names_the_allowed_levels() {
        let why = check_level(&guardrail_layer(BusinessLayer::EndCustomer), Autonomous)
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
    fn d12_a_promotion_is_proposed_only_when_earned() {
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
            assert_eq!(
                propose_promotion(level, &guardrail_layer(layer), &record, now),
                expected,
                "{name}"
            );
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
            let position = BusinessPosition::of(&org, &Subtype::from(subtype));
            assert_eq!(initial_level(&position), expected, "{} {subtype}", org.slug);
            assert_eq!(check_level(&position, expected), Ok(()), "{} {subtype}", org.slug);
        }
    }
}
