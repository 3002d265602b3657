//! `propose_soul_update`: proposes a change of an agent's soul, on which a person decides.

use ostler_domain::audit::AuditActor;
use ostler_domain::id::AuditId;
use ostler_domain::org::layer::BusinessLayer;
use ostler_domain::session::key::ConversationEntry;
use ostler_domain::soul::patch::SoulPatch;
use ostler_domain::soul::proposal::{
    Initiative, ProposalAuthor, ProposalDecision, ProposalRefused,
};
use ostler_domain::soul::{SoulOrigin, SoulVersion};
use ostler_domain::tool::Audience;
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_engine::tool::ToolReply;
use ostler_store::{NewAuditEntry, StoreError, StoredProposal};
use schemars::JsonSchema;
use serde::Deserialize;

use super::effect::AgentEffect;
use super::proposal::{self, ProposalRequest, describe_proposal};
use crate::ids::fresh;
use crate::org_view::AgentView;
use crate::records::encode;
use crate::turn_tool::{TurnCall, TurnTool, refused, unavailable};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The agent to change: a short name, a role or an id; yourself if you leave it out. Only
    /// the platform's agent may name an agent of another organization, as `org/agent`.
    #[serde(default)]
    agent: Option<String>,
    /// Why the change helps, in a sentence or two. The person who decides reads it.
    reason: String,
    /// The new values of the fields to change.
    changes: SoulPatch,
}

/// What an agent is told about a proposal, also about one that nobody will see.
const WAITS: &str = "The proposal is noted. A person decides on it.";

#[derive(Clone, Copy)]
pub(super) struct ProposeSoulUpdate;

impl TurnTool for ProposeSoulUpdate {
    const DESCRIPTION: &'static str = "Propose a change of the personality, style or rules of an \
        agent of your organization. A person looks at it and decides; nothing changes before \
        that.";
    type Arguments = Arguments;

    async fn run(
        &self,
        Arguments { agent, reason, changes }: Arguments,
        call: &TurnCall<'_>,
    ) -> Result<ToolReply, ToolOutcome> {
        let TurnCall { context, turn, agent: proposer } = call;
        if reason.trim().is_empty() {
            let text = "Say why the change helps: `reason` must not be empty.";
            return Err(ToolOutcome::new(OutcomeStatus::Invalid, text));
        }
        if context.audience == Audience::Customer {
            return Err(refused(&ProposalRefused::Layer(BusinessLayer::EndCustomer)));
        }
        let target = match agent {
            None => proposer.clone(),
            Some(name) => find(call, &name).await?,
        };
        let initiative = match turn.session.entry {
            ConversationEntry::Owner => Initiative::OwnerDirected,
            ConversationEntry::Customer | ConversationEntry::Testing => Initiative::Own,
        };
        let earlier = AgentEffect::select(&context.pending).into_iter();
        let earlier = earlier.filter(|one| matches!(one, AgentEffect::Proposed { .. })).count();
        let request = ProposalRequest {
            proposer,
            author: ProposalAuthor::Agent(context.agent),
            initiative,
            target: &target,
            soul: changes.apply(&target.soul),
            reason: reason.trim().to_owned(),
            made_in_turn: u32::try_from(earlier).unwrap_or(u32::MAX),
        };
        let store = call.org_views().store();
        let decided = proposal::decide(store, context.org, request, context.now).await;
        let (decision, stored) =
            decided.map_err(|error| unavailable(&error))?.map_err(|why| refused(&why))?;
        let effect = match decision {
            ProposalDecision::Apply => return apply(call, &target, stored).await,
            ProposalDecision::Pending => AgentEffect::Proposed { proposal: Box::new(stored) },
            ProposalDecision::SilentlyRejected => {
                let reason = stored.proposal.reason;
                AgentEffect::Dropped { target: target.agent.id, reason }
            }
        };
        Ok(ToolReply::Done(ToolOutcome::ok(WAITS).with_effect(effect.into())))
    }
}

/// Finds an agent of the org; for the platform's agent also one of another org.
async fn find(call: &TurnCall<'_>, name: &str) -> Result<AgentView, ToolOutcome> {
    let not_found = || {
        let text = ProposalRefused::OtherOrg(name.to_owned()).to_string();
        ToolOutcome::new(OutcomeStatus::NotFound, text)
    };
    if let Some(found) = call.turn.view.find_agent(name) {
        return Ok(found.clone());
    }
    let is_platform = call.agent.position.guardrail_layer == BusinessLayer::Platform;
    let Some((org, agent)) = name.split_once('/').filter(|_| is_platform) else {
        return Err(not_found());
    };
    let store = call.org_views().store();
    let orgs = store.orgs().await.map_err(|error| unavailable(&error))?;
    let org = orgs.iter().find(|one| one.slug == org).ok_or_else(not_found)?;
    let agents = store.org(org.id).agent_configs().await.map_err(|error| unavailable(&error))?;
    let found = agents.into_iter().find(|one| one.agent.slug == agent);
    found.map(|config| AgentView::new(org, config)).ok_or_else(not_found)
}

/// Writes the new version of a soul at once, for the platform's agent.
async fn apply(
    call: &TurnCall<'_>,
    target: &AgentView,
    stored: StoredProposal,
) -> Result<ToolReply, ToolOutcome> {
    let version = SoulVersion {
        version: stored.proposal.base_version + 1,
        soul: stored.proposal.soul.clone(),
        origin: SoulOrigin::Edited,
        at: call.context.now,
    };
    let entry = NewAuditEntry {
        id: fresh(AuditId::from_u128),
        actor: AuditActor::Agent(call.context.agent),
        action: "change_soul".to_owned(),
        subject: target.agent.id.to_string(),
        data: encode(&describe_proposal(&stored, &target.soul)),
    };
    let number = version.version;
    let org = call.org_views().store().org(target.agent.org);
    match org.audited(entry).push_soul(target.agent.id, version).await {
        Ok(()) => {
            Ok(ToolReply::Done(ToolOutcome::ok(format!("The soul is changed: version {number}."))))
        }
        Err(StoreError::Conflict(_)) => {
            Err(refused("The soul was changed meanwhile; look at it again."))
        }
        Err(other) => Err(unavailable(&other)),
    }
}
