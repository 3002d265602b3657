//! Autonomy growth: proposals to raise or lower the autonomy level of an agent, from measured
//! figures. The owner decides on them.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::autonomy::AutonomyLevel::{self, Autonomous, DraftOnly, SemiAutonomous, Supervised};
use super::autonomy::{TrackRecord, allowed_levels, propose_promotion};
use crate::id::{AgentId, UserId};
use crate::org::layer::BusinessPosition;
use crate::time::Timestamp;

/// The least conversations that a demotion is proposed from.
const MIN_CONVERSATIONS: u32 = 50;
/// How long no level is proposed for an agent after the owner rejected one.
const PAUSE_AFTER_REJECTION: Duration = Duration::from_secs(30 * 24 * 3600);

/// A proposal to change the autonomy level of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LevelProposal {
    pub agent: AgentId,
    pub from: AutonomyLevel,
    pub to: AutonomyLevel,
    /// The figures that it was made from.
    pub record: TrackRecord,
    pub made_at: Timestamp,
    #[serde(flatten)]
    pub status: LevelProposalStatus,
}

/// Status of a proposal of a level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum LevelProposalStatus {
    Pending,
    Approved { by: UserId },
    Rejected { by: UserId, reason: String, at: Timestamp },
}

/// Returns the level to propose to the owner, if the figures call for another one.
pub fn propose_level(
    current: AutonomyLevel,
    position: &BusinessPosition,
    record: &TrackRecord,
    now: Timestamp,
) -> Option<AutonomyLevel> {
    propose_demotion(current, position, record)
        .or_else(|| propose_promotion(current, position, record, now))
}

/// Returns the level below, if the agent is corrected or escalates more than twice as often
/// as its level may.
fn propose_demotion(
    current: AutonomyLevel,
    position: &BusinessPosition,
    record: &TrackRecord,
) -> Option<AutonomyLevel> {
    let (below, corrected_percent, escalated_percent) = match current {
        Autonomous => (SemiAutonomous, 4, 20),
        SemiAutonomous => (Supervised, 10, 30),
        Supervised | DraftOnly => return None,
    };
    let more_than = |count: u32, percent: u64| {
        u64::from(count) * 100 > u64::from(record.conversations) * percent
    };
    let earned = record.conversations >= MIN_CONVERSATIONS
        && (more_than(record.corrected, corrected_percent)
            || more_than(record.escalated, escalated_percent));
    (earned && allowed_levels(position).contains(&below)).then_some(below)
}

/// Returns whether a level may be proposed for an agent again.
pub fn may_propose(last: Option<&LevelProposal>, now: Timestamp) -> bool {
    match last.map(|last| &last.status) {
        None | Some(LevelProposalStatus::Approved { .. }) => true,
        Some(LevelProposalStatus::Pending) => false,
        Some(LevelProposalStatus::Rejected { at, .. }) => now.since(*at) >= PAUSE_AFTER_REJECTION,
    }
}

#[cfg(test)]
mod tests {
    use super::{LevelProposal, LevelProposalStatus, may_propose, propose_level};
    use crate::agent::autonomy::AutonomyLevel::{
        Autonomous, DraftOnly, SemiAutonomous, Supervised,
    };
    use crate::agent::autonomy::TrackRecord;
    use crate::agent::subtype::Subtype;
    use crate::id::{AgentId, UserId};
    use crate::org::layer::BusinessPosition;
    use crate::testing;
    use crate::time::Timestamp;
    use std::time::Duration;

    const NOW: Timestamp = Timestamp::from_millis(0);

    fn record(conversations: u32, corrected: u32, escalated: u32) -> TrackRecord {
        TrackRecord { conversations, corrected, escalated, last_rejection_at: None }
    }

    /// D12: a level is proposed up when it is earned, down when the figures are twice too bad.
    #[test]
    fn d12_levels_are_proposed_up_and_down() {
        let pm = |org| BusinessPosition::of(&org, &Subtype::Pm);
        let (client, agency) = (pm(testing::client()), pm(testing::agency()));
        let table = [
            (Supervised, &client, record(50, 2, 7), Some(SemiAutonomous)),
            (Supervised, &client, record(50, 50, 50), None),
            (SemiAutonomous, &client, record(200, 4, 20), Some(Autonomous)),
            (SemiAutonomous, &client, record(50, 5, 15), None),
            (SemiAutonomous, &client, record(50, 6, 0), Some(Supervised)),
            (SemiAutonomous, &client, record(50, 0, 16), Some(Supervised)),
            (SemiAutonomous, &client, record(49, 49, 49), None),
            (SemiAutonomous, &agency, record(50, 50, 50), None),
            (Autonomous, &agency, record(100, 4, 20), None),
            (Autonomous, &agency, record(100, 5, 0), Some(SemiAutonomous)),
            (DraftOnly, &client, record(100, 100, 100), None),
        ];
        for (current, position, record, expected) in table {
            assert_eq!(
                propose_level(current, position, &record, NOW),
                expected,
                "{current} {record:?}"
            );
        }
    }

    /// D12: one proposal at a time, and none for a month after a rejection.
    #[test]
    fn d12_a_rejected_level_is_not_proposed_again_for_a_month() {
        let last = |status| LevelProposal {
            agent: AgentId::from_u128(1),
            from: Supervised,
            to: SemiAutonomous,
            record: record(50, 0, 0),
            made_at: NOW,
            status,
        };
        let by = UserId::from_u128(1);
        let rejected = last(LevelProposalStatus::Rejected { by, reason: "no".into(), at: NOW });
        let month = Duration::from_secs(30 * 24 * 3600);
        assert!(may_propose(None, NOW));
        assert!(may_propose(Some(&last(LevelProposalStatus::Approved { by })), NOW));
        assert!(!may_propose(Some(&last(LevelProposalStatus::Pending)), NOW));
        assert!(!may_propose(Some(&rejected), NOW + (month - Duration::from_secs(1))));
        assert!(may_propose(Some(&rejected), NOW + month));
    }
}
