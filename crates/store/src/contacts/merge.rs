//! Two contacts of one person become one: identifiers, conversations and records move to
//! the contact that is kept, and the other one is deleted.

use ostler_domain::channel::Channel;
use ostler_domain::contact::Contact;
use ostler_domain::id::{ContactId, OrgId};
use ostler_domain::session::key::Peer;

use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::contacts::contact::{self, StoredContact};
use crate::contacts::identifiers;
use crate::contacts::privacy::find::{self, OwnConversation};
use crate::delivery::bindings;
use crate::error::{Result, StoreError};
use crate::tenancy::audited_write::AuditedWrite;
use crate::tenancy::orgs::lock_org;

/// What a merge moved to the contact that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergeCounts {
    pub identifiers: u64,
    pub conversations: u64,
    pub records: u64,
}

/// Finds the conversation only while no worker holds it; its turn would store the session
/// with the contact that it read.
const IDLE: Sql =
    sql!("SELECT 1 FROM conversations WHERE org = ?1 AND id = ?2 AND lease_until <= now_ms()");
const MOVE_SESSIONS: Sql =
    sql!("UPDATE sessions SET data = replace(data, ?3, ?4) WHERE org = ?1 AND conversation = ?2");
/// An id is unique, so its text stands for this contact only.
const MOVE_RECORDS: Sql = Sql {
    sqlite: "UPDATE records SET data = replace(data, ?2, ?3), version = version + 1,
         updated_at = now_ms()
       WHERE org = ?1 AND instr(data, ?2) > 0",
    postgres: "UPDATE records SET data = replace(data, $2, $3), version = version + 1,
         updated_at = now_ms()
       WHERE org = $1 AND strpos(data, $2) > 0",
};
const MOVE_NOTICES: Sql = sql!("UPDATE notices SET subject = ?3 WHERE org = ?1 AND subject = ?2");

impl AuditedWrite<'_> {
    /// Merges `other` into `kept`, which becomes `merged`. Fails with
    /// [`StoreError::Conflict`] if one of them has changed since it was read, and with
    /// [`StoreError::ConversationBusy`] while a worker answers `other`.
    pub fn merge_contacts(
        self,
        kept: &StoredContact,
        other: &StoredContact,
        merged: Contact,
    ) -> StoreFuture<MergeCounts> {
        let (version, other) = (kept.version, other.clone());
        self.run(move |tx, org| {
            // Prevents concurrent linking and recognition.
            lock_org(tx, org)?;
            let counts = move_data(tx, org, &other, merged.id)?;
            contact::delete(tx, org, other.contact.id, other.version)?;
            contact::update(tx, org, version, &merged)?;
            Ok(counts)
        })
    }
}

fn move_data(tx: &Tx, org: OrgId, other: &StoredContact, kept: ContactId) -> Result<MergeCounts> {
    let conversations = find::conversations(tx, org, other, usize::MAX)?;
    let [old, new] = [other.contact.id, kept].map(|id| Value::from(id.to_string()));
    let identifiers = identifiers::move_all(tx, org, other.contact.id, kept)?;
    for own in &conversations {
        let key = [org.into(), own.id.into()];
        tx.first(&IDLE, &key)?.ok_or(StoreError::ConversationBusy)?;
        link_peer(tx, org, own, kept)?;
        let [org, conversation] = key;
        tx.execute(&MOVE_SESSIONS, &[org, conversation, old.clone(), new.clone()])?;
    }
    link_details(tx, org, &other.contact, kept)?;
    let params = [org.into(), old, new];
    tx.execute(&MOVE_NOTICES, &params)?;
    let records = tx.execute(&MOVE_RECORDS, &params)?;
    Ok(MergeCounts { identifiers, conversations: conversations.len() as u64, records })
}

/// Links the peer of a conversation, which may have been recognized by a number or an
/// address that the kept contact does not have.
fn link_peer(tx: &Tx, org: OrgId, own: &OwnConversation, kept: ContactId) -> Result<()> {
    let Peer::Person(name) = &own.key.peer else { return Ok(()) };
    let Some(bound) = bindings::get(tx, org, own.key.binding)? else { return Ok(()) };
    identifiers::link(tx, org, kept, &bound.binding.channel, name)
}

fn link_details(tx: &Tx, org: OrgId, other: &Contact, kept: ContactId) -> Result<()> {
    if let Some(phone) = &other.details.phone {
        for channel in [Channel::Sms, Channel::Whatsapp] {
            identifiers::link(tx, org, kept, &channel, phone)?;
        }
    }
    if let Some(email) = &other.details.email {
        identifiers::link(tx, org, kept, &Channel::Email, email)?;
    }
    Ok(())
}
