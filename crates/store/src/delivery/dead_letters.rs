//! Dead letters: messages that are no longer tried, and messages that may or may not
//! have been sent. They wait for a person.

use ostler_domain::id::{ConversationId, InboxId, NoticeId, OrgId, OutboxId};
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::time::Timestamp;

use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::conversation::lease::{Lease, check_fence};
use crate::delivery::notices::{self, NewNotice};
use crate::delivery::outbox::{self, SendProgress};
use crate::error::{Result, StoreError};
use crate::{OrgStore, Store};

/// The id of a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeadLetterId {
    Inbox(InboxId),
    Outbox(OutboxId),
}

/// Why a message is a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeadLetterKind {
    /// It is no longer tried.
    Dead,
    /// It may or may not have been sent.
    Unknown,
}

/// A dead letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDeadLetter {
    pub id: DeadLetterId,
    pub conversation: ConversationId,
    /// JSON.
    pub payload: String,
    pub kind: DeadLetterKind,
    pub reason: String,
    pub attempts: u32,
    pub failed_at: Timestamp,
}

const LIST_INBOX: Sql = Sql {
    sqlite: "SELECT id, conversation, payload, state, coalesce(reason, ''), attempts, due_at
       FROM inbox INDEXED BY inbox_dead
       WHERE org = ?1 AND state = 'dead' AND id > ?2 ORDER BY id LIMIT ?3",
    postgres: "SELECT id, conversation, payload, state, coalesce(reason, ''), attempts, due_at
       FROM inbox WHERE org = $1 AND state = 'dead' AND id > $2 ORDER BY id LIMIT $3",
};
const LIST_OUTBOX: Sql = Sql {
    sqlite: "SELECT id, conversation, payload, state, coalesce(reason, ''), attempts, due_at
       FROM outbox INDEXED BY outbox_undelivered
       WHERE org = ?1 AND state IN ('dead', 'unknown') AND id > ?2 ORDER BY id LIMIT ?3",
    postgres: "SELECT id, conversation, payload, state, coalesce(reason, ''), attempts, due_at
       FROM outbox
       WHERE org = $1 AND state IN ('dead', 'unknown') AND id > $2 ORDER BY id LIMIT $3",
};
const GET_INBOX: Sql = sql!(
    "SELECT id, conversation, payload, state, coalesce(reason, ''), attempts, due_at
     FROM inbox WHERE org = ?1 AND id = ?2 AND state = 'dead'"
);
const GET_OUTBOX: Sql = sql!(
    "SELECT id, conversation, payload, state, coalesce(reason, ''), attempts, due_at
     FROM outbox WHERE org = ?1 AND id = ?2 AND state IN ('dead', 'unknown')"
);
/// Makes the conversation pending as an accepted message does, and locks its row, so
/// that no concurrent commit overlooks the message.
const MAKE_PENDING: Sql = sql!(
    "UPDATE conversations SET pending_at = CASE
       WHEN lease_until > now_ms() THEN lease_until
       WHEN pending_at < now_ms() THEN pending_at
       ELSE now_ms() END
     WHERE org = ?1 AND id = ?2"
);
/// Keeps the sequence number, so the message comes before later ones.
const REPLAY_INBOX: Sql = sql!(
    "UPDATE inbox SET state = 'pending', attempts = 0, reason = NULL, due_at = now_ms()
     WHERE org = ?1 AND id = ?2 AND state = 'dead'"
);
/// Locks the row of a conversation, so that no takeover happens before the commit.
pub(crate) const LOCK_CONVERSATION: Sql =
    sql!("UPDATE conversations SET epoch = epoch WHERE org = ?1 AND id = ?2");
const GET_PROGRESS: Sql =
    sql!("SELECT progress FROM outbox WHERE org = ?1 AND id = ?2 AND state IN ('dead', 'unknown')");
/// Does not reset the attempts, which distinguish a late report of an earlier sender
/// from that of the next one.
const REPLAY_OUTBOX: Sql = sql!(
    "UPDATE outbox SET state = 'pending', reason = NULL, due_at = now_ms(), retry_at = NULL,
       progress = ?3
     WHERE org = ?1 AND id = ?2 AND state IN ('dead', 'unknown')
       AND (author <> 'agent' OR epoch = (
         SELECT c.epoch FROM conversations c
         WHERE c.org = outbox.org AND c.id = outbox.conversation))"
);
const ABANDON_INBOX: Sql = sql!(
    "UPDATE inbox SET state = 'abandoned', due_at = now_ms(),
       reason = coalesce(reason, '') || '; abandoned: ' || ?3
     WHERE org = ?1 AND id = ?2 AND state = 'dead'"
);
const ABANDON_OUTBOX: Sql = sql!(
    "UPDATE outbox SET state = 'abandoned', due_at = now_ms(), retry_at = NULL,
       reason = coalesce(reason, '') || '; abandoned: ' || ?3
     WHERE org = ?1 AND id = ?2 AND state IN ('dead', 'unknown')"
);
const MARK_DEAD: Sql = sql!(
    "UPDATE inbox SET state = 'dead', reason = ?4, due_at = now_ms()
     WHERE org = ?1 AND id = ?2 AND conversation = ?3 AND state = 'pending'"
);

impl OrgStore<'_> {
    /// Lists dead letters: those of the inbox, then those of the outbox, each in the order
    /// of their ids. `after` is the last one of the previous page.
    pub fn dead_letters(
        &self,
        after: Option<DeadLetterId>,
        limit: u32,
    ) -> StoreFuture<Vec<StoredDeadLetter>> {
        let org = self.org;
        self.read(move |tx| list_dead_letters(tx, org, after, limit))
    }

    /// Returns a dead letter.
    pub fn dead_letter(&self, id: DeadLetterId) -> StoreFuture<StoredDeadLetter> {
        let org = self.org;
        self.read(move |tx| find(tx, org, id))
    }

    /// Retries a dead letter on request of a person.
    ///
    /// An inbox entry is answered as if it had never been tried. An outbox entry is sent
    /// next in its conversation, from the first piece that was not sent; this fails with
    /// [`StoreError::TakenOver`] if an agent wrote it and a person has taken over since.
    /// One with an unknown outcome may arrive twice and is marked so.
    pub fn replay_dead_letter(&self, id: DeadLetterId) -> StoreFuture<()> {
        let org = self.org;
        self.write(move |tx| replay(tx, org, id))
    }

    /// Closes a dead letter without a retry.
    pub fn abandon_dead_letter(&self, id: DeadLetterId, why: &str) -> StoreFuture<()> {
        let (org, why) = (self.org, why.to_owned());
        self.write(move |tx| abandon(tx, org, id, &why))
    }
}

impl Store {
    /// Makes a pending message a dead letter, because a retry would not help.
    pub fn make_dead_letter(&self, lease: Lease, id: InboxId, why: &str) -> StoreFuture<()> {
        let params = [lease.org.into(), id.into(), lease.conversation.into(), why.into()];
        let why = why.to_owned();
        self.org(lease.org).write(move |tx| {
            check_fence(tx, lease)?;
            match tx.execute(&MARK_DEAD, &params)? {
                0 => Err(StoreError::NotFound("pending message")),
                _ => notify_owner(tx, lease, id, &why),
            }
        })
    }
}

/// Notifies the owner that a message became a dead letter and gets no answer.
pub(crate) fn notify_owner(tx: &Tx, lease: Lease, id: InboxId, why: &str) -> Result<()> {
    let Lease { org, conversation, .. } = lease;
    let data = serde_json::json!({"unanswered": id, "conversation": conversation, "why": why});
    let notice = NewNotice {
        id: NoticeId::from_u128(id.as_u128()),
        kind: NoticeKind::DeadLetter,
        recipient: NoticeRecipient::Owner,
        subject: conversation.to_string(),
        data: data.to_string(),
    };
    notices::notify(tx, org, &notice).map(drop)
}

fn list_dead_letters(
    tx: &Tx,
    org: OrgId,
    after: Option<DeadLetterId>,
    limit: u32,
) -> Result<Vec<StoredDeadLetter>> {
    let params = |after: Value, limit: u32| [org.into(), after, limit.into()];
    let (inbox, outbox) = match after {
        None => (Some(InboxId::from_u128(0)), OutboxId::from_u128(0)),
        Some(DeadLetterId::Inbox(id)) => (Some(id), OutboxId::from_u128(0)),
        Some(DeadLetterId::Outbox(id)) => (None, id),
    };
    let mut all = match inbox {
        Some(id) => dead_letters(&tx.query(&LIST_INBOX, &params(id.into(), limit))?, from_inbox)?,
        None => Vec::new(),
    };
    let rest = limit.saturating_sub(u32::try_from(all.len()).unwrap_or(u32::MAX));
    if rest > 0 {
        let rows = tx.query(&LIST_OUTBOX, &params(outbox.into(), rest))?;
        all.extend(dead_letters(&rows, from_outbox)?);
    }
    Ok(all)
}

fn dead_letters(
    rows: &[Row],
    id: fn(&Row) -> Result<DeadLetterId>,
) -> Result<Vec<StoredDeadLetter>> {
    rows.iter().map(|row| dead_letter(row, id(row)?)).collect()
}

fn from_inbox(row: &Row) -> Result<DeadLetterId> {
    row.id(0).map(DeadLetterId::Inbox)
}

fn from_outbox(row: &Row) -> Result<DeadLetterId> {
    row.id(0).map(DeadLetterId::Outbox)
}

fn dead_letter(row: &Row, id: DeadLetterId) -> Result<StoredDeadLetter> {
    Ok(StoredDeadLetter {
        id,
        conversation: row.id(1)?,
        payload: row.text(2)?.to_owned(),
        kind: if row.text(3)? == "unknown" {
            DeadLetterKind::Unknown
        } else {
            DeadLetterKind::Dead
        },
        reason: row.text(4)?.to_owned(),
        attempts: u32::try_from(row.int(5)?).unwrap_or(u32::MAX),
        failed_at: Timestamp::from_millis(row.int(6)?),
    })
}

fn find(tx: &Tx, org: OrgId, id: DeadLetterId) -> Result<StoredDeadLetter> {
    let (sql, value) = match id {
        DeadLetterId::Inbox(id) => (&GET_INBOX, Value::from(id)),
        DeadLetterId::Outbox(id) => (&GET_OUTBOX, Value::from(id)),
    };
    let row = tx.first(sql, &[org.into(), value])?;
    dead_letter(&row.ok_or(StoreError::NotFound("dead letter"))?, id)
}

/// Retries a dead letter, inside a transaction.
pub(crate) fn replay(tx: &Tx, org: OrgId, id: DeadLetterId) -> Result<()> {
    let dead_letter = find(tx, org, id)?;
    let (lock, refused) = match id {
        DeadLetterId::Inbox(_) => (&MAKE_PENDING, StoreError::NotFound("dead letter")),
        DeadLetterId::Outbox(_) => (&LOCK_CONVERSATION, StoreError::TakenOver),
    };
    tx.execute(lock, &[org.into(), dead_letter.conversation.into()])?;
    let replayed = match id {
        DeadLetterId::Inbox(id) => tx.execute(&REPLAY_INBOX, &[org.into(), id.into()])?,
        DeadLetterId::Outbox(id) => {
            let key = [org.into(), Value::from(id)];
            let row = tx.first(&GET_PROGRESS, &key)?;
            let before = outbox::progress(&row.ok_or(StoreError::NotFound("dead letter"))?, 0)?;
            let may_have_arrived =
                before.may_have_arrived || dead_letter.kind == DeadLetterKind::Unknown;
            let progress = SendProgress {
                failed_attempts: 0,
                failing_since: None,
                times_dead: 0,
                may_have_arrived,
                ..before
            };
            let [org, id] = key;
            tx.execute(&REPLAY_OUTBOX, &[org, id, outbox::progress_value(&progress)?])?
        }
    };
    if replayed == 0 { Err(refused) } else { Ok(()) }
}

/// Closes a dead letter, inside a transaction.
pub(crate) fn abandon(tx: &Tx, org: OrgId, id: DeadLetterId, why: &str) -> Result<()> {
    let (sql, value) = match id {
        DeadLetterId::Inbox(id) => (&ABANDON_INBOX, Value::from(id)),
        DeadLetterId::Outbox(id) => (&ABANDON_OUTBOX, Value::from(id)),
    };
    match tx.execute(sql, &[org.into(), value, why.into()])? {
        0 => Err(StoreError::NotFound("dead letter")),
        _ => Ok(()),
    }
}
