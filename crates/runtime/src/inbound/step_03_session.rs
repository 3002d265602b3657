//! Step 3: which session a message belongs to, and which one it closes.

use ostler_domain::channel::Channel;
use ostler_domain::id::{AgentId, SessionId, ThreadId};
use ostler_domain::session::key::Entry;
use ostler_domain::session::lifetime::{ReopenPolicy, Resolution, resolve};
use ostler_domain::team::TeamSession;
use ostler_store::SessionState;

use super::case::Case;
use super::input::Input;
use super::run::Run;
use super::step_01_agent as agent_step;
use super::summary;
use super::worker::RunError;
use crate::ids::fresh;
use crate::talk::message::ThreadMessage;
use crate::talk::session::{Interview, Opening, Previous, Session};
use crate::talk::{Unreadable, asked, read, write};

/// What the conversation has.
pub(super) struct Found {
    /// The session that goes on.
    pub(super) current: Option<Box<Session>>,
    /// The session before, if this message opens another.
    pub(super) old: Option<Old>,
}

/// A session that is over.
pub(super) struct Old {
    /// The session, closed.
    pub(super) session: Box<Session>,
    /// Whether it ends with this message.
    pub(super) ends_now: bool,
    /// Whether the new one goes on with it.
    pub(super) resumed: bool,
}

/// Finds the session of a conversation, and whether it has lived long enough.
pub(super) fn find(case: &Case<'_>) -> Result<Found, Unreadable> {
    let Some(stored) = &case.beginning.session else {
        return Ok(Found { current: None, old: None });
    };
    let mut session: Box<Session> = read("session", &stored.data)?;
    let settings = &case.view.settings;
    let lifetime = settings.lifetime(&session.channel);
    match resolve(Some(session.current()), lifetime, settings.reopen, case.now) {
        Resolution::Reuse(_) => Ok(Found { current: Some(session), old: None }),
        Resolution::Open { close, .. } => {
            let ends_now = close.is_some_and(|(_, reason)| session.close(reason));
            let resumed = settings.reopen == ReopenPolicy::Resume;
            Ok(Found { current: None, old: Some(Old { session, ends_now, resumed }) })
        }
    }
}

/// A new session follows an old one: that is closed and summed up, and the new
/// one may go on with what it was about. `known` is what a try before this one
/// has made of it.
pub(super) async fn follow(
    case: &Case<'_>,
    run: &mut Run,
    Old { mut session, ends_now, resumed }: Old,
    messages: &[ThreadMessage],
    known: Option<Box<Session>>,
) -> Result<(), RunError> {
    let had_summary = session.summary.is_some();
    let summing_up = match known {
        Some(known) => {
            session = known;
            None
        }
        None => summary::write(case, &mut session, messages).await?,
    };
    if ends_now || session.summary.is_some() != had_summary {
        run.draft.aside.closes = Some(state(&session));
    }
    run.ended(&session, summing_up, ends_now);
    if resumed {
        let summary = session.summary.clone();
        run.session.previous = Some(Previous { session: session.id, summary });
    }
    run.old = Some(session);
    Ok(())
}

/// A session that opens with this message.
pub(super) fn open(case: &Case<'_>, input: &Input<'_>) -> Session {
    let wrote = input.arrived.first().map(|one| &one.wrote);
    let named = wrote.and_then(|wrote| wrote.named_agent);
    let bound = wrote.map_or(&[][..], |wrote| wrote.bound.as_slice());
    let binding = case.view.bindings.iter().find(|one| one.binding.id == case.key.binding);
    let on_the_bus = wrote.is_some_and(|wrote| wrote.asked.is_some());
    let channel = match binding {
        Some(one) => one.binding.channel.clone(),
        None if on_the_bus => asked::channel(),
        None => Channel::Webchat,
    };
    let agent = if on_the_bus {
        named
    } else {
        agent_step::first(case, case.key.entry, named).map(|one| one.agent.id)
    };
    let settings = &case.view.settings;
    let interview = settings.interviews.get(&channel).cloned();
    let mut session = Session::open(Opening {
        id: fresh(SessionId::from_u128),
        thread: fresh(ThreadId::from_u128),
        conversation: case.lease.conversation(),
        key: case.key,
        channel,
        agent,
        budget: settings.session_budget,
        now: case.now,
    });
    if case.key.entry == Entry::Customer {
        session.interview =
            interview.map(|template| Interview { template, state: Default::default() });
    }
    with_bound(case, &mut session, bound);
    session
}

/// Makes a team of the agents that are bound to a group.
fn with_bound(case: &Case<'_>, session: &mut Session, bound: &[AgentId]) {
    let agents = bound.iter().filter_map(|id| case.view.agent(*id)).map(|one| &one.agent);
    let agents: Vec<_> = agents.filter(|agent| agent.receives_messages()).collect();
    let [first, _, ..] = agents.as_slice() else { return };
    session.agent = Some(first.id);
    let Some(config) = &case.view.settings.team else { return };
    match TeamSession::assemble(session.id, session.org, &agents, config.budget) {
        Ok(team) => session.team = Some(team),
        Err(refused) => tracing::warn!(%refused, "a group's agents are no team"),
    }
}

/// A session in the form in which it is stored.
pub(crate) fn state(session: &Session) -> SessionState {
    SessionState {
        id: session.id,
        thread: session.thread,
        status: session.status_word().to_owned(),
        data: write(session),
    }
}
