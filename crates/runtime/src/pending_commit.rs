//! What a run or an operation is going to commit: messages, outbox entries, events,
//! notices and counters, collected until one transaction stores them.

use ostler_domain::event::{MessageAdded, OrgEvent, SessionOpened};
use ostler_domain::id::{AgentId, MessageId, NoticeId, OutboxId, RunId, UserId};
use ostler_domain::message::MessagePart;
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::time::{Timestamp, Window};
use ostler_engine::history::Item;
use ostler_engine::outcome::ToolEffect;
use ostler_store::{
    Author, CounterIncrement, NewAuditEntry, NewEvent, NewMessage, NewNotice, NewOutboxEntry,
    StoredApproval, TurnCharges, TurnSideEffects,
};
use serde_json::Value;

use crate::ids::fresh;
use crate::records::encode;
use crate::records::message::{MessageAuthor, Purpose, ThreadMessage};
use crate::records::outgoing::OutgoingMessage;
use crate::records::session::Session;

/// Changes that are committed together.
#[derive(Default)]
pub(crate) struct PendingCommit {
    pub(crate) messages: Vec<NewMessage>,
    /// The same messages, decoded.
    pub(crate) thread_messages: Vec<ThreadMessage>,
    pub(crate) outbox: Vec<NewOutboxEntry>,
    pub(crate) events: Vec<NewEvent>,
    pub(crate) charges: Vec<TurnCharges>,
    /// The effects of tools, each with the agent that called the tool.
    pub(crate) effects: Vec<(AgentId, ToolEffect)>,
    pub(crate) side_effects: TurnSideEffects,
}

/// A message to add to a thread.
pub(crate) struct DraftMessage {
    pub(crate) author: MessageAuthor,
    pub(crate) parts: Vec<MessagePart>,
    pub(crate) work: Vec<Item>,
    pub(crate) purpose: Purpose,
}

impl DraftMessage {
    /// Creates a message of the runtime itself.
    pub(crate) fn system(text: &str, purpose: Purpose) -> Self {
        let parts = vec![MessagePart::text(text)];
        Self { author: MessageAuthor::System, parts, work: Vec::new(), purpose }
    }

    pub(crate) fn agent(id: AgentId, text: &str, purpose: Purpose) -> Self {
        let author = MessageAuthor::Agent { id };
        Self { author, parts: vec![MessagePart::text(text)], work: Vec::new(), purpose }
    }

    pub(crate) fn human(user: UserId, parts: Vec<MessagePart>) -> Self {
        let author = MessageAuthor::Human { user };
        Self { author, parts, work: Vec::new(), purpose: Purpose::Talk }
    }
}

impl PendingCommit {
    /// Adds a message to the thread of a session, with its event, and returns its id.
    pub(crate) fn add_message(
        &mut self,
        session: &mut Session,
        draft: DraftMessage,
        run: Option<RunId>,
        at: Timestamp,
    ) -> MessageId {
        let DraftMessage { author, parts, work, purpose } = draft;
        let message = ThreadMessage { at, author, parts, work, purpose, run };
        let id = fresh(MessageId::from_u128);
        let data = encode(&message);
        session.messages = session.messages.saturating_add(1);
        let (author, purpose) = (message.author.clone(), message.purpose);
        let (session, text) = (session.id, message.text().into_owned());
        let event = MessageAdded { author, message: id, purpose, run, session, text };
        self.add_event(&OrgEvent::Message(event));
        self.messages.push(NewMessage { id, data });
        self.thread_messages.push(message);
        id
    }

    /// Adds the event that a session began, before those of its messages.
    pub(crate) fn add_opening(&mut self, session: &Session) {
        let opened = SessionOpened {
            session: session.id,
            channel: session.channel.clone(),
            entry: session.entry,
            agent: session.active_agent(),
        };
        self.events.insert(0, NewEvent::new(&OrgEvent::SessionOpened(opened)));
    }

    pub(crate) fn add_outgoing(&mut self, author: Author, outgoing: &OutgoingMessage) {
        let id = fresh(OutboxId::from_u128);
        let binding = outgoing.bus_request.is_none().then_some(outgoing.binding);
        self.outbox.push(NewOutboxEntry { id, binding, author, payload: encode(outgoing) });
    }

    /// Adds an event to the org's event log.
    pub(crate) fn add_event(&mut self, event: &OrgEvent) {
        self.events.push(NewEvent::new(event));
    }

    #[allow(clippy::needless_pass_by_value, reason = "callers build it for this call")]
    pub(crate) fn add_notice(
        &mut self,
        kind: NoticeKind,
        recipient: NoticeRecipient,
        subject: impl Into<String>,
        data: Value,
    ) {
        let subject = subject.into();
        let id = fresh(NoticeId::from_u128);
        let notice = NewNotice { id, kind, recipient, subject, data: data.to_string() };
        self.side_effects.notices.push(notice);
    }

    /// Increments a counter of the current day.
    pub(crate) fn add_count(&mut self, counter: String, amount: u64) {
        self.side_effects.counts.push(CounterIncrement { counter, window: Window::Day, amount });
    }

    pub(crate) fn add_audit(&mut self, entry: NewAuditEntry) {
        self.side_effects.audit.push(entry);
    }

    pub(crate) fn add_approval(&mut self, approval: StoredApproval) {
        self.side_effects.approvals.push(approval);
    }
}
