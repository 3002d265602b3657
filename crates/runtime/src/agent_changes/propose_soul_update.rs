//! `propose_soul_update`: proposes a change of an agent's soul, on which a person decides.

use futures_util::future::{BoxFuture, FutureExt};
use ostler_domain::audit::AuditActor;
use ostler_domain::id::AuditId;
use ostler_domain::org::layer::BusinessLayer;
use ostler_domain::session::key::ConversationEntry;
use ostler_domain::soul::patch::SoulPatch;
use ostler_domain::soul::proposal::{
    Initiative, ProposalAuthor, ProposalDecision, ProposalRefused,
};
use ostler_domain::soul::{SoulOrigin, SoulVersion};
use ostler_domain::tool::{Audience, ToolSpec};
use ostler_engine::gate::Authorized;
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_engine::tool::{Tool, ToolContext, ToolDefinition, ToolReply};
use ostler_store::{NewAuditEntry, Store, StoreError, StoredProposal};
use schemars::JsonSchema;
use serde::Deserialize;

use super::effect::AgentEffect;
use super::proposal::{self, ProposalRequest, describe_proposal};
use crate::ids::fresh;
use crate::org_view::{AgentView, OrgView};
use crate::running_turns::RunningTurns;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The agent to change: a short name, a role or an id; yourself if you leave it out. Only
    /// the platform's agent may name an agent of another organization, as `org/agent`.
    #[serde(default)]
    agent: Option<String>,
    /// Why the change helps, in a sentence or two. The person who decides reads it.
    reason: String,
    /// The new values of the fields to change.
    changes: SoulPatch,
}

const DESCRIPTION: &str = "Propose a change of the personality, style or rules of an agent of your \
    organization. A person looks at it and decides; nothing changes before that.";
/// What an agent is told about a proposal, also about one that nobody will see.
const WAITS: &str = "The proposal is noted. A person decides on it.";

pub(super) struct ProposeSoulUpdate {
    definition: ToolDefinition,
    store: Store,
    running_turns: RunningTurns,
}

impl ProposeSoulUpdate {
    pub(super) fn new(spec: ToolSpec, store: Store, running_turns: RunningTurns) -> Self {
        let schema = schemars::schema_for!(Arguments).to_value();
        Self { definition: ToolDefinition::new(spec, DESCRIPTION, schema), store, running_turns }
    }

    async fn propose(
        &self,
        call: &Authorized,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolOutcome> {
        let Arguments { agent, reason, changes } = call.arguments()?;
        if reason.trim().is_empty() {
            let text = "Say why the change helps: `reason` must not be empty.";
            return Err(ToolOutcome::new(OutcomeStatus::Invalid, text));
        }
        let turn = context.session.and_then(|session| self.running_turns.get(session));
        let turn =
            turn.ok_or_else(|| ToolOutcome::failed("Souls are changed in conversations."))?;
        let proposer = &self.proposer(&turn.view, context).await?;
        if context.audience == Audience::Customer {
            return Err(refused(&ProposalRefused::Layer(BusinessLayer::EndCustomer)));
        }
        let target = match agent {
            None => proposer.clone(),
            Some(name) => self.find(&turn.view, proposer, &name).await?,
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
        let decided = proposal::decide(&self.store, context.org, request, context.now).await;
        let (decision, stored) =
            decided.map_err(|error| unavailable(&error))?.map_err(|why| refused(&why))?;
        let effect = match decision {
            ProposalDecision::Apply => return self.apply(context, &target, stored).await,
            ProposalDecision::Pending => AgentEffect::Proposed { proposal: Box::new(stored) },
            ProposalDecision::SilentlyRejected => {
                let reason = stored.proposal.reason;
                AgentEffect::Dropped { target: target.agent.id, reason }
            }
        };
        Ok(ToolOutcome::ok(WAITS).with_effect(effect.into()))
    }

    /// Returns the agent of the turn. A worker that was created for this turn is only in the
    /// store.
    async fn proposer(
        &self,
        view: &OrgView,
        context: &ToolContext,
    ) -> Result<AgentView, ToolOutcome> {
        if let Some(known) = view.agent(context.agent) {
            return Ok(known.clone());
        }
        let agents = self
            .store
            .org(context.org)
            .agent_configs()
            .await
            .map_err(|error| unavailable(&error))?;
        let found = agents.into_iter().find(|one| one.agent.id == context.agent);
        found.map(|config| AgentView::new(&view.org, config)).ok_or_else(|| refused("Not here."))
    }

    /// Finds an agent of the org; for the platform's agent also one of another org.
    async fn find(
        &self,
        view: &OrgView,
        proposer: &AgentView,
        name: &str,
    ) -> Result<AgentView, ToolOutcome> {
        let not_found = || {
            let text = ProposalRefused::OtherOrg(name.to_owned()).to_string();
            ToolOutcome::new(OutcomeStatus::NotFound, text)
        };
        if let Some(found) = view.find_agent(name) {
            return Ok(found.clone());
        }
        let is_platform = proposer.position.guardrail_layer == BusinessLayer::Platform;
        let Some((org, agent)) = name.split_once('/').filter(|_| is_platform) else {
            return Err(not_found());
        };
        let orgs = self.store.orgs().await.map_err(|error| unavailable(&error))?;
        let org = orgs.iter().find(|one| one.slug == org).ok_or_else(not_found)?;
        let agents =
            self.store.org(org.id).agent_configs().await.map_err(|error| unavailable(&error))?;
        let found = agents.into_iter().find(|one| one.agent.slug == agent);
        found.map(|config| AgentView::new(org, config)).ok_or_else(not_found)
    }

    /// Writes the new version of a soul at once, for the platform's agent.
    async fn apply(
        &self,
        context: &ToolContext,
        target: &AgentView,
        stored: StoredProposal,
    ) -> Result<ToolOutcome, ToolOutcome> {
        let version = SoulVersion {
            version: stored.proposal.base_version + 1,
            soul: stored.proposal.soul.clone(),
            origin: SoulOrigin::Edited,
            at: context.now,
        };
        let entry = NewAuditEntry {
            id: fresh(AuditId::from_u128),
            actor: AuditActor::Agent(context.agent),
            action: "change_soul".to_owned(),
            subject: target.agent.id.to_string(),
            data: describe_proposal(&stored, &target.soul).to_string(),
        };
        let number = version.version;
        let org = self.store.org(target.agent.org);
        match org.audited(entry).push_soul(target.agent.id, version).await {
            Ok(()) => Ok(ToolOutcome::ok(format!("The soul is changed: version {number}."))),
            Err(StoreError::Conflict(_)) => {
                Err(refused("The soul was changed meanwhile; look at it again."))
            }
            Err(other) => Err(unavailable(&other)),
        }
    }
}

fn refused(why: &(impl ToString + ?Sized)) -> ToolOutcome {
    ToolOutcome::new(OutcomeStatus::Refused, why.to_string())
}

fn unavailable(error: &StoreError) -> ToolOutcome {
    tracing::warn!(%error, "soul proposal not made");
    ToolOutcome::failed("This does not work at the moment; try again later.")
}

impl Tool for ProposeSoulUpdate {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call<'a>(
        &'a self,
        call: &'a Authorized,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolReply> {
        async move {
            ToolReply::Done(self.propose(call, context).await.unwrap_or_else(|refused| refused))
        }
        .boxed()
    }
}
