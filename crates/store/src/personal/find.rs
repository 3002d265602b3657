//! Finding a contact's conversations. Keys have a name as its channel spells it;
//! they are looked up by what all spellings have in common, and then recognized.

use std::collections::BTreeSet;

use ostler_domain::channel::Channel;
use ostler_domain::contact::search_form;
use ostler_domain::id::{BindingId, ContactId, ConversationId, OrgId};
use ostler_domain::session::key::{ConversationKey, Peer};

use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Statement, Tx};
use crate::contacts::StoredContact;
use crate::error::Result;
use crate::{bindings, identifiers};

const WITH: Sql = sql!(
    "INSERT INTO conversation_people (org, person, conversation) VALUES (?1, ?2, ?3)
     ON CONFLICT (org, person, conversation) DO NOTHING"
);
const CALLED: Sql = sql!(
    "SELECT p.conversation, c.key FROM conversation_people p
     JOIN conversations c ON c.org = p.org AND c.id = p.conversation
     WHERE p.org = ?1 AND p.person = ?2 AND p.conversation > ?3
     ORDER BY p.conversation LIMIT ?4"
);
const HOW_MANY: Sql =
    sql!("SELECT count(*) FROM conversation_people WHERE org = ?1 AND person = ?2");

/// Conversations that are looked at together, and bindings.
const PAGE: u32 = 200;

/// Records whom a new conversation is with, together with its first message.
pub(crate) fn with(key: &ConversationKey, conversation: ConversationId) -> Statement {
    let params = vec![key.org.into(), person(key).into(), conversation.into()];
    Statement { sql: &WITH, params, must: None }
}

/// Under what a conversation is found.
pub(super) fn person(key: &ConversationKey) -> String {
    match &key.peer {
        Peer::Person(name) => search_form(name),
        Peer::Group(_) => group(key.binding),
    }
}

fn group(binding: BindingId) -> String {
    format!("group {binding}")
}

/// A conversation of a contact.
#[derive(Debug, Clone)]
pub(super) struct Own {
    pub(super) id: ConversationId,
    pub(super) key: ConversationKey,
}

/// Conversations of a contact: all, or the first few.
pub(super) async fn conversations<T: Tx>(
    tx: &T,
    org: OrgId,
    contact: &StoredContact,
    most: usize,
) -> Result<Vec<Own>> {
    let mut own = Vec::new();
    for name in names(tx, org, contact).await? {
        let mut after = Some(ConversationId::from_u128(0));
        while let Some(place) = after {
            let params = [org.into(), name.as_str().into(), place.into(), PAGE.into()];
            let rows = tx.query(&CALLED, &params).await?;
            for row in &rows {
                let Some(key) = ConversationKey::read(org, row.text(1)?) else { continue };
                if own.len() < most && is_of(tx, contact.contact.id, &key).await? {
                    own.push(Own { id: row.id(0)?, key });
                }
            }
            let full = rows.len() as u64 == u64::from(PAGE) && own.len() < most;
            after = rows.last().filter(|_| full).map(|row| row.id(0)).transpose()?;
        }
    }
    Ok(own)
}

/// All that a contact may be called, in the form that is searched for.
async fn names<T: Tx>(tx: &T, org: OrgId, contact: &StoredContact) -> Result<BTreeSet<String>> {
    let linked = identifiers::of(tx, org, contact.contact.id, u32::MAX).await?;
    let details = &contact.contact.details;
    let known = [&details.phone, &details.email].into_iter().flatten();
    let linked = linked.iter().map(|(_, identifier)| identifier);
    let names = linked.chain(known).map(|name| search_form(name));
    Ok(names.filter(|name| !name.is_empty()).collect())
}

/// Whether a contact is who is recognized by a key.
async fn is_of<T: Tx>(tx: &T, contact: ContactId, key: &ConversationKey) -> Result<bool> {
    let Peer::Person(name) = &key.peer else { return Ok(false) };
    let Some(bound) = bindings::get(tx, key.org, key.binding).await? else { return Ok(false) };
    let found = identifiers::find(tx, key.org, bound.binding.channel, name.clone()).await?;
    Ok(found.is_some_and(|found| found.contact.id == contact))
}

/// How many groups there are on the channels that a contact is linked on. In
/// which of them they wrote, no key says.
pub(super) async fn groups<T: Tx>(tx: &T, org: OrgId, contact: ContactId) -> Result<u64> {
    let linked = identifiers::of(tx, org, contact, u32::MAX).await?;
    let channels: BTreeSet<Channel> = linked.into_iter().map(|(channel, _)| channel).collect();
    let (mut count, mut after) = (0, Some(BindingId::from_u128(0)));
    while let Some(place) = after {
        let page = bindings::list(tx, org, place, PAGE).await?;
        for bound in page.iter().filter(|bound| channels.contains(&bound.binding.channel)) {
            let params = [Value::from(org), group(bound.binding.id).into()];
            count += tx.first(&HOW_MANY, &params).await?.map_or(Ok(0), |row| row.int(0))?;
        }
        let full = page.len() as u64 == u64::from(PAGE);
        after = page.last().filter(|_| full).map(|bound| bound.binding.id);
    }
    Ok(u64::try_from(count).unwrap_or_default())
}
