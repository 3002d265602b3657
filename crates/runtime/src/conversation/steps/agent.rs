//! Step 1: chooses the agent that answers.

use ostler_domain::agent::routing::{AgentBinding, RoutingCandidate, choose};
use ostler_domain::agent::{Agent, AgentKind, AgentStatus, Protection};
use ostler_domain::id::AgentId;
use ostler_domain::session::key::ConversationEntry;
use ostler_store::StoreError;

use crate::conversation::input::Input;
use crate::conversation::run::Run;
use crate::conversation::run_context::RunContext;
use crate::conversation::trace::Trace;
use crate::org_view::AgentView;
use crate::records::run_step::RunStep;
use crate::records::session::Session;
use crate::workers::{assign_worker, touch_worker};

/// Returns the agent of the next turn, or `None` if nobody can answer. The first agent of
/// a session is stored in it.
pub(crate) async fn run(
    context: &RunContext<'_>,
    run: &mut Run,
    input: &Input<'_>,
) -> Result<Option<AgentView>, StoreError> {
    let timer = Trace::start(RunStep::Agent);
    let requested = input.agent.filter(|_| run.finished_turns.is_empty());
    let requested = requested.and_then(|id| context.view.agent(id));
    let agent = match requested.filter(|one| one.agent.receives_messages()) {
        Some(agent) => Some(agent.clone()),
        None => answering_agent(context, &run.session).await?,
    };
    let agent = scale(context, run, agent).await?;
    run.trace.finish(timer);
    if let (Some(agent), None) = (&agent, run.session.agent) {
        run.session.agent = Some(agent.agent.id);
    }
    Ok(agent)
}

/// Gives a customer's session a worker in place of a system agent, and records the use of a
/// worker that has the session already.
async fn scale(
    context: &RunContext<'_>,
    run: &mut Run,
    agent: Option<AgentView>,
) -> Result<Option<AgentView>, StoreError> {
    let Some(chosen) = agent else { return Ok(None) };
    if chosen.agent.kind == AgentKind::Worker {
        // A worker that was assigned in this run gets the session.
        run.session.agent.get_or_insert(chosen.agent.id);
        touch_worker(context.store(), &chosen.agent, context.now).await?;
        return Ok(Some(chosen));
    }
    let session = &run.session;
    if session.names_its_agent() || session.team.is_some() {
        return Ok(Some(chosen));
    }
    let Some(template) = scaling_template(context, &chosen.agent) else { return Ok(Some(chosen)) };
    let worker = worker_of(context, template).await?;
    run.session.agent = Some(worker.agent.id);
    Ok(Some(worker))
}

/// Returns the session's active agent; if it takes no messages any more, the agent that a
/// new conversation would reach; and if the org has none, a substitute.
async fn answering_agent(
    context: &RunContext<'_>,
    session: &Session,
) -> Result<Option<AgentView>, StoreError> {
    let active = session.active_agent().and_then(|id| context.view.agent(id));
    let active = active.filter(|one| one.agent.receives_messages());
    if active.is_some() || session.names_its_agent() {
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
/// templates, else the platform's own agent.
async fn substitute(context: &RunContext<'_>) -> Result<Option<AgentView>, StoreError> {
    let templates = context.view.agents.iter().filter(|one| {
        one.agent.kind == AgentKind::Template && one.agent.status == AgentStatus::Active
    });
    match templates.min_by_key(|one| (one.agent.created_at, one.agent.id)) {
        Some(template) => worker_of(context, template).await.map(Some),
        None => Ok(context.view.platform_agent.clone()),
    }
}

/// Returns the template whose workers answer in place of an agent: that of a system agent.
fn scaling_template<'v>(context: &'v RunContext<'_>, agent: &Agent) -> Option<&'v AgentView> {
    let is_system =
        agent.protection == Protection::Protected && agent.kind == AgentKind::Conversational;
    let template = agent.template.filter(|_| is_system)?;
    let own = context.view.agents.iter().find(|one| one.agent.id == template)?;
    (own.agent.status == AgentStatus::Active).then_some(own)
}

/// Returns a worker of a template for this session.
async fn worker_of(
    context: &RunContext<'_>,
    template: &AgentView,
) -> Result<AgentView, StoreError> {
    let agent = assign_worker(context.store(), &template.agent, context.now).await?;
    let known = context.view.agent(agent.id).filter(|one| one.agent == agent);
    // A worker that was created just now is not in the view; its version is its first.
    Ok(known.cloned().unwrap_or_else(|| AgentView { agent, version: 1, ..template.clone() }))
}
