//! Step 13: decides through which binding replies go out, and to whom.

use ostler_channels::email_thread::EmailThread;
use ostler_domain::channel::binding::{Binding, choose_binding};
use ostler_domain::id::{BindingId, MessageId};
use ostler_domain::message::MessagePart;
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::session::key::{ConversationEntry, Peer};
use ostler_store::Author;
use serde_json::json;

use crate::conversation::run::Run;
use crate::conversation::run_context::RunContext;
use crate::org_view::OrgView;
use crate::pending_commit::PendingCommit;
use crate::records::bus_request::BusRequest;
use crate::records::entry::IncomingMessage;
use crate::records::message::{MessageAuthor, ThreadMessage};
use crate::records::outgoing::{OutgoingButton, OutgoingMessage};
use crate::records::session::Session;

/// Where the replies of a session go.
pub(crate) struct ReplyRoute {
    /// `None` if no binding of the channel is enabled.
    binding: Option<BindingId>,
    to: Peer,
    reply_to: Option<String>,
    thread: Option<EmailThread>,
    bus_request: Option<Box<BusRequest>>,
    /// Whether callers of the API read the answers from the runs.
    is_api: bool,
    /// The binding of the conversation's key.
    conversation_binding: BindingId,
    /// Whether they go to somebody who is not one of the org's people.
    is_outsider: bool,
    session: String,
    channel: String,
}

/// Returns the reply route of a session: the conversation's own binding while it is
/// enabled, else the first enabled one of the same channel. Replies refer to `message`, the
/// newest one of the input; mails stay in the thread of the session also without one.
pub(crate) fn run(
    view: &OrgView,
    session: &Session,
    message: Option<&IncomingMessage>,
) -> ReplyRoute {
    let bindings = || view.bindings.iter().map(|one| &one.binding);
    let own = bindings().find(|one| one.id == session.binding && one.enabled);
    let chosen: Option<&Binding> =
        own.or_else(|| choose_binding(bindings(), &session.channel).ok());
    ReplyRoute {
        binding: chosen.map(|one| one.id),
        to: session.peer.clone(),
        reply_to: message.and_then(|message| message.provider_id.clone()),
        thread: message
            .and_then(|message| message.thread.as_deref())
            .or(session.email_thread.as_deref())
            .cloned(),
        bus_request: session.bus_request.clone(),
        is_api: session.is_api(),
        conversation_binding: session.binding,
        is_outsider: session.entry == ConversationEntry::Customer,
        session: session.id.to_string(),
        channel: session.channel.to_string(),
    }
}

impl ReplyRoute {
    /// Returns whether the customer can be reached.
    pub(crate) const fn is_available(&self) -> bool {
        self.binding.is_some() || self.bus_request.is_some() || self.is_api
    }

    /// Returns whether replies go back to the message bus.
    pub(crate) const fn is_bus(&self) -> bool {
        self.bus_request.is_some()
    }

    /// Returns whether callers of the API wait for the answers.
    pub(crate) const fn is_api(&self) -> bool {
        self.is_api
    }

    /// Puts a message into the outbox. Without a binding the owner gets a notice instead;
    /// a bus request that wants no reply gets none, and neither does the caller of the API.
    pub(crate) fn send(
        &self,
        pending: &mut PendingCommit,
        author: &MessageAuthor,
        parts: Vec<MessagePart>,
        message: Option<MessageId>,
    ) {
        let (author, agent) = match author {
            MessageAuthor::Agent { id } => (Author::Agent, Some(*id)),
            MessageAuthor::Human { .. } => (Author::Human, None),
            MessageAuthor::Customer { .. } | MessageAuthor::System => (Author::System, None),
        };
        let bus = self.bus_request.as_ref().map(|_| self.conversation_binding);
        if self.is_api {
            return;
        }
        if self.bus_request.as_ref().is_some_and(|request| request.reply_to().is_none()) {
            return;
        }
        let Some(binding) = bus.or(self.binding) else {
            let data = json!({"session": self.session, "channel": self.channel});
            pending.add_notice(
                NoticeKind::NoBinding,
                NoticeRecipient::Owner,
                self.channel.clone(),
                data,
            );
            return;
        };
        let outgoing = OutgoingMessage {
            binding,
            to: self.to.clone(),
            parts,
            buttons: Vec::new(),
            agent: agent.filter(|_| self.is_outsider),
            message,
            reply_to: self.reply_to.clone(),
            thread: self.thread.clone(),
            bus_request: self.bus_request.clone(),
            plain_text: false,
        };
        pending.add_outgoing(author, &outgoing);
    }
}

/// Forwards the customer's messages to the person who answers: to the team's group if the
/// org uses one, else to the owner's chat.
pub(crate) fn forward_to_team(context: &RunContext<'_>, run: &mut Run) {
    let name = run.session.name.clone().unwrap_or_else(|| "The customer".to_owned());
    let from_customer = |one: &&ThreadMessage| matches!(one.author, MessageAuthor::Customer { .. });
    let messages = run.pending.thread_messages.iter();
    let messages: Vec<&ThreadMessage> = messages.filter(from_customer).collect();
    let texts: Vec<_> = messages.iter().map(|one| one.text()).collect();
    let mut parts = vec![MessagePart::text(format!("{name}: {}", texts.join("\n")))];
    let all = messages.iter().flat_map(|one| &one.parts);
    parts.extend(all.filter(|part| part.attachment().is_some()).cloned());
    if let Some(message) = team_message(&context.view, &run.session, parts) {
        run.pending.add_outgoing(Author::Notice, &message);
    }
}

/// Returns a message about a session to the team's group if the org uses one, else to the
/// owner's chat, with a button that hands the conversation back. Returns `None` if the org has
/// neither.
pub(crate) fn team_message(
    view: &OrgView,
    session: &Session,
    parts: Vec<MessagePart>,
) -> Option<OutgoingMessage> {
    let (settings, people) = (&view.settings, &view.settings.people);
    let enabled = settings.team.as_ref().is_some_and(|team| team.team_group_enabled);
    let group = people.team_group.as_ref().filter(|_| enabled);
    let group = group.map(|at| (at, Peer::Group(at.identifier.clone())));
    let owner = || people.owner.as_ref().map(|at| (at, Peer::Person(at.identifier.clone())));
    let (at, to) = group.or_else(owner)?;
    Some(OutgoingMessage {
        binding: at.binding,
        to,
        parts,
        buttons: vec![OutgoingButton {
            label: "Resume agent".into(),
            data: format!("resume:{}", session.id),
        }],
        agent: None,
        message: None,
        reply_to: None,
        thread: None,
        bus_request: None,
        plain_text: false,
    })
}
