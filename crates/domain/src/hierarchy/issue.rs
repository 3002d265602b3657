//! An issue sent up the org tree with `escalate_to_parent`.

use serde::{Deserialize, Serialize};

use super::route::Receiver;
use super::{Missing, RoutesOnly, Weight, check_decider, required};
use crate::agent::subtype::Subtype;
use crate::time::Timestamp;

/// Where an issue stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum IssueStatus {
    /// Nobody has looked at it.
    Pending,
    /// Somebody is looking at it.
    Acknowledged,
    /// It is settled.
    Resolved {
        /// How.
        resolution: String,
        /// When.
        resolved_at: Timestamp,
    },
    /// There is nothing to settle.
    Dismissed {
        /// When.
        resolved_at: Timestamp,
    },
}

/// An issue, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    /// Who sent it.
    pub source: Receiver,
    /// Who decides.
    pub target: Receiver,
    /// What it is about.
    pub summary: String,
    /// How bad it is.
    pub severity: Weight,
    /// A digest of the conversation.
    pub context: String,
    /// Where it stands.
    pub status: IssueStatus,
}

/// What the one who decides does with an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IssueDecision {
    /// Looks at it.
    Acknowledge,
    /// Settles it like this.
    Resolve(String),
    /// Drops it.
    Dismiss,
}

/// Why a decision is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IssueError {
    /// The issue is settled, or was acknowledged before.
    #[error("this issue has been settled, or acknowledged before")]
    NotOpen,
    /// A coordinator does not decide.
    #[error(transparent)]
    RoutesOnly(#[from] RoutesOnly),
}

impl Issue {
    /// A new issue; its summary is required.
    pub fn new(
        source: Receiver,
        target: Receiver,
        summary: &str,
        severity: Weight,
        context: &str,
    ) -> Result<Self, Missing> {
        let summary = required("summary", summary)?;
        let context = context.to_owned();
        Ok(Self { source, target, summary, severity, context, status: IssueStatus::Pending })
    }

    /// Takes a decision; the source is told of a settled issue.
    pub fn decide(
        &mut self,
        decider: &Subtype,
        decision: IssueDecision,
        now: Timestamp,
    ) -> Result<(), IssueError> {
        check_decider(decider)?;
        self.status = match (&self.status, decision) {
            (IssueStatus::Pending, IssueDecision::Acknowledge) => IssueStatus::Acknowledged,
            (IssueStatus::Acknowledged, IssueDecision::Resolve(resolution)) => {
                IssueStatus::Resolved { resolution, resolved_at: now }
            }
            (IssueStatus::Acknowledged, IssueDecision::Dismiss) => {
                IssueStatus::Dismissed { resolved_at: now }
            }
            _ => return Err(IssueError::NotOpen),
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Issue, IssueDecision, IssueError, IssueStatus};
    use crate::agent::subtype::Subtype;
    use crate::hierarchy::route::Receiver;
    use crate::hierarchy::{Missing, RoutesOnly, Weight};
    use crate::id::{AgentId, OrgId};
    use crate::org::layer::BusinessLayer;
    use crate::time::Timestamp;

    const NOW: Timestamp = Timestamp::from_millis(5);

    fn issue(summary: &str) -> Result<Issue, Missing> {
        let at = |agent, business_layer| Receiver {
            org: OrgId::from_u128(3),
            agent: AgentId::from_u128(agent),
            business_layer,
        };
        let source = at(4, BusinessLayer::EndCustomer);
        let target = at(3, BusinessLayer::Client);
        Issue::new(source, target, summary, Weight::High, "Rosa: my order …")
    }

    fn resolve() -> IssueDecision {
        IssueDecision::Resolve("refunded".into())
    }

    /// L16: an issue needs a summary.
    #[test]
    fn l16_a_summary_is_required() {
        assert_eq!(issue(" "), Err(Missing("summary")));
        assert!(issue("double charge").is_ok());
    }

    /// L20: pending, acknowledged, then resolved or dismissed, and no other way.
    #[test]
    fn l20_an_issue_is_acknowledged_before_it_is_settled() {
        let pm = Subtype::Pm;
        let mut one = issue("double charge").unwrap();
        assert_eq!(one.decide(&pm, resolve(), NOW), Err(IssueError::NotOpen));
        one.decide(&pm, IssueDecision::Acknowledge, NOW).unwrap();
        assert_eq!(one.decide(&pm, IssueDecision::Acknowledge, NOW), Err(IssueError::NotOpen));
        one.decide(&pm, resolve(), NOW).unwrap();
        let resolution = "refunded".to_owned();
        assert_eq!(one.status, IssueStatus::Resolved { resolution, resolved_at: NOW });
        for decision in [resolve(), IssueDecision::Dismiss, IssueDecision::Acknowledge] {
            assert_eq!(one.decide(&pm, decision, NOW), Err(IssueError::NotOpen));
        }
        let mut two = issue("double charge").unwrap();
        two.decide(&pm, IssueDecision::Acknowledge, NOW).unwrap();
        two.decide(&pm, IssueDecision::Dismiss, NOW).unwrap();
        assert_eq!(two.status, IssueStatus::Dismissed { resolved_at: NOW });
    }

    /// L12: a coordinator's decision is refused and changes nothing.
    #[test]
    fn l12_a_coordinator_cannot_settle_an_issue() {
        let mut one = issue("double charge").unwrap();
        let before = one.clone();
        for decision in [IssueDecision::Acknowledge, resolve(), IssueDecision::Dismiss] {
            let refused = one.decide(&Subtype::Coordinator, decision, NOW);
            assert_eq!(refused, Err(IssueError::RoutesOnly(RoutesOnly)));
        }
        assert_eq!(one, before);
    }
}
