//! What a run is going to commit, as it comes together.

use std::borrow::Cow;

use ostler_domain::id::{AgentId, MessageId, NoticeId, OutboxId, RunId, SessionId, UserId};
use ostler_domain::message::Part;
use ostler_domain::notice::{NoticeKind, Recipient};
use ostler_domain::time::{Timestamp, Window};
use ostler_engine::history::Item;
use ostler_engine::outcome::Effect;
use ostler_store::{
    Aside, Author, Count, NewEvent, NewMessage, NewNotice, NewOutbound, Settle, StoredApproval,
};
use serde::Serialize;
use serde_json::Value;

use crate::ids::fresh;
use crate::talk::message::{MessageAuthor, Purpose, ThreadMessage};
use crate::talk::outgoing::Outgoing;
use crate::talk::session::Session;
use crate::talk::write;

/// What a run is going to commit.
#[derive(Default)]
pub(crate) struct Draft {
    pub(crate) messages: Vec<NewMessage>,
    /// The same, as they are.
    pub(crate) said: Vec<ThreadMessage>,
    pub(crate) outbox: Vec<NewOutbound>,
    pub(crate) events: Vec<NewEvent>,
    pub(crate) settle: Vec<Settle>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) aside: Aside,
}

/// Something that is said in a conversation.
pub(crate) struct Saying {
    pub(crate) author: MessageAuthor,
    pub(crate) parts: Vec<Part>,
    pub(crate) work: Vec<Item>,
    pub(crate) purpose: Purpose,
}

impl Saying {
    /// Words of the runtime.
    pub(crate) fn system(text: &str, purpose: Purpose) -> Self {
        let parts = vec![Part::text(text)];
        Self { author: MessageAuthor::System, parts, work: Vec::new(), purpose }
    }

    /// Words of an agent.
    pub(crate) fn agent(id: AgentId, text: &str, purpose: Purpose) -> Self {
        let author = MessageAuthor::Agent { id };
        Self { author, parts: vec![Part::text(text)], work: Vec::new(), purpose }
    }

    /// Words of a person.
    pub(crate) fn human(user: UserId, parts: Vec<Part>) -> Self {
        let author = MessageAuthor::Human { user };
        Self { author, parts, work: Vec::new(), purpose: Purpose::Talk }
    }
}

/// Something was said, for those who follow.
#[derive(Serialize)]
struct Said<'a> {
    author: &'a MessageAuthor,
    message: MessageId,
    purpose: Purpose,
    run: Option<RunId>,
    session: SessionId,
    text: Cow<'a, str>,
}

impl Draft {
    /// Adds a message to the thread.
    pub(crate) fn keep(
        &mut self,
        session: &mut Session,
        saying: Saying,
        run: Option<RunId>,
        at: Timestamp,
    ) -> MessageId {
        let Saying { author, parts, work, purpose } = saying;
        let message = ThreadMessage { at, author, parts, work, purpose, run };
        let id = fresh(MessageId::from_u128);
        let data = write(&message);
        session.messages = session.messages.saturating_add(1);
        let (author, purpose, text) = (&message.author, message.purpose, message.text());
        let said = Said { author, message: id, purpose, run, session: session.id, text };
        self.happened("message", said);
        self.messages.push(NewMessage { id, data });
        self.said.push(message);
        id
    }

    /// Has a message sent.
    pub(crate) fn send(&mut self, author: Author, outgoing: &Outgoing) {
        let id = fresh(OutboxId::from_u128);
        self.outbox.push(NewOutbound { id, author, payload: write(outgoing) });
    }

    /// Something that others may follow.
    #[allow(clippy::needless_pass_by_value, reason = "it is made for this call")]
    pub(crate) fn happened(&mut self, kind: &str, data: impl Serialize) {
        self.events.push(NewEvent { kind: kind.to_owned(), data: write(&data) });
    }

    /// Tells somebody something.
    #[allow(clippy::needless_pass_by_value, reason = "it is made for this call")]
    pub(crate) fn notify(
        &mut self,
        kind: NoticeKind,
        recipient: Recipient,
        subject: impl Into<String>,
        data: Value,
    ) {
        let subject = subject.into();
        let id = fresh(NoticeId::from_u128);
        let notice = NewNotice { id, kind, recipient, subject, data: data.to_string() };
        self.aside.notices.push(notice);
    }

    /// Counts something today.
    pub(crate) fn count(&mut self, what: String, amount: u64) {
        self.aside.counts.push(Count { what, window: Window::Day, amount });
    }

    /// Has a person decide on a call.
    pub(crate) fn ask(&mut self, approval: StoredApproval) {
        self.aside.approvals.push(approval);
    }
}
