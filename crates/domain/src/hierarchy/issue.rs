//! Issues sent up the org tree with `escalate_to_parent`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::route::Party;
use super::{Decider, DecisionRefused, Importance, MissingField, check_decider, require_text};
use crate::id::{ConversationId, SessionId};
use crate::time::Timestamp;

/// Stands for words that were erased.
const ERASED: &str = "(deleted)";

/// The status of an issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum IssueStatus {
    Pending,
    Acknowledged,
    Resolved { resolution: String, resolved_at: Timestamp },
    Dismissed { resolved_at: Timestamp },
}

/// An issue that an agent sent one business layer up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Issue {
    pub source: Party,
    /// The sender in words, for readers who do not know the org of the sender.
    pub sender: String,
    /// The agent that decides.
    pub target: Party,
    /// The coordinator that routed it, if one of the two orgs has one.
    pub routed_by: Option<Party>,
    /// The session that it is about, in the org of the sender.
    pub session: Option<SessionId>,
    pub conversation: Option<ConversationId>,
    pub summary: String,
    pub severity: Importance,
    /// A digest of the conversation.
    pub context: String,
    #[serde(flatten)]
    pub status: IssueStatus,
    /// The last decider.
    pub decided_by: Option<Decider>,
}

/// A decision on an issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueDecision {
    Acknowledge,
    Resolve(String),
    Dismiss,
}

/// The reason why a decision is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IssueError {
    /// The issue is resolved or dismissed.
    #[error("this issue has been settled")]
    Settled,
    #[error("this issue has been acknowledged before")]
    Acknowledged,
    #[error("acknowledge this issue first")]
    NotAcknowledged,
    #[error(transparent)]
    DecisionRefused(#[from] DecisionRefused),
}

impl Issue {
    /// Removes the words about the person whose conversation it was, who is erased. What was
    /// decided, by whom and when stays.
    pub fn erase_words(&mut self) {
        ERASED.clone_into(&mut self.summary);
        self.context.clear();
        if let IssueStatus::Resolved { resolution, .. } = &mut self.status {
            ERASED.clone_into(resolution);
        }
    }

    /// Makes a pending issue; the summary is required.
    pub fn new(
        source: Party,
        target: Party,
        summary: &str,
        severity: Importance,
        context: &str,
    ) -> Result<Self, MissingField> {
        let summary = require_text("summary", summary)?;
        let context = context.to_owned();
        Ok(Self {
            source,
            sender: String::new(),
            target,
            routed_by: None,
            session: None,
            conversation: None,
            summary,
            severity,
            context,
            status: IssueStatus::Pending,
            decided_by: None,
        })
    }

    /// Returns whether nobody has resolved or dismissed it.
    pub const fn is_open(&self) -> bool {
        matches!(self.status, IssueStatus::Pending | IssueStatus::Acknowledged)
    }

    /// Applies a decision and returns whether to notify the source.
    pub fn decide(
        &mut self,
        decider: Decider,
        decision: IssueDecision,
        now: Timestamp,
    ) -> Result<SourceNotification, IssueError> {
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
        Ok(if self.status == IssueStatus::Acknowledged {
            SourceNotification::NotRequired
        } else {
            SourceNotification::Required
        })
    }
}

/// Whether to notify the agent that sent an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceNotification {
    /// The issue is settled.
    Required,
    /// The issue is still open.
    NotRequired,
}

#[cfg(test)]
mod tests {
    use super::{Issue, IssueDecision, IssueError, IssueStatus, SourceNotification};
    use crate::agent::subtype::Subtype;
    use crate::hierarchy::route::Party;
    use crate::hierarchy::{Decider, DecisionRefused, Importance, MissingField};
    use crate::id::{AgentId, OrgId};
    use crate::org::layer::BusinessLayer;
    use crate::time::Timestamp;

    const NOW: Timestamp = Timestamp::from_millis(5);

    fn issue(summary: &str) -> Result<Issue, MissingField> {
        let at = |agent, business_layer| Party {
            org: OrgId::from_u128(3),
            agent: AgentId::from_u128(agent),
            business_layer,
        };
        let source = at(4, BusinessLayer::EndCustomer);
        let target = at(3, BusinessLayer::Client);
        Issue::new(source, target, summary, Importance::High, "Rosa: my order …")
    }

    fn resolve() -> IssueDecision {
        IssueDecision::Resolve("refunded".into())
    }

    /// L16: an issue needs a summary.
    #[test]
    fn l16_a_summary_is_required() {
        assert_eq!(issue(" "), Err(MissingField("summary")));
        assert!(issue("double charge").is_ok());
    }

    fn pm() -> Decider {
        decider("pm")
    }

    fn decider(subtype: &str) -> Decider {
        let (agent, org) = (AgentId::from_u128(3), OrgId::from_u128(3));
        Decider::Agent { agent, org, subtype: Subtype::from(subtype) }
    }

    /// L20, L22: pending, acknowledged, then resolved or dismissed; the source is
    /// notified when the issue is settled.
    #[test]
    fn l20_l22_an_issue_is_acknowledged_before_it_is_settled() {
        let dismiss = || IssueDecision::Dismiss;
        let acknowledge = || IssueDecision::Acknowledge;
        let mut resolved = issue("double charge").unwrap();
        assert_eq!(resolved.decide(pm(), resolve(), NOW), Err(IssueError::NotAcknowledged));
        assert_eq!(resolved.decide(pm(), dismiss(), NOW), Err(IssueError::NotAcknowledged));
        assert_eq!(resolved.decide(pm(), acknowledge(), NOW), Ok(SourceNotification::NotRequired));
        assert_eq!(resolved.decide(pm(), acknowledge(), NOW), Err(IssueError::Acknowledged));
        assert_eq!(resolved.decide(pm(), resolve(), NOW), Ok(SourceNotification::Required));
        let resolution = "refunded".to_owned();
        assert_eq!(resolved.status, IssueStatus::Resolved { resolution, resolved_at: NOW });
        assert_eq!(resolved.decided_by, Some(pm()));
        for decision in [resolve(), dismiss(), acknowledge()] {
            assert_eq!(resolved.decide(pm(), decision, NOW), Err(IssueError::Settled));
        }
        let mut dismissed = issue("double charge").unwrap();
        dismissed.decide(pm(), acknowledge(), NOW).unwrap();
        assert_eq!(dismissed.decide(pm(), dismiss(), NOW), Ok(SourceNotification::Required));
        assert_eq!(dismissed.status, IssueStatus::Dismissed { resolved_at: NOW });
    }

    /// L12: a coordinator's decision is refused and changes nothing.
    #[test]
    fn l12_a_coordinator_cannot_settle_an_issue() {
        let mut issue = issue("double charge").unwrap();
        let before = issue.clone();
        for decision in [IssueDecision::Acknowledge, resolve(), IssueDecision::Dismiss] {
            let refused = issue.decide(decider("coordinator"), decision, NOW);
            assert_eq!(
                refused,
                Err(IssueError::DecisionRefused(DecisionRefused::CoordinatorCannotDecide))
            );
        }
        assert_eq!(issue, before);
    }

    /// L20, L33: an issue is stored with all its fields, the digest of the
    /// conversation among them, and a flat status.
    #[test]
    fn l20_an_issue_reads_back_as_it_was_stored() {
        let issue = issue("double charge").unwrap();
        let stored = serde_json::to_value(&issue).unwrap();
        let mut fields: Vec<&str> =
            stored.as_object().unwrap().keys().map(String::as_str).collect();
        fields.sort_unstable();
        let expected = [
            "context",
            "conversation",
            "decided_by",
            "routed_by",
            "sender",
            "session",
            "severity",
            "source",
            "status",
            "summary",
            "target",
        ];
        assert_eq!(fields, expected);
        assert_eq!(stored["source"]["business_layer"], 4);
        assert_eq!(stored["status"], "pending");
        assert_eq!(serde_json::from_value::<Issue>(stored).unwrap(), issue);
    }
}
