//! Step 1: who answers.

use ostler_domain::agent::routing::{Candidate, choose};
use ostler_domain::agent::{Agent, AgentKind, AgentStatus};
use ostler_domain::id::AgentId;
use ostler_domain::session::key::Entry;
use ostler_store::StoreError;

use super::case::Case;
use crate::ids::derived;
use crate::org_view::AgentView;
use crate::talk::session::Session;

/// The agent that answers in a session: the one that has it, or, if that one
/// works no more, the one that a new message would reach; where the org has
/// nobody, whoever stands in.
pub(super) async fn answering(
    case: &Case<'_>,
    session: &Session,
) -> Result<Option<AgentView>, StoreError> {
    let has = of_session(case, session);
    // A test is of the agent that it names, and whoever asks on the bus asks one:
    // nobody answers in its place.
    if has.is_some() || session.entry == Entry::Testing || session.asked.is_some() {
        return Ok(has.cloned());
    }
    match first(case, session.entry, None) {
        Some(agent) => Ok(Some(agent.clone())),
        None => stand_in(case).await,
    }
}

/// The agent that has a session, if it works.
pub(super) fn of_session<'v>(case: &'v Case<'_>, session: &Session) -> Option<&'v AgentView> {
    let has = session.active_agent().and_then(|id| case.view.agent(id));
    has.filter(|one| one.agent.receives_messages())
}

/// The agent that a new conversation reaches.
pub(super) fn first<'v>(
    case: &'v Case<'_>,
    entry: Entry,
    named: Option<AgentId>,
) -> Option<&'v AgentView> {
    let channel = case.view.bindings.iter().find(|one| one.binding.id == case.key.binding);
    let bound = |agent: AgentId| {
        let channel = channel.map(|one| &one.binding.channel);
        case.view.bindings.iter().any(|one| {
            one.agent == agent && one.binding.enabled && Some(&one.binding.channel) == channel
        })
    };
    let candidates = case
        .view
        .agents
        .iter()
        .map(|one| Candidate { agent: &one.agent, bound: bound(one.agent.id) });
    let chosen = choose(entry, named, candidates).ok()?;
    case.view.agent(chosen.id)
}

/// Who answers where the org has nobody: a worker of one of its templates, which
/// is made if there is none yet, else the platform's own agent.
async fn stand_in(case: &Case<'_>) -> Result<Option<AgentView>, StoreError> {
    let oldest = |kind: AgentKind| {
        let active =
            case.view.agents.iter().filter(move |one| {
                one.agent.kind == kind && one.agent.status == AgentStatus::Active
            });
        active.min_by_key(|one| (one.agent.created_at, one.agent.id))
    };
    if let Some(worker) = oldest(AgentKind::Worker) {
        return Ok(Some(worker.clone()));
    }
    let Some(template) = oldest(AgentKind::Template) else {
        return Ok(case.view.guest.clone());
    };
    // Whoever makes it at the same moment makes the same one.
    let id = derived(AgentId::from_u128, template.agent.id.as_u128(), "worker");
    let agent = Agent {
        id,
        slug: format!("{}-1", template.agent.slug),
        kind: AgentKind::Worker,
        template: Some(template.agent.id),
        created_at: case.now,
        ..template.agent.clone()
    };
    let version = case.store().save_agent(agent.clone()).await?;
    Ok(Some(AgentView { agent, version, ..template.clone() }))
}
