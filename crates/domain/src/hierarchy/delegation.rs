//! Work given to a client org with `delegate_to_child`.

use serde::{Deserialize, Serialize};

use super::{Decider, Missing, NotTheDecider, Weight, check_decider, required};
use crate::id::OrgId;
use crate::time::Timestamp;

/// Where a delegation stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum DelegationStatus {
    /// The client has not answered.
    Pending,
    /// The client is at it.
    Accepted,
    /// It is done.
    Completed {
        /// With what result.
        result: String,
        /// When.
        completed_at: Timestamp,
    },
    /// The client declined.
    Rejected,
}

/// A delegation, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrgDelegation {
    /// Who gave it.
    pub source: OrgId,
    /// Who is to do it.
    pub target: OrgId,
    /// What is to be done.
    pub instruction: String,
    /// How much it matters.
    pub priority: Weight,
    /// Where it stands.
    #[serde(flatten)]
    pub status: DelegationStatus,
    /// Who decided last.
    pub decided_by: Option<Decider>,
}

/// What the client does with a delegation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DelegationAnswer {
    /// Takes it on.
    Accept,
    /// Declines it.
    Reject,
    /// Finishes it with this result.
    Complete(String),
}

/// Why an answer is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DelegationError {
    /// The status does not allow it.
    #[error("this delegation is not waiting for that")]
    NotWaiting,
    /// Somebody else decides.
    #[error(transparent)]
    NotTheDecider(#[from] NotTheDecider),
}

impl OrgDelegation {
    /// A new delegation; its instruction is required, its priority medium
    /// unless given.
    pub fn new(
        source: OrgId,
        target: OrgId,
        instruction: &str,
        priority: Option<Weight>,
    ) -> Result<Self, Missing> {
        Ok(Self {
            source,
            target,
            instruction: required("instruction", instruction)?,
            priority: priority.unwrap_or(Weight::Medium),
            status: DelegationStatus::Pending,
            decided_by: None,
        })
    }

    /// Takes the client's answer.
    pub fn answer(
        &mut self,
        decider: Decider,
        answer: DelegationAnswer,
        now: Timestamp,
    ) -> Result<(), DelegationError> {
        check_decider(&decider, self.target)?;
        self.status = match (&self.status, answer) {
            (DelegationStatus::Pending, DelegationAnswer::Accept) => DelegationStatus::Accepted,
            (DelegationStatus::Pending, DelegationAnswer::Reject) => DelegationStatus::Rejected,
            (DelegationStatus::Accepted, DelegationAnswer::Complete(result)) => {
                DelegationStatus::Completed { result, completed_at: now }
            }
            _ => return Err(DelegationError::NotWaiting),
        };
        self.decided_by = Some(decider);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{DelegationAnswer, DelegationError, DelegationStatus, OrgDelegation};
    use crate::agent::subtype::Subtype;
    use crate::hierarchy::{Decider, Missing, NotTheDecider, Weight};
    use crate::id::{AgentId, OrgId};
    use crate::time::Timestamp;

    const NOW: Timestamp = Timestamp::from_millis(5);

    fn delegation(instruction: &str, priority: Option<Weight>) -> Result<OrgDelegation, Missing> {
        OrgDelegation::new(OrgId::from_u128(2), OrgId::from_u128(3), instruction, priority)
    }

    fn decider(subtype: &str) -> Decider {
        let (agent, org) = (AgentId::from_u128(7), OrgId::from_u128(3));
        Decider::Agent { agent, org, subtype: Subtype::from(subtype) }
    }

    /// L24: an instruction is required, the priority is medium by default.
    #[test]
    fn l24_an_instruction_is_required() {
        assert_eq!(delegation("", None), Err(Missing("instruction")));
        assert_eq!(delegation("new menu", None).unwrap().priority, Weight::Medium);
        assert_eq!(delegation("new menu", Some(Weight::High)).unwrap().priority, Weight::High);
    }

    /// L26: every move from every status; those not listed are refused.
    #[test]
    fn l26_a_delegation_moves_in_the_listed_ways() {
        let pending = DelegationStatus::Pending;
        let accepted = DelegationStatus::Accepted;
        let rejected = DelegationStatus::Rejected;
        let done = DelegationStatus::Completed { result: "ok".into(), completed_at: NOW };
        let complete = || DelegationAnswer::Complete("ok".into());
        let table = [
            (&pending, DelegationAnswer::Accept, Some(&accepted)),
            (&pending, DelegationAnswer::Reject, Some(&rejected)),
            (&pending, complete(), None),
            (&accepted, DelegationAnswer::Accept, None),
            (&accepted, DelegationAnswer::Reject, None),
            (&accepted, complete(), Some(&done)),
            (&rejected, DelegationAnswer::Accept, None),
            (&rejected, DelegationAnswer::Reject, None),
            (&rejected, complete(), None),
            (&done, DelegationAnswer::Accept, None),
            (&done, DelegationAnswer::Reject, None),
            (&done, complete(), None),
        ];
        for (from, answer, expected) in table {
            let mut one = delegation("new menu", None).unwrap();
            one.status = from.clone();
            let result = one.answer(decider("pm"), answer.clone(), NOW);
            let after = expected.unwrap_or(from);
            assert_eq!(&one.status, after, "{from:?} {answer:?}");
            let refused = expected.is_none().then_some(DelegationError::NotWaiting);
            assert_eq!(result.err(), refused, "{from:?} {answer:?}");
        }
    }

    /// L12: a coordinator cannot accept.
    #[test]
    fn l12_a_coordinator_cannot_accept_work() {
        let mut one = delegation("new menu", None).unwrap();
        let refused = one.answer(decider("coordinator"), DelegationAnswer::Accept, NOW);
        assert_eq!(refused, Err(DelegationError::NotTheDecider(NotTheDecider::RoutesOnly)));
    }
}
