//! An issue sent up the org tree with `escalate_to_parent`.

use serde::{Deserialize, Serialize};

use super::route::Party;
use super::{Decider, Missing, NotTheDecider, Weight, check_decider, required};
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
    pub source: Party,
    /// Who decides.
    pub target: Party,
    /// What it is about.
    pub summary: String,
    /// How bad it is.
    pub severity: Weight,
    /// A digest of the conversation.
    pub context: String,
    /// Where it stands.
    #[serde(flatten)]
    pub status: IssueStatus,
    /// Who decided last.
    pub decided_by: Option<Decider>,
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
    /// The issue is settled.
    #[error("this issue has been settled")]
    Settled,
    /// The issue was acknowledged before.
    #[error("this issue has been acknowledged before")]
    Acknowledged,
    /// The issue must be acknowledged first.
    #[error("acknowledge this issue first")]
    NotAcknowledged,
    /// Somebody else decides.
    #[error(transparent)]
    NotTheDecider(#[from] NotTheDecider),
}

impl Issue {
    /// A new issue; its summary is required.
    pub fn new(
        source: Party,
        target: Party,
        summary: &str,
        severity: Weight,
        context: &str,
    ) -> Result<Self, Missing> {
        let summary = required("summary", summary)?;
        let context = context.to_owned();
        Ok(Self {
            source,
            target,
            summary,
            severity,
            context,
            status: IssueStatus::Pending,
            decided_by: None,
        })
    }

    /// Takes a decision and says whether the source is to be told.
    pub fn decide(
        &mut self,
        decider: Decider,
        decision: IssueDecision,
        now: Timestamp,
    ) -> Result<TellSource, IssueError> {
        check_decider(&decider, self.target.org)?;
        use IssueDecision::{Acknowledge, Dismiss, Resolve};
        self.status = match (&self.status, decision) {
            (IssueStatus::Pending, Acknowledge) => IssueStatus::Acknowledged,
            (IssueStatus::Acknowledged, Resolve(resolution)) => {
                IssueStatus::Resolved { resolution, resolved_at: now }
            }
            (IssueStatus::Acknowledged, Dismiss) => IssueStatus::Dismissed { resolved_at: now },
            (IssueStatus::Pending, Resolve(_) | Dismiss) => {
                return Err(IssueError::NotAcknowledged);
            }
            (IssueStatus::Acknowledged, Acknowledge) => return Err(IssueError::Acknowledged),
            (IssueStatus::Resolved { .. } | IssueStatus::Dismissed { .. }, _) => {
                return Err(IssueError::Settled);
            }
        };
        self.decided_by = Some(decider);
        Ok(if self.status == IssueStatus::Acknowledged { TellSource::No } else { TellSource::Yes })
    }
}

/// Whether the one who sent something is told what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TellSource {
    /// It is settled: tell.
    Yes,
    /// It goes on: no need.
    No,
}

#[cfg(test)]
mod tests {
    use super::{Issue, IssueDecision, IssueError, IssueStatus, TellSource};
    use crate::agent::subtype::Subtype;
    use crate::hierarchy::route::Party;
    use crate::hierarchy::{Decider, Missing, NotTheDecider, Weight};
    use crate::id::{AgentId, OrgId};
    use crate::org::layer::BusinessLayer;
    use crate::time::Timestamp;

    const NOW: Timestamp = Timestamp::from_millis(5);

    fn issue(summary: &str) -> Result<Issue, Missing> {
        let at = |agent, business_layer| Party {
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

    fn pm() -> Decider {
        decider("pm")
    }

    fn decider(subtype: &str) -> Decider {
        let (agent, org) = (AgentId::from_u128(3), OrgId::from_u128(3));
        Decider::Agent { agent, org, subtype: Subtype::from(subtype) }
    }

    /// L20, L22: pending, acknowledged, then resolved or dismissed, and no other
    /// way; the source is told when it is settled.
    #[test]
    fn l20_l22_an_issue_is_acknowledged_before_it_is_settled() {
        let dismiss = || IssueDecision::Dismiss;
        let acknowledge = || IssueDecision::Acknowledge;
        let mut one = issue("double charge").unwrap();
        assert_eq!(one.decide(pm(), resolve(), NOW), Err(IssueError::NotAcknowledged));
        assert_eq!(one.decide(pm(), dismiss(), NOW), Err(IssueError::NotAcknowledged));
        assert_eq!(one.decide(pm(), acknowledge(), NOW), Ok(TellSource::No));
        assert_eq!(one.decide(pm(), acknowledge(), NOW), Err(IssueError::Acknowledged));
        assert_eq!(one.decide(pm(), resolve(), NOW), Ok(TellSource::Yes));
        let resolution = "refunded".to_owned();
        assert_eq!(one.status, IssueStatus::Resolved { resolution, resolved_at: NOW });
        assert_eq!(one.decided_by, Some(pm()));
        for decision in [resolve(), dismiss(), acknowledge()] {
            assert_eq!(one.decide(pm(), decision, NOW), Err(IssueError::Settled));
        }
        let mut two = issue("double charge").unwrap();
        two.decide(pm(), acknowledge(), NOW).unwrap();
        assert_eq!(two.decide(pm(), dismiss(), NOW), Ok(TellSource::Yes));
        assert_eq!(two.status, IssueStatus::Dismissed { resolved_at: NOW });
    }

    /// L12: a coordinator's decision is refused and changes nothing.
    #[test]
    fn l12_a_coordinator_cannot_settle_an_issue() {
        let mut one = issue("double charge").unwrap();
        let before = one.clone();
        for decision in [IssueDecision::Acknowledge, resolve(), IssueDecision::Dismiss] {
            let refused = one.decide(decider("coordinator"), decision, NOW);
            assert_eq!(refused, Err(IssueError::NotTheDecider(NotTheDecider::RoutesOnly)));
        }
        assert_eq!(one, before);
    }

    /// L20, L33: an issue is stored with all its fields, the digest of the
    /// conversation among them, and one status.
    #[test]
    fn l20_an_issue_survives_being_stored() {
        let one = issue("double charge").unwrap();
        let stored = serde_json::to_value(&one).unwrap();
        let fields: Vec<&str> = stored.as_object().unwrap().keys().map(String::as_str).collect();
        let expected =
            ["context", "decided_by", "severity", "source", "status", "summary", "target"];
        assert_eq!(fields, expected);
        assert_eq!(stored["source"]["business_layer"], 4);
        assert_eq!(stored["status"], "pending");
        assert_eq!(serde_json::from_value::<Issue>(stored).unwrap(), one);
    }
}
