//! A run in progress: what it has written, done and spent so far.

use ostler_domain::event::{OrgEvent, SessionClosed};
use ostler_domain::session::status::SessionStatus;

use super::checkpoint::RunProgress;
use super::run_context::RunContext;
use super::steps::reply::ReplyRoute;
use super::steps::stats;
use super::steps::turn::FinishedTurn;
use super::trace::Trace;
use crate::pending_commit::{DraftMessage, PendingCommit};
use crate::records::message::{Purpose, ThreadMessage};
use crate::records::session::Session;

/// A run in progress. [`steps::record`](super::steps::record) commits it.
pub(crate) struct Run {
    pub(crate) trace: Trace,
    pub(crate) pending: PendingCommit,
    pub(crate) session: Box<Session>,
    /// The messages before this run, oldest first.
    pub(crate) earlier: Vec<ThreadMessage>,
    pub(crate) finished_turns: Vec<FinishedTurn>,
    /// Short model calls besides the answer, such as a summary.
    pub(crate) side_turns: Vec<FinishedTurn>,
    /// The session before this one, if the run closes it.
    pub(crate) previous_session: Option<Box<Session>>,
    pub(crate) reply_route: ReplyRoute,
    /// Whether an agent works while a person has the conversation: nothing is said to the
    /// customer then.
    pub(crate) is_silent: bool,
    /// Whether the run answers messages, and the channel proves who sent each of them.
    pub(crate) is_sender_proven: bool,
}

impl Run {
    pub(crate) fn new(
        trace: Trace,
        session: Box<Session>,
        earlier: Vec<ThreadMessage>,
        reply_route: ReplyRoute,
    ) -> Self {
        Self {
            trace,
            pending: PendingCommit::default(),
            session,
            earlier,
            finished_turns: Vec::new(),
            side_turns: Vec::new(),
            previous_session: None,
            reply_route,
            is_silent: false,
            is_sender_proven: false,
        }
    }

    /// Returns what a checkpoint has to keep besides the open turn.
    pub(crate) fn progress(&self) -> RunProgress<'_> {
        RunProgress {
            finished_turns: &self.finished_turns,
            side_turns: &self.side_turns,
            previous_session: self.previous_session.as_deref(),
        }
    }

    /// Adds a message to the thread and sends it, unless the run is silent.
    pub(crate) fn send_message(&mut self, context: &RunContext<'_>, message: DraftMessage) {
        if self.is_silent {
            return;
        }
        let author = message.author.clone();
        // A bus request gets one answer, from the agent that has the conversation in the end.
        let not_sent = message.purpose == Purpose::Transition && self.reply_route.is_bus();
        let parts = message.parts.clone();
        let (run, now) = (Some(context.run_id), context.current_time());
        let id = self.pending.add_message(&mut self.session, message, run, now);
        if !not_sent {
            self.reply_route.send(&mut self.pending, &author, parts, Some(id));
        }
    }

    /// Sends a text of the runtime itself.
    pub(crate) fn send_text(&mut self, context: &RunContext<'_>, text: &str, purpose: Purpose) {
        self.send_message(context, DraftMessage::system(text, purpose));
    }

    /// Adds a side turn with what it cost.
    pub(crate) fn add_side_turn(&mut self, turn: FinishedTurn) {
        stats::count_cost(self, &turn);
        self.pending.charges.push(turn.charges(self.session.entry));
        self.side_turns.push(turn);
    }

    /// Records that a session ended, with the turn that summarized it. `ends_now` is false
    /// for a session that was closed before.
    pub(crate) fn record_session_end(
        &mut self,
        session: &Session,
        summary_turn: Option<FinishedTurn>,
        ends_now: bool,
    ) {
        if let Some(turn) = summary_turn {
            self.add_side_turn(turn);
        }
        if let (true, SessionStatus::Closed(reason)) = (ends_now, session.status) {
            let closed = SessionClosed { session: session.id, reason };
            self.pending.add_event(&OrgEvent::SessionClosed(closed));
        }
    }
}
