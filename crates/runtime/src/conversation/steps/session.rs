//! Step 3: finds the session that the input belongs to, or opens a new one.

use ostler_domain::channel::Channel;
use ostler_domain::id::{AgentId, SessionId, ThreadId};
use ostler_domain::session::key::ConversationEntry;
use ostler_domain::session::lifetime::{ReopenPolicy, SessionResolution, resolve_session};
use ostler_domain::team::TeamSession;

use crate::conversation::checkpoint::RecoveredRun;
use crate::conversation::input::Input;
use crate::conversation::run::Run;
use crate::conversation::run_context::RunContext;
use crate::conversation::steps::agent::route_new_conversation;
use crate::conversation::steps::sign_up;
use crate::conversation::trace::Trace;
use crate::conversation::{summary, thread};
use crate::ids::fresh;
use crate::records::message::ThreadMessage;
use crate::records::run_step::RunStep;
use crate::records::session::{Interview, NewSession, PreviousSession, Session};
use crate::records::{UnreadableRecord, api_request, bus_request, decode};
use crate::run_error::RunError;

/// The session that a run continues.
pub(crate) struct CurrentSession {
    pub(crate) session: Box<Session>,
    /// Its last messages, oldest first.
    pub(crate) earlier: Vec<ThreadMessage>,
    /// The session before, if this input opens a new one.
    pub(crate) previous: Option<EndedSession>,
}

/// A session that a new one follows.
pub(crate) struct EndedSession {
    session: Box<Session>,
    messages: Vec<ThreadMessage>,
    /// Whether it ends with this input; it may have been closed before.
    ends_now: bool,
    /// Whether the new session continues its topic.
    resumed: bool,
}

/// Finds the session of the conversation, or opens one if it has none or the last one has
/// ended.
pub(crate) async fn run(
    context: &RunContext<'_>,
    input: &Input<'_>,
    recovered: Option<&RecoveredRun>,
    trace: &mut Trace,
) -> Result<CurrentSession, RunError> {
    let timer = Trace::start(RunStep::Session);
    let stored = stored_session(context)?;
    let messages = thread::load(context).await?;
    let (mut session, mut earlier, previous) = match stored {
        StoredSessionState::Open(mut session) => {
            session.refresh_counts(context.store()).await?;
            (session, messages, None)
        }
        StoredSessionState::Ended { session, ends_now, resumed } => {
            let previous = EndedSession { session, messages, ends_now, resumed };
            (Box::new(open(context, input)), Vec::new(), Some(previous))
        }
        StoredSessionState::None => (Box::new(open(context, input)), messages, None),
    };
    if let Some(RecoveredRun { checkpoint, .. }) = recovered {
        // A session that was new at the first attempt keeps the id it got there.
        (session.id, session.thread) = (checkpoint.session.id, checkpoint.session.thread);
    }
    session.clock.touch(context.now);
    trace.finish(timer);
    let api_request = input.last_message().and_then(|one| one.api_request.as_ref());
    if let Some(given) = api_request.and_then(|request| request.thread_messages(context.now)) {
        earlier = given;
    }
    if let Some(request) = input.last_message().and_then(|one| one.bus_request.as_ref()) {
        session.bus_request = Some(request.clone());
    }
    if let Some(thread) = input.last_message().and_then(|one| one.thread.as_ref()) {
        session.email_thread = Some(thread.clone());
    }
    Ok(CurrentSession { session, earlier, previous })
}

/// The newest session of the conversation, as far as it can be used.
enum StoredSessionState {
    None,
    Open(Box<Session>),
    Ended { session: Box<Session>, ends_now: bool, resumed: bool },
}

fn stored_session(context: &RunContext<'_>) -> Result<StoredSessionState, UnreadableRecord> {
    let Some(stored) = &context.start.session else { return Ok(StoredSessionState::None) };
    let mut session: Box<Session> = decode("session", &stored.data)?;
    let settings = &context.view.settings;
    let lifetime = settings.lifetime(&session.channel);
    let facts = Some(session.lifetime_facts());
    match resolve_session(facts, lifetime, settings.reopen, context.now) {
        SessionResolution::Reuse(_) => Ok(StoredSessionState::Open(session)),
        SessionResolution::Open { close, .. } => {
            let ends_now = close.is_some_and(|(_, reason)| session.close(reason));
            let resumed = settings.reopen == ReopenPolicy::Resume;
            Ok(StoredSessionState::Ended { session, ends_now, resumed })
        }
    }
}

/// Closes and summarizes the session before this one. `closed` is that session as an
/// earlier attempt left it.
pub(crate) async fn close_previous(
    context: &RunContext<'_>,
    run: &mut Run,
    previous: EndedSession,
    closed: Option<Box<Session>>,
) -> Result<(), RunError> {
    let EndedSession { mut session, messages, ends_now, resumed } = previous;
    let had_summary = session.summary.is_some();
    let summary_turn = match closed {
        Some(closed) => {
            session = closed;
            None
        }
        None => summary::write(context, &mut session, &messages).await?,
    };
    if ends_now || session.summary.is_some() != had_summary {
        run.pending.side_effects.closed_session = Some(session.to_state());
    }
    run.record_session_end(&session, summary_turn, ends_now);
    if resumed {
        let summary = session.summary.clone();
        run.session.previous = Some(PreviousSession { session: session.id, summary });
    }
    run.previous_session = Some(session);
    Ok(())
}

/// Returns a new session that opens with this input.
fn open(context: &RunContext<'_>, input: &Input<'_>) -> Session {
    let message = input.messages.first().map(|one| &one.message);
    let named = message.and_then(|message| message.named_agent);
    let group_agents = message.map_or(&[][..], |message| message.group_agents.as_slice());
    let binding = context.view.bindings.iter().find(|one| one.binding.id == context.key.binding);
    let is_bus_request = message.is_some_and(|message| message.bus_request.is_some());
    let is_api_request = message.is_some_and(|message| message.api_request.is_some());
    let channel = match binding {
        Some(one) => one.binding.channel.clone(),
        None if is_bus_request => bus_request::bus_channel(),
        None if is_api_request => api_request::api_channel(),
        None => Channel::Webchat,
    };
    let agent = if is_bus_request || is_api_request {
        named
    } else {
        route_new_conversation(context, context.key.entry, named).map(|one| one.agent.id)
    };
    let settings = &context.view.settings;
    let interview = settings.interviews.get(&channel).cloned();
    let mut session = Session::open(NewSession {
        id: fresh(SessionId::from_u128),
        thread: fresh(ThreadId::from_u128),
        conversation: context.lease.conversation(),
        key: context.key,
        channel,
        agent,
        budget: settings.session_budget,
        now: context.now,
    });
    if context.key.entry == ConversationEntry::Customer {
        let configured = interview.map(|template| Interview {
            template,
            state: Default::default(),
            sign_up: None,
        });
        session.interview =
            sign_up::new_interview(&context.view, context.key, &session.channel).or(configured);
    }
    assign_group_team(context, &mut session, group_agents);
    session
}

/// Makes the agents that are bound to a group the session's team.
fn assign_group_team(context: &RunContext<'_>, session: &mut Session, group_agents: &[AgentId]) {
    let agents = group_agents.iter().filter_map(|id| context.view.agent(*id));
    let agents = agents.map(|one| &one.agent).filter(|agent| agent.receives_messages());
    let agents: Vec<_> = agents.collect();
    let [first, _, ..] = agents.as_slice() else { return };
    session.agent = Some(first.id);
    let Some(config) = &context.view.settings.team else { return };
    match TeamSession::assemble(session.id, session.org, &agents, config.budget) {
        Ok(team) => session.team = Some(team),
        Err(error) => {
            tracing::warn!(session_id = %session.id, %error, "group agents do not form a team");
        }
    }
}
