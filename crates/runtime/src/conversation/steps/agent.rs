//! Step 1: chooses the agent that answers.

use ostler_domain::agent::routing::{AgentBinding, RoutingCandidate, choose};
use ostler_domain::agent::{Agent, AgentKind, AgentStatus};
use ostler_domain::id::AgentId;
use ostler_domain::session::key::ConversationEntry;
use ostler_store::StoreError;

use crate::conversation::input::Input;
use crate::conversation::run::Run;
use crate::conversation::run_context::RunContext;
use crate::conversation::trace::Trace;
use crate::ids::derived;
use crate::org_view::AgentView;
use crate::records::session::Session;

/// Returns the agent of the next turn, or `None` if nobody can answer. The first agent of
/// a session is stored in it.
pub(crate) async fn run(
    context: &RunContext<'_>,
    run: &mut Run,
    input: &Input<'_>,
) -> Result<Option<AgentView>, StoreError> {
    let timer = Trace::start("1", "agent");
    let requested = input.agent.filter(|_| run.finished_turns.is_empty());
    let requested = requested.and_then(|id| context.view.agent(id));
    let agent = match requested.filter(|one| one.agent.receives_messages()) {
        Some(agent) => Some(agent.clone()),
        None => answering_agent(context, &run.session).await?,
    };
    run.trace.finish(timer);
    if let (Some(agent), None) = (&agent, run.session.agent) {
        run.session.agent = Some(agent.agent.id);
    }
    Ok(agent)
}

/// Returns the session's active agent; if it takes no messages any more, the agent that a
/// new conversation would reach; and if the org has none, a substitute.
async fn answering_agent(
    context: &RunContext<'_>,
    session: &Session,
) -> Result<Option<AgentView>, StoreError> {
    let active = session.active_agent().and_then(|id| context.view.agent(id));
    let active = active.filter(|one| one.agent.receives_messages());
    // A test and a bus request name their agent: nobody answers in its place.
    let only_active = session.entry == ConversationEntry::Testing || session.bus_request.is_some();
    if active.is_some() || only_active {
        return Ok(active.cloned());
    }
    match route_new_conversation(context, session.entry, None) {
        Some(agent) => Ok(Some(agent.clone())),
        None => substitute(context).await,
    }
}

/// Returns the agent that a new conversation reaches.
pub(crate) fn route_new_conversation<'v>(
    context: &'v RunContext<'_>,
    entry: ConversationEntry,
    named: Option<AgentId>,
) -> Option<&'v AgentView> {
    let bindings = &context.view.bindings;
    let own = bindings.iter().find(|one| one.binding.id == context.key.binding);
    let channel = own.map(|one| &one.binding.channel);
    let binding = |agent: AgentId| {
        let enabled = bindings.iter().filter(|one| one.binding.enabled && one.agent == agent);
        if own.is_some_and(|own| own.agent == agent && own.binding.enabled) {
            AgentBinding::Named
        } else if enabled.into_iter().any(|one| Some(&one.binding.channel) == channel) {
            AgentBinding::SameChannel
        } else {
            AgentBinding::None
        }
    };
    let agents = context.view.agents.iter();
    let candidates =
        agents.map(|one| RoutingCandidate { agent: &one.agent, binding: binding(one.agent.id) });
    let chosen = choose(entry, named, candidates).ok()?;
    context.view.agent(chosen.id)
}

/// Returns who answers where the org has no agent for it: a worker of one of its
/// templates, created if there is none yet, else the platform's own agent.
async fn substitute(context: &RunContext<'_>) -> Result<Option<AgentView>, StoreError> {
    let oldest = |kind: AgentKind| {
        let active =
            context.view.agents.iter().filter(move |one| {
                one.agent.kind == kind && one.agent.status == AgentStatus::Active
            });
        active.min_by_key(|one| (one.agent.created_at, one.agent.id))
    };
    if let Some(worker) = oldest(AgentKind::Worker) {
        return Ok(Some(worker.clone()));
    }
    let Some(template) = oldest(AgentKind::Template) else {
        return Ok(context.view.platform_agent.clone());
    };
    // Two processes that create it at the same time create the same one.
    let id = derived(AgentId::from_u128, template.agent.id.as_u128(), "worker");
    let agent = Agent {
        id,
        slug: format!("{}-1", template.agent.slug),
        kind: AgentKind::Worker,
        template: Some(template.agent.id),
        created_at: context.now,
        ..template.agent.clone()
    };
    let version = context.store().save_agent(agent.clone()).await?;
    Ok(Some(AgentView { agent, version, ..template.clone() }))
}
