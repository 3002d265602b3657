//! The effects of the team tools, carried out when the turn has ended.

use ostler_domain::human::escalation::EscalationRequest;
use ostler_domain::id::AgentId;
use ostler_engine::outcome::ToolEffect;
use serde::{Deserialize, Serialize};

const KIND: &str = "team";

/// A handover or an escalation that an agent wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "team", rename_all = "snake_case")]
pub(crate) enum TeamEffect {
    /// A colleague takes the conversation.
    TagIn {
        to: AgentId,
        reason: String,
        context_summary: String,
        suggested_approach: Option<String>,
        /// A note that only the colleague sees.
        note: Option<String>,
        goal: Option<String>,
    },
    /// A person takes the conversation.
    Escalate(EscalationRequest),
}

impl TeamEffect {
    /// Returns the team effects among all effects of a turn, in order.
    pub(crate) fn select(effects: &[ToolEffect]) -> Vec<Self> {
        let ours = effects.iter().filter(|effect| effect.kind == KIND);
        ours.filter_map(|effect| serde_json::from_value(effect.data.clone()).ok()).collect()
    }
}

impl From<TeamEffect> for ToolEffect {
    fn from(effect: TeamEffect) -> Self {
        let data = serde_json::to_value(effect).unwrap_or_default();
        Self { kind: KIND.to_owned(), data }
    }
}
