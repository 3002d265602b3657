//! The messages that a turn puts into the outbox.

use ostler_channels::email_thread::EmailThread;
use ostler_domain::audit::AuditActor;
use ostler_domain::channel::Channel;
use ostler_domain::event::{OrgEvent, OutreachSent};
use ostler_domain::id::{AgentId, AuditId, BindingId, ContactId};
use ostler_domain::message::MessagePart;
use ostler_domain::session::key::Peer;
use ostler_engine::outcome::ToolEffect;
use ostler_store::{Author, NewAuditEntry};
use serde::{Deserialize, Serialize};

use crate::ids::fresh;
use crate::pending_commit::PendingCommit;
use crate::records::encode;
use crate::records::outgoing::OutgoingMessage;

const KIND: &str = "outreach";

/// A message to a contact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OutreachMessage {
    pub(super) binding: BindingId,
    pub(super) channel: Channel,
    pub(super) contact: ContactId,
    /// The contact's address on the channel.
    pub(super) to: String,
    /// The subject of an e-mail.
    pub(super) subject: Option<String>,
    pub(super) text: String,
}

impl From<OutreachMessage> for ToolEffect {
    fn from(message: OutreachMessage) -> Self {
        Self { kind: KIND.to_owned(), data: serde_json::to_value(message).unwrap_or_default() }
    }
}

/// Adds the messages among the effects of a turn to its commit, each with its event and its
/// audit entry.
pub(crate) fn store_effects(pending: &mut PendingCommit, agent: AgentId, effects: &[ToolEffect]) {
    let ours = effects.iter().filter(|effect| effect.kind == KIND);
    let messages = ours.filter_map(|one| OutreachMessage::deserialize(&one.data).ok());
    for OutreachMessage { binding, channel, contact, to, subject, text } in messages {
        let event = OrgEvent::Outreach(OutreachSent {
            agent,
            contact,
            channel: channel.clone(),
            to: to.clone(),
            subject: subject.clone(),
        });
        pending.add_audit(NewAuditEntry {
            id: fresh(AuditId::from_u128),
            actor: AuditActor::Agent(agent),
            action: "send_message".to_owned(),
            subject: contact.to_string(),
            data: encode(&event),
        });
        pending.add_event(&event);
        pending.add_outgoing(
            Author::Outreach,
            &OutgoingMessage {
                binding,
                to: Peer::Person(to),
                parts: vec![MessagePart::text(text)],
                buttons: Vec::new(),
                agent: Some(agent),
                message: None,
                reply_to: None,
                thread: subject.as_deref().map(EmailThread::new),
                bus_request: None,
                plain_text: false,
            },
        );
    }
}
