//! Delegations to a client org, made with `delegate_to_child`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Decider, DecisionRefused, Importance, MissingField, check_decider, require_text};
use crate::id::{AgentId, ConversationId, OrgId, SessionId};
use crate::time::Timestamp;

/// The status of a delegation to an org.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum OrgDelegationStatus {
    Pending,
    Accepted,
    Completed { result: String, completed_at: Timestamp },
    Rejected,
}

/// A delegation to an org.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OrgDelegation {
    pub source: OrgId,
    /// The sender in words, for readers who do not know the org of the sender.
    pub sender: String,
    /// The agent that delegated, if it was one, and the session in which it did.
    pub agent: Option<AgentId>,
    pub session: Option<SessionId>,
    pub conversation: Option<ConversationId>,
    pub target: OrgId,
    /// What to do.
    pub instruction: String,
    pub priority: Importance,
    #[serde(flatten)]
    pub status: OrgDelegationStatus,
    /// The last decider.
    pub decided_by: Option<Decider>,
}

/// The client's answer to a delegation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrgDelegationAnswer {
    Accept,
    Reject,
    Complete(String),
}

/// The reason why an answer is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OrgDelegationError {
    #[error("the status of this delegation does not allow that answer")]
    WrongStatus,
    #[error(transparent)]
    DecisionRefused(#[from] DecisionRefused),
}

impl OrgDelegation {
    /// Makes a pending delegation. The instruction is required; the default priority is
    /// medium.
    pub fn new(
        source: OrgId,
        target: OrgId,
        instruction: &str,
        priority: Option<Importance>,
    ) -> Result<Self, MissingField> {
        Ok(Self {
            source,
            sender: String::new(),
            agent: None,
            session: None,
            conversation: None,
            target,
            instruction: require_text("instruction", instruction)?,
            priority: priority.unwrap_or(Importance::Medium),
            status: OrgDelegationStatus::Pending,
            decided_by: None,
        })
    }

    /// Returns whether it is neither completed nor rejected.
    pub const fn is_open(&self) -> bool {
        matches!(self.status, OrgDelegationStatus::Pending | OrgDelegationStatus::Accepted)
    }

    /// Applies the client's answer.
    pub fn answer(
        &mut self,
        decider: Decider,
        answer: OrgDelegationAnswer,
        now: Timestamp,
    ) -> Result<(), OrgDelegationError> {
        check_decider(&decider, self.target)?;
        self.status = match (&self.status, answer) {
            (OrgDelegationStatus::Pending, OrgDelegationAnswer::Accept) => {
                OrgDelegationStatus::Accepted
            }
            (OrgDelegationStatus::Pending, OrgDelegationAnswer::Reject) => {
                OrgDelegationStatus::Rejected
            }
            (OrgDelegationStatus::Accepted, OrgDelegationAnswer::Complete(result)) => {
                OrgDelegationStatus::Completed { result, completed_at: now }
            }
            _ => return Err(OrgDelegationError::WrongStatus),
        };
        self.decided_by = Some(decider);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{OrgDelegation, OrgDelegationAnswer, OrgDelegationError, OrgDelegationStatus};
    use crate::agent::subtype::Subtype;
    use crate::hierarchy::{Decider, DecisionRefused, Importance, MissingField};
    use crate::id::{AgentId, OrgId};
    use crate::time::Timestamp;

    const NOW: Timestamp = Timestamp::from_millis(5);

    fn delegation(
        instruction: &str,
        priority: Option<Importance>,
    ) -> Result<OrgDelegation, MissingField> {
        OrgDelegation::new(OrgId::from_u128(2), OrgId::from_u128(3), instruction, priority)
    }

    fn decider(subtype: &str) -> Decider {
        let (agent, org) = (AgentId::from_u128(7), OrgId::from_u128(3));
        Decider::Agent { agent, org, subtype: Subtype::from(subtype) }
    }

    /// L24: an instruction is required, the priority is medium by default.
    #[test]
    fn l24_an_instruction_is_required() {
        assert_eq!(delegation("", None), Err(MissingField("instruction")));
        assert_eq!(delegation("new menu", None).unwrap().priority, Importance::Medium);
        assert_eq!(
            delegation("new menu", Some(Importance::High)).unwrap().priority,
            Importance::High
        );
    }

    /// L26: every answer in every status; those not listed are refused.
    #[test]
    fn l26_a_delegation_accepts_only_the_listed_answers() {
        let pending = OrgDelegationStatus::Pending;
        let accepted = OrgDelegationStatus::Accepted;
        let rejected = OrgDelegationStatus::Rejected;
        let done = OrgDelegationStatus::Completed { result: "ok".into(), completed_at: NOW };
        let complete = || OrgDelegationAnswer::Complete("ok".into());
        let table = [
            (&pending, OrgDelegationAnswer::Accept, Some(&accepted)),
            (&pending, OrgDelegationAnswer::Reject, Some(&rejected)),
            (&pending, complete(), None),
            (&accepted, OrgDelegationAnswer::Accept, None),
            (&accepted, OrgDelegationAnswer::Reject, None),
            (&accepted, complete(), Some(&done)),
            (&rejected, OrgDelegationAnswer::Accept, None),
            (&rejected, OrgDelegationAnswer::Reject, None),
            (&rejected, complete(), None),
            (&done, OrgDelegationAnswer::Accept, None),
            (&done, OrgDelegationAnswer::Reject, None),
            (&done, complete(), None),
        ];
        for (from, answer, expected) in table {
            let mut delegation = delegation("new menu", None).unwrap();
            delegation.status = from.clone();
            let result = delegation.answer(decider("pm"), answer.clone(), NOW);
            let after = expected.unwrap_or(from);
            assert_eq!(&delegation.status, after, "{from:?} {answer:?}");
            let refused = expected.is_none().then_some(OrgDelegationError::WrongStatus);
            assert_eq!(result.err(), refused, "{from:?} {answer:?}");
        }
    }

    /// L12: a coordinator cannot accept.
    #[test]
    fn l12_a_coordinator_cannot_accept_work() {
        let mut delegation = delegation("new menu", None).unwrap();
        let refused = delegation.answer(decider("coordinator"), OrgDelegationAnswer::Accept, NOW);
        assert_eq!(
            refused,
            Err(OrgDelegationError::DecisionRefused(DecisionRefused::CoordinatorCannotDecide))
        );
    }
}
