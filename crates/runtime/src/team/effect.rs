//! What an agent's team tools want done when the turn is over.

use ostler_domain::human::escalation::EscalationRequest;
use ostler_domain::id::AgentId;
use ostler_engine::outcome::Effect;
use serde::{Deserialize, Serialize};

/// The kind of [`Effect`] that these are.
const KIND: &str = "team";

/// What an agent wants done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "team", rename_all = "snake_case")]
pub(crate) enum TeamEffect {
    /// A colleague answers.
    TagIn {
        /// Who.
        to: AgentId,
        /// Why.
        reason: String,
        /// What they should know.
        context_summary: String,
        /// What they might do.
        suggested_approach: Option<String>,
        /// A note that only they see.
        note: Option<String>,
        /// What the customer wants to achieve.
        goal: Option<String>,
    },
    /// A person answers.
    Escalate(EscalationRequest),
}

impl TeamEffect {
    /// The effects of this kind, in order.
    pub(crate) fn among(effects: &[Effect]) -> Vec<Self> {
        let ours = effects.iter().filter(|effect| effect.kind == KIND);
        ours.filter_map(|effect| serde_json::from_value(effect.data.clone()).ok()).collect()
    }
}

impl From<TeamEffect> for Effect {
    fn from(effect: TeamEffect) -> Self {
        let data = serde_json::to_value(effect).unwrap_or_default();
        Self { kind: KIND.to_owned(), data }
    }
}
