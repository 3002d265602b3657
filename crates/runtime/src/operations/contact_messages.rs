//! Messages that people of the org, or their programs, write in the place of a contact: to try a
//! channel, or to pass on what somebody said elsewhere. Nobody but the operator at the machine
//! vouches for the sender, so such a message proves nothing and says who wrote it.

use ostler_domain::channel::Channel;
use ostler_domain::contact::SenderProof;
use ostler_domain::id::{BindingId, ConversationId, InboxId, RunId, SessionId};
use ostler_domain::message::MessagePart;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::session::key::{ConversationEntry, ConversationKey, Peer};
use ostler_store::{NewBlob, OrgBinding, StoreError, TranscriptStart};
use serde_json::json;

use super::{Actor, OperationError, OrgOperations, Result};
use crate::ids::fresh;
use crate::inbox::Intake;
use crate::records::entry::{InboxEntry, IncomingMessage, MessageSender};

/// What is added to the name of a contact in whose place somebody else writes.
const WRITTEN_BY_STAFF: &str = "by staff";
/// The most bindings that are searched.
const MAX_BINDINGS: u32 = 100;

/// A message in the place of a contact.
#[derive(Debug, Clone)]
pub struct ContactMessage {
    /// The name or the kind of the channel.
    pub channel: String,
    /// The contact as the channel knows it.
    pub contact: String,
    /// Whether it is written as the owner of the org, who reaches its PM.
    pub is_owner: bool,
    pub parts: Vec<MessagePart>,
    /// The files among the parts.
    pub files: Vec<NewBlob>,
}

/// A message that was accepted, by which its answer is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedContactMessage {
    pub binding: BindingId,
    pub id: String,
    pub conversation: ConversationId,
}

impl OrgOperations<'_> {
    /// Puts a message into the inbox in the place of a contact. Only an owner writes as the
    /// owner.
    pub async fn write_as_contact(
        &self,
        intake: &Intake,
        new: ContactMessage,
    ) -> Result<AcceptedContactMessage> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let ContactMessage { channel, contact, is_owner, parts, files } = new;
        if is_owner {
            self.require_owner("write as the owner of the organization").await?;
        }
        if contact.trim().is_empty() {
            return Err(OperationError::Empty("the contact"));
        }
        if parts.is_empty() {
            return Err(OperationError::Empty("the message"));
        }
        let binding = self.enabled_binding(&channel).await?;
        let id = format!("staff-{}", fresh(InboxId::from_u128));
        let entry = if is_owner { ConversationEntry::Owner } else { ConversationEntry::Customer };
        let key =
            ConversationKey { org: self.org, binding, peer: Peer::Person(contact.clone()), entry };
        let message = InboxEntry::Message(IncomingMessage {
            parts,
            from: self.sender(&contact),
            provider_id: Some(id.clone()),
            ..IncomingMessage::default()
        });
        let data = json!({"channel": channel, "as_owner": is_owner});
        // Without the contact, whose words and names are erased elsewhere.
        store.append_audit(self.audit_entry("write_as_contact", &id, &data)).await?;
        intake.accept_with_files(key.clone(), &id, &message, files).await?;
        let accepted = store.transcript(&key, TranscriptStart::Newest, 0).await?;
        let conversation = accepted.ok_or(StoreError::NotFound("conversation"))?.conversation;
        Ok(AcceptedContactMessage { binding, id, conversation })
    }

    /// Returns the run that answered a message, with its session, or `None` if there is none
    /// yet.
    pub async fn contact_reply(
        &self,
        binding: BindingId,
        message: &str,
    ) -> Result<Option<(RunId, SessionId)>> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let Some(run) = store.answering_run(binding, message).await? else {
            return Ok(None);
        };
        match store.run(run).await {
            Ok(stored) => Ok(Some((run, stored.session))),
            Err(StoreError::NotFound(_)) => Ok(None),
            Err(other) => Err(other.into()),
        }
    }

    /// Returns the enabled binding of a name, or else the first one of that kind of channel.
    async fn enabled_binding(&self, name: &str) -> Result<BindingId> {
        let store = &self.inner().store;
        let mut bindings = store.org(self.org).bindings(None, MAX_BINDINGS).await?;
        bindings.retain(|bound| bound.binding.enabled);
        let channel = Channel::from(name);
        let named = bindings.iter().find(|bound| bound.binding.name() == name);
        let found = named.or_else(|| bindings.iter().find(|one| one.binding.channel == channel));
        let known = |bound: &OrgBinding| bound.binding.name();
        found.map(|bound| bound.binding.id).ok_or_else(|| OperationError::NoChannel {
            name: name.to_owned(),
            known: bindings.iter().map(known).collect::<Vec<_>>().join(", "),
        })
    }

    /// Returns the sender of a message in the place of a contact.
    fn sender(&self, contact: &str) -> MessageSender {
        let name = is_name(contact).then(|| capitalize(contact));
        let (name, proof) = match self.actor {
            // The operator could write to the database, and speaks for the customer.
            Actor::Terminal => (name, SenderProof::Proven),
            _ => {
                let name = name.as_deref().unwrap_or(contact);
                (Some(format!("{name} ({WRITTEN_BY_STAFF})")), SenderProof::Unproven)
            }
        };
        MessageSender { identifier: contact.to_owned(), name, locale: None, proof }
    }
}

/// Returns whether the identifier of a customer can stand for the name: an address or a number
/// cannot.
fn is_name(identifier: &str) -> bool {
    !identifier.contains('@') && identifier.chars().any(char::is_alphabetic)
}

fn capitalize(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
