//! The inbox: a message is accepted once its row is committed, and once only.

use ostler_domain::id::{ConversationId, InboxId, OrgId, SessionId};
use ostler_domain::session::key::ConversationKey;

use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Operation, Scope, Tx};
use crate::backlog::Backlog;
use crate::error::{Result, StoreError};
use crate::{blob_uses, personal};

/// A message as a channel delivered it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inbound {
    /// The id of its row.
    pub id: InboxId,
    /// The conversation it belongs to.
    pub key: ConversationKey,
    /// The id of the conversation, if it is a new one.
    pub new_conversation: ConversationId,
    /// The provider's own id of the message.
    pub provider_id: String,
    /// The message, as JSON.
    pub payload: String,
}

/// A row of an inbox that nobody outside wrote: something happened, and the
/// conversation goes on with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoesOn {
    /// The id of the row.
    pub id: InboxId,
    /// What a repeat is known by.
    pub provider_id: String,
    /// What happened, as JSON.
    pub payload: String,
}

/// How a message was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// For the first time.
    New(InboxId),
    /// It has been here before, under this id.
    Repeat(InboxId),
}

/// Makes the conversation or finds it, numbers the message and rings. It always
/// writes, so that it waits for a turn that is being committed, and that turn
/// for it: no message is ever passed by.
const RING: Sql = sql!(
    "INSERT INTO conversations (org, id, key, in_seq, pending_at) VALUES (?1, ?2, ?3, 1, now_ms())
     ON CONFLICT (org, key) DO UPDATE SET in_seq = conversations.in_seq + 1,
       pending_at = CASE WHEN conversations.lease_until > now_ms() THEN conversations.lease_until
         ELSE coalesce(conversations.pending_at, now_ms()) END
     RETURNING id, in_seq"
);
const ADD: Sql = sql!(
    "INSERT INTO inbox
       (org, id, conversation, seq, binding, provider_id, payload, received_at, due_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, now_ms(), now_ms())
     ON CONFLICT (org, binding, provider_id) DO NOTHING"
);
const EARLIER: Sql =
    sql!("SELECT id FROM inbox WHERE org = ?1 AND binding = ?2 AND provider_id = ?3");
const KEY: Sql = sql!("SELECT key FROM conversations WHERE org = ?1 AND id = ?2");
const OF_SESSION: Sql = sql!("SELECT conversation FROM sessions WHERE org = ?1 AND id = ?2");

impl OrgStore<'_> {
    /// Accepts a message. A repeat is answered with the id of the first; beyond
    /// `backlog` unanswered messages of the org a new one is refused.
    pub async fn accept_inbound(&self, message: Inbound, backlog: u32) -> Result<Accepted> {
        if message.key.org != self.org {
            return Err(StoreError::NotFound("organization"));
        }
        let backlog = Backlog::of(self.org, backlog, &self.store.room);
        self.store.write(Accept { org: self.org, message, backlog }).await
    }
}

/// Puts something into the inbox of a conversation that is there. The backlog
/// is for what comes from outside: this is never refused.
pub(crate) async fn go_on<T: Tx>(
    tx: &T,
    org: OrgId,
    conversation: ConversationId,
    what: &GoesOn,
) -> Result<Accepted> {
    let row = tx.first(&KEY, &[org.into(), conversation.into()]).await?;
    let row = row.ok_or(StoreError::NotFound("conversation"))?;
    let key = ConversationKey::read(org, row.text(0)?);
    let key = key.ok_or(StoreError::NotFound("conversation"))?;
    let GoesOn { id, provider_id, payload } = what.clone();
    let message = Inbound { id, key, new_conversation: conversation, provider_id, payload };
    Accept { org, message, backlog: Backlog::Open }.run(tx).await
}

/// The conversation of a session.
pub(crate) async fn conversation_of<T: Tx>(
    tx: &T,
    org: OrgId,
    session: SessionId,
) -> Result<ConversationId> {
    let row = tx.first(&OF_SESSION, &[org.into(), session.into()]).await?;
    row.ok_or(StoreError::NotFound("session"))?.id(0)
}

pub(crate) struct Accept {
    pub(crate) org: OrgId,
    pub(crate) message: Inbound,
    pub(crate) backlog: Backlog,
}

impl Operation for Accept {
    type Output = Accepted;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Accepted> {
        let Inbound { id, key, new_conversation, provider_id, payload } = &self.message;
        let (org, key_text) = (Value::from(self.org), Value::from(key.text()));
        let same = [org.clone(), key.binding.into(), provider_id.as_str().into()];
        if let Some(row) = tx.first(&EARLIER, &same).await? {
            return Ok(Accepted::Repeat(row.id(0)?));
        }
        self.backlog.check(tx, self.org).await?;
        let ring = [org.clone(), (*new_conversation).into(), key_text];
        let row = tx.first(&RING, &ring).await?.ok_or(StoreError::NotFound("organization"))?;
        let conversation: ConversationId = row.id(0)?;
        let number = row.int(1)?;
        if number == 1 {
            tx.batch(&[personal::with(key, conversation)]).await?;
        }
        let added = tx
            .execute(
                &ADD,
                &[
                    org,
                    (*id).into(),
                    conversation.into(),
                    number.into(),
                    key.binding.into(),
                    provider_id.as_str().into(),
                    payload.as_str().into(),
                ],
            )
            .await?;
        if added == 0 {
            let row = tx.first(&EARLIER, &same).await?;
            return Ok(Accepted::Repeat(row.ok_or(StoreError::NotFound("message"))?.id(0)?));
        }
        tx.batch(&blob_uses::of(self.org, conversation, payload)).await?;
        Ok(Accepted::New(*id))
    }
}
