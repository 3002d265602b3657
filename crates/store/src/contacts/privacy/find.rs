//! Finding a contact's conversations. Conversation keys hold identifiers as their
//! channel spells them; candidates are looked up by a common search form and then
//! checked by recognizing the identifier.

use std::collections::BTreeSet;

use ostler_domain::channel::Channel;
use ostler_domain::contact::search_key;
use ostler_domain::id::{BindingId, ContactId, ConversationId, OrgId};
use ostler_domain::session::key::{ConversationKey, Peer};

use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Statement, Tx};
use crate::contacts::contact::StoredContact;
use crate::contacts::identifiers;
use crate::delivery::bindings;
use crate::error::Result;

const INSERT_PEER: Sql = sql!(
    "INSERT INTO conversation_peers (org, peer, conversation) VALUES (?1, ?2, ?3)
     ON CONFLICT (org, peer, conversation) DO NOTHING"
);
const BY_PEER: Sql = sql!(
    "SELECT p.conversation, c.key FROM conversation_peers p
     JOIN conversations c ON c.org = p.org AND c.id = p.conversation
     WHERE p.org = ?1 AND p.peer = ?2 AND p.conversation > ?3
     ORDER BY p.conversation LIMIT ?4"
);
const COUNT: Sql = sql!("SELECT count(*) FROM conversation_peers WHERE org = ?1 AND peer = ?2");

/// Conversations or bindings read per query.
const PAGE_SIZE: u32 = 200;

/// The statement that records the peer of a new conversation, for the transaction
/// that stores its first message.
pub(crate) fn record_conversation_peer(
    key: &ConversationKey,
    conversation: ConversationId,
) -> Statement {
    let params = vec![key.org.into(), peer_form(key).into(), conversation.into()];
    Statement { sql: &INSERT_PEER, params, on_no_rows: None }
}

/// The search form under which a conversation is found.
pub(super) fn peer_form(key: &ConversationKey) -> String {
    match &key.peer {
        Peer::Person(name) => search_key(name),
        Peer::Group(_) => group_form(key.binding),
    }
}

fn group_form(binding: BindingId) -> String {
    format!("group {binding}")
}

/// A contact's conversation.
#[derive(Debug, Clone)]
pub(crate) struct OwnConversation {
    pub(crate) id: ConversationId,
    pub(crate) key: ConversationKey,
}

/// Returns up to `limit` conversations of a contact.
pub(crate) fn conversations(
    tx: &Tx,
    org: OrgId,
    contact: &StoredContact,
    limit: usize,
) -> Result<Vec<OwnConversation>> {
    let forms = search_forms(tx, org, contact)?;
    conversations_of(tx, org, forms, limit, |key| belongs_to(tx, contact.contact.id, key))
}

/// Returns up to `limit` conversations that are found under these search forms and that
/// `belongs` confirms.
pub(crate) fn conversations_of(
    tx: &Tx,
    org: OrgId,
    forms: impl IntoIterator<Item = String>,
    limit: usize,
    belongs: impl Fn(&ConversationKey) -> Result<bool>,
) -> Result<Vec<OwnConversation>> {
    let mut own = Vec::new();
    for name in forms {
        let mut after = Some(ConversationId::from_u128(0));
        while let Some(start) = after {
            let params = [org.into(), name.as_str().into(), start.into(), PAGE_SIZE.into()];
            let rows = tx.query(&BY_PEER, &params)?;
            for row in &rows {
                let Some(key) = ConversationKey::parse(org, row.text(1)?) else { continue };
                if own.len() < limit && belongs(&key)? {
                    own.push(OwnConversation { id: row.id(0)?, key });
                }
            }
            let is_full = rows.len() as u64 == u64::from(PAGE_SIZE) && own.len() < limit;
            after = rows.last().filter(|_| is_full).map(|row| row.id(0)).transpose()?;
        }
    }
    Ok(own)
}

/// The search forms of all identifiers and details of a contact.
fn search_forms(tx: &Tx, org: OrgId, contact: &StoredContact) -> Result<BTreeSet<String>> {
    let linked = identifiers::identifiers_of(tx, org, contact.contact.id, u32::MAX)?;
    let details = &contact.contact.details;
    let known = [&details.phone, &details.email].into_iter().flatten();
    let linked = linked.iter().map(|(_, identifier)| identifier);
    let names = linked.chain(known).map(|name| search_key(name));
    Ok(names.filter(|name| !name.is_empty()).collect())
}

/// Whether a conversation key is recognized as this contact.
fn belongs_to(tx: &Tx, contact: ContactId, key: &ConversationKey) -> Result<bool> {
    let Peer::Person(name) = &key.peer else { return Ok(false) };
    let Some(bound) = bindings::get(tx, key.org, key.binding)? else { return Ok(false) };
    let found = identifiers::find_contact(tx, key.org, bound.binding.channel, name.clone())?;
    Ok(found.is_some_and(|found| found.contact.id == contact))
}

/// Returns how many group conversations there are on the channels that a contact is
/// linked on. Keys do not tell in which of them the contact wrote.
pub(super) fn count_group_conversations(tx: &Tx, org: OrgId, contact: ContactId) -> Result<u64> {
    let linked = identifiers::identifiers_of(tx, org, contact, u32::MAX)?;
    let channels: BTreeSet<Channel> = linked.into_iter().map(|(channel, _)| channel).collect();
    let (mut count, mut after) = (0, Some(BindingId::from_u128(0)));
    while let Some(start) = after {
        let page = bindings::list(tx, org, start, PAGE_SIZE)?;
        for bound in page.iter().filter(|bound| channels.contains(&bound.binding.channel)) {
            let params = [Value::from(org), group_form(bound.binding.id).into()];
            count += tx.first(&COUNT, &params)?.map_or(Ok(0), |row| row.int(0))?;
        }
        let is_full = page.len() as u64 == u64::from(PAGE_SIZE);
        after = page.last().filter(|_| is_full).map(|bound| bound.binding.id);
    }
    Ok(u64::try_from(count).unwrap_or_default())
}
