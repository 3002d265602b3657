//! Visitors: people who have written to an org and are none of its contacts. They are
//! known by their identifier on a channel only.

use std::collections::BTreeSet;

use ostler_domain::channel::Channel;
use ostler_domain::contact::{normalize_identifier, search_key};
use ostler_domain::id::{BindingId, ConversationId, OrgId};
use ostler_domain::session::key::{ConversationEntry, ConversationKey, Peer};

use crate::OrgStore;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::contacts::contact::{self, StoredContact};
use crate::contacts::identifiers;
use crate::contacts::privacy::find::{self, OwnConversation};
use crate::delivery::bindings;
use crate::error::Result;

/// A person who has written and is no contact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelVisitor {
    pub channel: Channel,
    /// As the channel writes it.
    pub identifier: String,
    /// The person's newest conversation.
    pub conversation: ConversationId,
}

const NEWEST: Sql =
    sql!("SELECT id, key FROM conversations WHERE org = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3");

/// Conversations read per query.
const PAGE_SIZE: u32 = 200;
/// The most conversations that are searched for visitors.
const MAX_CONVERSATIONS: usize = 5000;

impl OrgStore<'_> {
    /// Returns visitors among the newest conversations, the newest first.
    pub fn visitors(&self, limit: u32) -> StoreFuture<Vec<ChannelVisitor>> {
        let org = self.org;
        self.read(move |tx| list(tx, org, limit as usize))
    }

    /// Returns the visitors with this identifier, one for each channel.
    pub fn find_visitors(&self, identifier: &str) -> StoreFuture<Vec<ChannelVisitor>> {
        let (org, form) = (self.org, search_key(identifier));
        self.read(move |tx| {
            let own = find::conversations_of(tx, org, [form.clone()], usize::MAX, |_| Ok(true))?;
            let mut known = BTreeSet::new();
            let newest_first = own.iter().rev();
            let found = newest_first.filter_map(|own| visitor(tx, own.id, &own.key).transpose());
            let is_new =
                |one: &ChannelVisitor| known.insert((one.channel.clone(), normalized(one)));
            Ok(found.collect::<Result<Vec<_>>>()?.into_iter().filter(is_new).collect())
        })
    }

    /// Returns the contact with this identifier on any channel that the org has.
    pub fn contact_by_identifier(&self, identifier: &str) -> StoreFuture<Option<StoredContact>> {
        let (org, identifier) = (self.org, identifier.to_owned());
        self.read(move |tx| {
            if let Some(found) = contact::by_phone(tx, org, &identifier)? {
                return Ok(Some(found));
            }
            let bound = bindings::list(tx, org, BindingId::from_u128(0), PAGE_SIZE)?;
            let channels: BTreeSet<Channel> =
                bound.into_iter().map(|one| one.binding.channel).chain([Channel::Email]).collect();
            for channel in channels {
                let found = identifiers::find_contact(tx, org, channel, identifier.clone())?;
                if found.is_some() {
                    return Ok(found);
                }
            }
            Ok(None)
        })
    }
}

/// Returns all conversations of a visitor.
pub(crate) fn conversations(
    tx: &Tx,
    org: OrgId,
    wanted: &ChannelVisitor,
) -> Result<Vec<OwnConversation>> {
    let form = search_key(&wanted.identifier);
    find::conversations_of(tx, org, [form], usize::MAX, |key| {
        let found = visitor(tx, wanted.conversation, key)?;
        Ok(found.is_some_and(|found| {
            found.channel == wanted.channel && normalized(&found) == normalized(wanted)
        }))
    })
}

fn list(tx: &Tx, org: OrgId, limit: usize) -> Result<Vec<ChannelVisitor>> {
    let (mut found, mut known): (Vec<ChannelVisitor>, _) = (Vec::new(), BTreeSet::new());
    let (mut before, mut searched) = (ConversationId::from_u128(u128::MAX), 0);
    while found.len() < limit && searched < MAX_CONVERSATIONS {
        let rows = tx.query(&NEWEST, &[org.into(), before.into(), PAGE_SIZE.into()])?;
        let Some(last) = rows.last() else { break };
        before = last.id(0)?;
        searched += rows.len();
        for row in &rows {
            let Some(key) = ConversationKey::parse(org, row.text(1)?) else { continue };
            let Some(one) = visitor(tx, row.id(0)?, &key)? else { continue };
            if found.len() < limit && known.insert((one.channel.clone(), normalized(&one))) {
                found.push(one);
            }
        }
    }
    Ok(found)
}

/// Returns the visitor of a conversation, unless it is somebody else's: a group's, a
/// contact's or that of the org's own people.
fn visitor(tx: &Tx, id: ConversationId, key: &ConversationKey) -> Result<Option<ChannelVisitor>> {
    let (Peer::Person(name), ConversationEntry::Customer) = (&key.peer, key.entry) else {
        return Ok(None);
    };
    let Some(bound) = bindings::get(tx, key.org, key.binding)? else { return Ok(None) };
    let channel = bound.binding.channel;
    let contact = identifiers::find_contact(tx, key.org, channel.clone(), name.clone())?;
    let visitor = ChannelVisitor { channel, identifier: name.clone(), conversation: id };
    Ok(contact.is_none().then_some(visitor))
}

fn normalized(visitor: &ChannelVisitor) -> String {
    normalize_identifier(&visitor.channel, &visitor.identifier).unwrap_or_default()
}
