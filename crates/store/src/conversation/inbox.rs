//! The inbox: a message is accepted when its row is committed, and only once.

use ostler_domain::id::{BindingId, ConversationId, InboxId, OrgId, RunId, SessionId};
use ostler_domain::session::key::ConversationKey;

use crate::OrgStore;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::contacts::blobs::{self, NewBlob};
use crate::contacts::{blob_uses, privacy};
use crate::conversation::backlog::BacklogCheck;
use crate::error::{Result, StoreError};

/// A message from a channel, to be accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewInboxEntry {
    pub id: InboxId,
    pub key: ConversationKey,
    /// The id that the conversation gets if it is new.
    pub new_conversation: ConversationId,
    /// The id of the delivery at the provider, by which a repeat is recognized: of a webhook its
    /// `webhook-id`, of a chat its message.
    pub provider_id: String,
    /// JSON.
    pub payload: String,
}

/// An inbox entry that the program itself adds to an existing conversation: a
/// decision, an outcome, or another event that the next turn answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowUpEntry {
    pub id: InboxId,
    /// Identifies a repeat.
    pub provider_id: String,
    /// JSON.
    pub payload: String,
}

/// The result of accepting a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcceptOutcome {
    New(InboxId),
    /// The message was accepted before, with this id.
    Duplicate(InboxId),
}

/// Creates or finds the conversation, numbers the message and makes the conversation
/// pending. It always writes the row, so that it and the commit of a turn wait for
/// each other and no message is overlooked.
const NEXT_IN_SEQ: Sql = sql!(
    "INSERT INTO conversations (org, id, key, in_seq, pending_at) VALUES (?1, ?2, ?3, 1, now_ms())
     ON CONFLICT (org, key) DO UPDATE SET in_seq = conversations.in_seq + 1,
       pending_at = CASE WHEN conversations.lease_until > now_ms() THEN conversations.lease_until
         ELSE coalesce(conversations.pending_at, now_ms()) END
     RETURNING id, in_seq"
);
const INSERT: Sql = sql!(
    "INSERT INTO inbox
       (org, id, conversation, seq, binding, provider_id, payload, received_at, due_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, now_ms(), now_ms())
     ON CONFLICT (org, binding, provider_id) DO NOTHING"
);
const FIND_DUPLICATE: Sql =
    sql!("SELECT id FROM inbox WHERE org = ?1 AND binding = ?2 AND provider_id = ?3");
const ANSWERING_RUN: Sql = sql!(
    "SELECT run FROM inbox WHERE org = ?1 AND binding = ?2 AND provider_id = ?3
       AND state = 'done' AND run IS NOT NULL"
);
const PENDING_ENTRY: Sql = sql!(
    "SELECT 1 FROM inbox WHERE org = ?1 AND conversation = ?2 AND state = 'pending'
       AND (provider_id = ?3 OR provider_id LIKE ?3 || ':%') LIMIT 1"
);
const KEY: Sql = sql!("SELECT key FROM conversations WHERE org = ?1 AND id = ?2");
const CONVERSATION_OF_SESSION: Sql =
    sql!("SELECT conversation FROM sessions WHERE org = ?1 AND id = ?2");

impl OrgStore<'_> {
    /// Accepts a message. A repeat returns the id of the first one. Fails with
    /// [`StoreError::BacklogFull`] if the org has `backlog` unanswered messages.
    pub async fn accept_inbound(
        &self,
        message: NewInboxEntry,
        backlog: u32,
    ) -> Result<AcceptOutcome> {
        let org = self.org;
        if message.key.org != org {
            return Err(StoreError::NotFound("organization"));
        }
        let backlog = BacklogCheck::new(org, backlog, &self.store.backlog_allowance);
        self.write(move |tx| accept(tx, org, &message, &backlog)).await
    }

    /// Accepts a message together with its files: both are stored, or neither. Fails with
    /// [`StoreError::StorageFull`] if the files do not fit into the storage of the org.
    pub async fn accept_with_files(
        &self,
        message: NewInboxEntry,
        files: Vec<NewBlob>,
        backlog: u32,
    ) -> Result<AcceptOutcome> {
        let (org, limit) = (self.org, self.store.storage_limit);
        if message.key.org != org {
            return Err(StoreError::NotFound("organization"));
        }
        let backlog = BacklogCheck::new(org, backlog, &self.store.backlog_allowance);
        self.write(move |tx| {
            let accepted = accept(tx, org, &message, &backlog)?;
            if let AcceptOutcome::New(_) = accepted {
                blobs::put_all(tx, org, &files, limit)?;
            }
            Ok(accepted)
        })
        .await
    }
}

impl OrgStore<'_> {
    /// Returns the run that answered an entry, if there is one.
    pub fn answering_run(
        &self,
        binding: BindingId,
        provider_id: &str,
    ) -> StoreFuture<Option<RunId>> {
        let params = [self.org.into(), binding.into(), provider_id.into()];
        self.read(move |tx| tx.first(&ANSWERING_RUN, &params)?.map(|row| row.id(0)).transpose())
    }

    /// Returns whether an unanswered entry of a conversation has this provider id, or one
    /// that begins with it and a colon.
    pub fn has_pending_entry(
        &self,
        conversation: ConversationId,
        provider_id: &str,
    ) -> StoreFuture<bool> {
        let params = [self.org.into(), conversation.into(), provider_id.into()];
        self.read(move |tx| Ok(tx.first(&PENDING_ENTRY, &params)?.is_some()))
    }
}

/// Adds an entry to the inbox of an existing conversation. The backlog limit is for
/// messages from outside and does not apply.
pub(crate) fn add_follow_up(
    tx: &Tx,
    org: OrgId,
    conversation: ConversationId,
    entry: &FollowUpEntry,
) -> Result<AcceptOutcome> {
    let row = tx.first(&KEY, &[org.into(), conversation.into()])?;
    let row = row.ok_or(StoreError::NotFound("conversation"))?;
    let key = ConversationKey::parse(org, row.text(0)?);
    let key = key.ok_or(StoreError::NotFound("conversation"))?;
    let FollowUpEntry { id, provider_id, payload } = entry.clone();
    let message = NewInboxEntry { id, key, new_conversation: conversation, provider_id, payload };
    accept(tx, org, &message, &BacklogCheck::Unlimited)
}

/// Returns the conversation of a session.
pub(crate) fn conversation_of(tx: &Tx, org: OrgId, session: SessionId) -> Result<ConversationId> {
    let row = tx.first(&CONVERSATION_OF_SESSION, &[org.into(), session.into()])?;
    row.ok_or(StoreError::NotFound("session"))?.id(0)
}

/// Accepts a message, inside a transaction.
pub(crate) fn accept(
    tx: &Tx,
    org: OrgId,
    message: &NewInboxEntry,
    backlog: &BacklogCheck,
) -> Result<AcceptOutcome> {
    let NewInboxEntry { id, key, new_conversation, provider_id, payload } = message;
    let duplicate = [Value::from(org), key.binding.into(), provider_id.as_str().into()];
    if let Some(row) = tx.first(&FIND_DUPLICATE, &duplicate)? {
        return Ok(AcceptOutcome::Duplicate(row.id(0)?));
    }
    backlog.check(tx, org)?;
    let params = [org.into(), (*new_conversation).into(), key.to_text().into()];
    let row = tx.first(&NEXT_IN_SEQ, &params)?.ok_or(StoreError::NotFound("organization"))?;
    let conversation: ConversationId = row.id(0)?;
    let seq = row.int(1)?;
    if seq == 1 {
        tx.batch(&[privacy::record_conversation_peer(key, conversation)])?;
    }
    let added = tx.execute(
        &INSERT,
        &[
            org.into(),
            (*id).into(),
            conversation.into(),
            seq.into(),
            key.binding.into(),
            provider_id.as_str().into(),
            payload.as_str().into(),
        ],
    )?;
    if added == 0 {
        let row = tx.first(&FIND_DUPLICATE, &duplicate)?;
        return Ok(AcceptOutcome::Duplicate(row.ok_or(StoreError::NotFound("message"))?.id(0)?));
    }
    tx.batch(&blob_uses::record_uses(org, conversation, payload))?;
    Ok(AcceptOutcome::New(*id))
}
