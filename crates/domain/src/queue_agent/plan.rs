//! Plans that need approval before anything of them is dispatched.

use serde::{Deserialize, Serialize};

use super::name::AgentName;
use crate::reference::ReferenceCode;

/// Status of a proposed plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum PlanStatus {
    Waiting,
    Approved,
    Rejected { reason: String },
}

/// A proposed plan. Its approver answers it once, under its reference code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentPlan {
    /// The code that the request, the proposal and the answer carry.
    pub reference: ReferenceCode,
    pub proposed_by: AgentName,
    pub approver: AgentName,
    /// The agent that asked for the work and is informed of a rejection.
    pub requester: Option<AgentName>,
    #[serde(flatten)]
    status: PlanStatus,
}

/// The approver's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum PlanAnswer {
    Approve,
    Reject { reason: String },
}

/// What follows from an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanEffect {
    /// Dispatch the held message.
    Dispatch,
    /// Drop the plan and inform the requester.
    Inform { requester: Option<AgentName>, reason: String },
}

/// Why an answer is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanRefused {
    #[error("only `{approver}` may answer this plan, not `{by}`")]
    NotTheApprover { approver: AgentName, by: AgentName },
    #[error("this answer is for another plan than {0}")]
    OtherPlan(ReferenceCode),
    #[error("this plan has already been answered")]
    AlreadyAnswered,
}

impl AgentPlan {
    /// Creates a plan that waits for its approver.
    pub const fn propose(
        reference: ReferenceCode,
        proposed_by: AgentName,
        approver: AgentName,
        requester: Option<AgentName>,
    ) -> Self {
        Self { reference, proposed_by, approver, requester, status: PlanStatus::Waiting }
    }

    /// Returns the status.
    pub const fn status(&self) -> &PlanStatus {
        &self.status
    }

    /// Records the approver's answer.
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
            return Err(PlanRefused::AlreadyAnswered);
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
    use super::{AgentPlan, PlanAnswer, PlanEffect, PlanRefused, PlanStatus};
    use crate::queue_agent::name::AgentName;
    use crate::reference::ReferenceCode;
    use crate::time::UtcDay;

    fn name(text: &str) -> AgentName {
        text.parse().unwrap()
    }

    fn code(sequence: u64) -> ReferenceCode {
        ReferenceCode::new(UtcDay::default(), sequence)
    }

    fn plan() -> AgentPlan {
        AgentPlan::propose(code(1), name("worker"), name("boss"), Some(name("client")))
    }

    /// X32: nothing is dispatched until the approver approves this plan.
    #[test]
    fn x32_only_the_approver_can_approve_a_plan() {
        let mut plan = plan();
        assert_eq!(plan.status(), &PlanStatus::Waiting);
        let (approver, by) = (name("boss"), name("worker"));
        let own = plan.answer(&by, code(1), PlanAnswer::Approve);
        assert_eq!(own, Err(PlanRefused::NotTheApprover { approver, by }));
        let other = plan.answer(&name("boss"), code(2), PlanAnswer::Approve);
        assert_eq!(other, Err(PlanRefused::OtherPlan(code(1))));
        assert_eq!(plan.status(), &PlanStatus::Waiting);
        let effect = plan.answer(&name("boss"), code(1), PlanAnswer::Approve);
        assert_eq!((effect, plan.status()), (Ok(PlanEffect::Dispatch), &PlanStatus::Approved));
        let twice = plan.answer(&name("boss"), code(1), PlanAnswer::Approve);
        assert_eq!(twice, Err(PlanRefused::AlreadyAnswered));
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
        assert_eq!(late, Err(PlanRefused::AlreadyAnswered));
        let stored = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<AgentPlan>(&stored).unwrap(), plan);
    }
}
