//! A run as it comes together: what it has said, done and cost so far.

use ostler_domain::session::status::SessionStatus;
use serde_json::json;

use super::case::Case;
use super::draft::{Draft, Saying};
use super::saved::SoFar;
use super::step_08_turn::Finished;
use super::step_11_stats;
use super::step_13_reply::Way;
use super::trace::Trace;
use crate::talk::message::{MessageAuthor, Purpose, ThreadMessage};
use crate::talk::session::Session;

/// A run as it comes together.
pub(super) struct Run {
    pub(super) trace: Trace,
    pub(super) draft: Draft,
    pub(super) session: Box<Session>,
    /// What was said before, oldest first.
    pub(super) earlier: Vec<ThreadMessage>,
    /// The turns that are over.
    pub(super) done: Vec<Finished>,
    /// Small turns beside those.
    pub(super) beside: Vec<Finished>,
    /// The session before this one, if the run leaves it another.
    pub(super) old: Option<Box<Session>>,
    /// How replies go out.
    pub(super) way: Way,
}

impl Run {
    /// What it has come to, for whoever would have to go on with it.
    pub(super) fn so_far(&self) -> SoFar<'_> {
        SoFar { before: &self.done, beside: &self.beside, old: self.old.as_deref() }
    }

    /// Says something in the conversation, and sends it.
    pub(super) fn say(&mut self, case: &Case<'_>, saying: Saying) {
        let author = match saying.author {
            MessageAuthor::Agent { .. } => ostler_store::Author::Agent,
            MessageAuthor::Human { .. } => ostler_store::Author::Human,
            MessageAuthor::Customer { .. } | MessageAuthor::System => ostler_store::Author::System,
        };
        // Whoever asked on the bus gets one answer, from the agent that has it.
        let only_kept = saying.purpose == Purpose::Transition && self.way.is_on_the_bus();
        let parts = saying.parts.clone();
        let message = self.draft.keep(&mut self.session, saying, Some(case.run), case.now);
        if !only_kept {
            self.way.send(&mut self.draft, author, parts, Some(message));
        }
    }

    /// Takes a small turn up into the record, and what it cost.
    pub(super) fn beside(&mut self, turn: Finished) {
        step_11_stats::count_cost(self, &turn);
        self.draft.settle.push(turn.settle());
        self.beside.push(turn);
    }

    /// A session has ended, now or earlier, and was summed up by this turn.
    pub(super) fn ended(&mut self, session: &Session, summing_up: Option<Finished>, now: bool) {
        if let Some(turn) = summing_up {
            self.beside(turn);
        }
        if let (true, SessionStatus::Closed(reason)) = (now, session.status) {
            let closed = json!({"session": session.id, "reason": reason});
            self.draft.happened("session_closed", closed);
        }
    }

    /// Says something on the runtime's own account.
    pub(super) fn tell(&mut self, case: &Case<'_>, text: &str, purpose: Purpose) {
        self.say(case, Saying::system(text, purpose));
    }
}
