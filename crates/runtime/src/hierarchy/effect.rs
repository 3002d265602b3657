//! What agents and people send to another business layer, and what they decide about it.

use ostler_domain::hierarchy::Decider;
use ostler_domain::hierarchy::delegation::{OrgDelegation, OrgDelegationAnswer};
use ostler_domain::hierarchy::insight::Insight;
use ostler_domain::hierarchy::issue::{Issue, IssueDecision};
use ostler_domain::id::{AgentId, RecordId};
use ostler_engine::outcome::ToolEffect;
use serde::{Deserialize, Serialize};

const KIND: &str = "hierarchy";

/// A change of what the business layers exchange.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "exchange", rename_all = "snake_case")]
pub(crate) enum ExchangeEffect {
    RaiseIssue { id: RecordId, issue: Box<Issue> },
    DecideIssue { id: RecordId, decision: IssueDecision, decider: Decider },
    Delegate { id: RecordId, delegation: Box<OrgDelegation> },
    AnswerDelegation { id: RecordId, answer: OrgDelegationAnswer, decider: Decider },
    ShareInsight { id: RecordId, insight: Box<Insight> },
    AcknowledgeInsight { id: RecordId, decider: Decider },
    Instruct { to: AgentId, from: AgentId, instruction: String },
}

impl ExchangeEffect {
    /// Returns the effects of this kind among all effects of a turn, in order.
    pub(crate) fn select(effects: &[ToolEffect]) -> Vec<Self> {
        let ours = effects.iter().filter(|effect| effect.kind == KIND);
        ours.filter_map(|effect| serde_json::from_value(effect.data.clone()).ok()).collect()
    }
}

impl From<ExchangeEffect> for ToolEffect {
    fn from(effect: ExchangeEffect) -> Self {
        let data = serde_json::to_value(effect).unwrap_or_default();
        Self { kind: KIND.to_owned(), data }
    }
}
