//! A plan that waits for approval before anything of it is dispatched.

use serde::{Deserialize, Serialize};

use super::name::AgentName;
use crate::reference::ReferenceCode;

/// Where a proposed plan stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum PlanStatus {
    /// The approver has not answered.
    Waiting,
    /// It may be carried out.
    Approved,
    /// It was dropped.
    Rejected {
        /// Why.
        reason: String,
    },
}

/// A proposal. It is answered once, by its approver, under its reference code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The code that request, proposal and answer carry.
    pub reference: ReferenceCode,
    /// Who wants to act.
    pub proposed_by: AgentName,
    /// Who decides.
    pub approver: AgentName,
    /// Who asked for the work, and hears of a rejection.
    pub requester: Option<AgentName>,
    #[serde(flatten)]
    status: PlanStatus,
}

/// The approver's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum PlanAnswer {
    /// Go ahead.
    Approve,
    /// Do not.
    Reject {
        /// Why.
        reason: String,
    },
}

/// What an answer leads to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanEffect {
    /// The held message is dispatched.
    Dispatch,
    /// The plan is dropped, and the requester is told why.
    Inform {
        /// Who is told, if somebody asked.
        requester: Option<AgentName>,
        /// Why.
        reason: String,
    },
}

/// Why an answer changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanRefused {
    /// Somebody else decides.
    #[error("`{approver}` decides on this plan, and not `{by}`")]
    NotTheApprover {
        /// Who decides.
        approver: AgentName,
        /// Who answered.
        by: AgentName,
    },
    /// The answer is for another plan.
    #[error("this answer is for another plan than {0}")]
    OtherPlan(ReferenceCode),
    /// It was answered before.
    #[error("this plan is decided already")]
    Decided,
}

impl Plan {
    /// A plan that waits.
    pub const fn propose(
        reference: ReferenceCode,
        proposed_by: AgentName,
        approver: AgentName,
        requester: Option<AgentName>,
    ) -> Self {
        Self { reference, proposed_by, approver, requester, status: PlanStatus::Waiting }
    }

    /// Where it stands.
    pub const fn status(&self) -> &PlanStatus {
        &self.status
    }

    /// Whether the held message may be dispatched.
    pub fn may_dispatch(&self) -> bool {
        self.status == PlanStatus::Approved
    }

    /// Takes an answer.
    pub fn answer(
        &mut self,
        by: &AgentName,
        reference: ReferenceCode,
        answer: PlanAnswer,
    ) -> Result<PlanEffect, PlanRefused> {
        if reference != self.reference {
            return Err(PlanRefused::OtherPlan(self.reference));
        }
        if *by != self.approver {
            let (approver, by) = (self.approver.clone(), by.clone());
            return Err(PlanRefused::NotTheApprover { approver, by });
        }
        if self.status != PlanStatus::Waiting {
            return Err(PlanRefused::Decided);
        }
        Ok(match answer {
            PlanAnswer::Approve => {
                self.status = PlanStatus::Approved;
                PlanEffect::Dispatch
            }
            PlanAnswer::Reject { reason } => {
                self.status = PlanStatus::Rejected { reason: reason.clone() };
                PlanEffect::Inform { requester: self.requester.clone(), reason }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Plan, PlanAnswer, PlanEffect, PlanRefused, PlanStatus};
    use crate::dispatch::name::AgentName;
    use crate::reference::ReferenceCode;
    use crate::time::UtcDay;

    fn name(text: &str) -> AgentName {
        text.parse().unwrap()
    }

    fn code(sequence: u64) -> ReferenceCode {
        ReferenceCode::new(UtcDay::default(), sequence)
    }

    fn plan() -> Plan {
        Plan::propose(code(1), name("worker"), name("boss"), Some(name("client")))
    }

    /// X32: nothing is dispatched until the approver approves this plan.
    #[test]
    fn x32_only_the_approver_opens_the_gate() {
        let mut plan = plan();
        assert!(!plan.may_dispatch());
        let (approver, by) = (name("boss"), name("worker"));
        let own = plan.answer(&by, code(1), PlanAnswer::Approve);
        assert_eq!(own, Err(PlanRefused::NotTheApprover { approver, by }));
        let other = plan.answer(&name("boss"), code(2), PlanAnswer::Approve);
        assert_eq!(other, Err(PlanRefused::OtherPlan(code(1))));
        assert!(!plan.may_dispatch());
        let effect = plan.answer(&name("boss"), code(1), PlanAnswer::Approve);
        assert_eq!((effect, plan.may_dispatch()), (Ok(PlanEffect::Dispatch), true));
        let twice = plan.answer(&name("boss"), code(1), PlanAnswer::Approve);
        assert_eq!(twice, Err(PlanRefused::Decided));
    }

    /// X32: a rejection informs the requester and drops the plan.
    #[test]
    fn x32_a_rejection_informs_the_requester() {
        let mut plan = plan();
        let reason = "too dear".to_owned();
        let effect =
            plan.answer(&name("boss"), code(1), PlanAnswer::Reject { reason: reason.clone() });
        let requester = Some(name("client"));
        assert_eq!(effect, Ok(PlanEffect::Inform { requester, reason: reason.clone() }));
        assert_eq!(plan.status(), &PlanStatus::Rejected { reason });
        let late = plan.answer(&name("boss"), code(1), PlanAnswer::Approve);
        assert_eq!((late, plan.may_dispatch()), (Err(PlanRefused::Decided), false));
        let stored = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&stored).unwrap(), plan);
    }
}
