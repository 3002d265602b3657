//! The effects of the tools that change agents, stored by the commit of the turn.

use ostler_domain::audit::AuditActor;
use ostler_domain::event::OrgEvent;
use ostler_domain::id::{AgentId, AuditId};
use ostler_engine::outcome::ToolEffect;
use ostler_store::{NewAuditEntry, StoredProposal};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::proposal::{self, describe_proposal};
use crate::ids::fresh;
use crate::org_view::OrgView;
use crate::pending_commit::PendingCommit;

const KIND: &str = "agent_change";

/// A change of an agent that an agent wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub(super) enum AgentEffect {
    /// A proposal that waits for a person.
    Proposed { proposal: Box<StoredProposal> },
    /// A proposal to a protected agent, of which only the audit log knows.
    Dropped { target: AgentId, reason: String },
}

impl AgentEffect {
    /// Returns the changes of agents among all effects of a turn, in order.
    pub(super) fn select(effects: &[ToolEffect]) -> Vec<Self> {
        let ours = effects.iter().filter(|effect| effect.kind == KIND);
        ours.filter_map(|effect| serde_json::from_value(effect.data.clone()).ok()).collect()
    }
}

impl From<AgentEffect> for ToolEffect {
    fn from(effect: AgentEffect) -> Self {
        Self { kind: KIND.to_owned(), data: serde_json::to_value(effect).unwrap_or_default() }
    }
}

/// Adds the changes of agents among the effects of a turn to its commit.
pub(crate) fn store_effects(
    view: &OrgView,
    pending: &mut PendingCommit,
    agent: AgentId,
    effects: &[ToolEffect],
) {
    for effect in AgentEffect::select(effects) {
        match effect {
            AgentEffect::Proposed { proposal } => add_proposal(view, pending, agent, *proposal),
            AgentEffect::Dropped { target, reason } => {
                let data = json!({"reason": reason});
                pending.add_audit(audit(agent, "drop_soul_proposal", target, &data));
            }
        }
    }
}

/// Adds a proposal to a commit, with its notice, its event and its audit entry.
pub(crate) fn add_proposal(
    view: &OrgView,
    pending: &mut PendingCommit,
    agent: AgentId,
    stored: StoredProposal,
) {
    let target = stored.proposal.target;
    let current = view.agent(target).map(|one| one.soul.clone()).unwrap_or_default();
    let data = describe_proposal(&stored, &current);
    pending.add_audit(audit(agent, "propose_soul", target, &json!(data)));
    pending.add_event(&OrgEvent::SoulProposed(data));
    pending.side_effects.notices.push(proposal::notice(&stored, &current));
    pending.side_effects.proposals.push(stored);
}

fn audit(agent: AgentId, action: &str, target: AgentId, data: &Value) -> NewAuditEntry {
    NewAuditEntry {
        id: fresh(AuditId::from_u128),
        actor: AuditActor::Agent(agent),
        action: action.to_owned(),
        subject: target.to_string(),
        data: data.to_string(),
    }
}
