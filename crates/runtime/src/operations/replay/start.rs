//! The start of a turn as it was: agent, soul, policies, documents, and tools that answer with
//! recorded results.

use std::sync::Arc;

use ostler_domain::id::OrgId;
use ostler_domain::org::layer::BusinessPosition;
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::session::errors::ErrorState;
use ostler_engine::tool::ToolSet;
use ostler_store::{OrgStore, StoreError};

use super::super::Result;
use super::ReplayChange;
use super::recorded::RecordedRun;
use super::recording::{Recording, recorded_tools};
use crate::assembly::documents::LoadedDocument;
use crate::assembly::{AgentBriefing, AgentHarness, Services, SessionFacts};
use crate::org_view::{AgentView, OrgView};
use crate::records::run::TurnRecord;

pub(super) struct TurnStart {
    view: OrgView,
    tools: Arc<ToolSet>,
    documents: Vec<LoadedDocument>,
    pub(super) errors: ErrorState,
    /// What could not be as it was.
    pub(super) notes: Vec<String>,
}

impl TurnStart {
    /// Restores the start of a turn of a run, with the change.
    pub(super) async fn restore(
        services: &Services,
        org: OrgId,
        recorded: &RecordedRun,
        number: usize,
        change: &ReplayChange,
    ) -> Result<Self> {
        let (store, mut notes) = (services.deps.store.org(org), Vec::new());
        let turn = recorded.run.turns.get(number).ok_or(StoreError::NotFound("turn"))?;
        let view = restored_view(services, store, turn, change, &mut notes).await?;
        let recording = Arc::new(Recording::of(&recorded.items_of(number), &turn.decisions));
        Ok(Self {
            tools: recorded_tools(&view.tools, &recording),
            documents: documents(store, turn, &mut notes).await?,
            errors: ErrorState::default(),
            view,
            notes,
        })
    }

    /// Returns what assembly needs to know of the session. Failures and spending are not counted.
    pub(super) fn facts<'a>(&'a self, recorded: &'a RecordedRun) -> SessionFacts<'a> {
        SessionFacts {
            errors: &self.errors,
            budget: self.view.settings.session_budget,
            resolution: None,
            interview: None,
            ..SessionFacts::from(&recorded.session)
        }
    }

    /// Assembles the agent of the turn.
    pub(super) fn harness<'a>(
        &'a self,
        services: &'a Services,
        facts: &SessionFacts<'_>,
        turn: &TurnRecord,
    ) -> Result<AgentHarness<'a>> {
        let agent = self.view.agent(turn.agent).ok_or(StoreError::NotFound("agent"))?;
        Ok(AgentHarness::assemble(&services.deps, &self.view, agent, facts, &self.tools))
    }

    /// Builds the system prompt. Notices and instructions of that moment are left out.
    pub(super) fn prompt(
        &self,
        services: &Services,
        recorded: &RecordedRun,
        turn: &TurnRecord,
    ) -> Result<String> {
        let facts = self.facts(recorded);
        let harness = self.harness(services, &facts, turn)?;
        Ok(harness.system_prompt(&facts, &self.documents, &AgentBriefing::default()))
    }
}

/// Returns the configuration with which a turn was run, with the change.
async fn restored_view(
    services: &Services,
    store: OrgStore<'_>,
    turn: &TurnRecord,
    change: &ReplayChange,
    notes: &mut Vec<String>,
) -> Result<OrgView> {
    let Services { deps, .. } = services;
    let mut view = OrgView::load(&deps.store, &deps.tools, store.id()).await?;
    let scope = &turn.harness.tool_scope;
    if let Some(policy) = &change.policy {
        view.policy.policy = policy.clone();
    } else if scope.org_policy == 0 {
        view.policy.policy = ToolPolicy::default();
    } else if scope.org_policy != view.policy.version {
        view.policy = store.policy_at(scope.org_policy).await?;
    }
    if scope.platform_policy == 0 {
        view.platform_policy.policy = ToolPolicy::default();
    } else if scope.platform_policy != view.platform_policy.version {
        view.platform_policy = deps.store.platform_policy_at(scope.platform_policy).await?;
    }
    let org = view.org.clone();
    match view.agents.iter_mut().find(|one| one.agent.id == turn.agent) {
        Some(agent) => {
            restore_agent(store, agent, turn, notes).await?;
            agent.position = BusinessPosition::of(&org, &agent.agent.subtype);
        }
        None => notes.push("the agent belongs to the platform and is as it is today".to_owned()),
    }
    Ok(view)
}

/// Sets an agent and its soul to the versions of a turn.
async fn restore_agent(
    store: OrgStore<'_>,
    agent: &mut AgentView,
    turn: &TurnRecord,
    notes: &mut Vec<String>,
) -> Result<()> {
    let (version, soul) = (turn.harness.identity.agent_version, turn.harness.soul);
    if agent.version != version {
        match store.agent_at(agent.agent.id, version).await {
            Ok(found) => (agent.agent, agent.version) = (found.agent, version),
            Err(StoreError::NotFound(_)) => notes.push("the agent is as it is today".to_owned()),
            Err(other) => return Err(other.into()),
        }
    }
    if agent.soul_version != soul.version {
        let versions = store.soul_versions(soul.owner).await?;
        match versions.into_iter().find(|one| one.version == soul.version) {
            Some(found) => (agent.soul, agent.soul_version) = (found.soul, found.version),
            None => notes.push("the soul is as it is today".to_owned()),
        }
    }
    Ok(())
}

/// Returns the documents that a turn read, in their present text.
async fn documents(
    store: OrgStore<'_>,
    turn: &TurnRecord,
    notes: &mut Vec<String>,
) -> Result<Vec<LoadedDocument>> {
    let mut documents = Vec::new();
    for id in &turn.harness.session_context.knowledge_base_docs {
        match store.document(*id).await {
            Ok(found) => documents.push(LoadedDocument {
                id: *id,
                title: found.document.title().to_owned(),
                text: found.document.body().to_owned(),
            }),
            Err(StoreError::NotFound(_)) => {
                notes.push("a document that the agent read has been deleted".to_owned());
            }
            Err(other) => return Err(other.into()),
        }
    }
    if !documents.is_empty() {
        notes.push("documents are read in their present text".to_owned());
    }
    Ok(documents)
}
