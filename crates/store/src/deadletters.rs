//! Dead letters: messages that nobody tries any more, and messages of which
//! nobody knows whether they were sent. They wait here for a person.

use ostler_domain::id::{ConversationId, InboxId, OrgId, OutboxId};
use ostler_domain::time::Timestamp;

use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};
use crate::lease::{Lease, check_fence};
use crate::outbox::{self, SendProgress};
use crate::{OrgStore, Store};

/// Which message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LetterId {
    /// One that was accepted and not answered.
    Inbox(InboxId),
    /// One that was to be sent.
    Outbox(OutboxId),
}

/// What is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is not tried any more.
    Dead,
    /// It may or may not have been sent.
    Unknown,
}

/// A message that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// Which one.
    pub id: LetterId,
    /// Its conversation.
    pub conversation: ConversationId,
    /// The message, as JSON.
    pub payload: String,
    /// What is wrong with it.
    pub fault: Fault,
    /// Why.
    pub reason: String,
    /// How often it was tried.
    pub attempts: u32,
    /// Since when.
    pub at: Timestamp,
}

const INBOX: Sql = Sql {
    sqlite: "SELECT id, conversation, payload, state, coalesce(reason, ''), attempts, due_at
       FROM inbox INDEXED BY inbox_dead
       WHERE org = ?1 AND state = 'dead' AND id > ?2 ORDER BY id LIMIT ?3",
    postgres: "SELECT id, conversation, payload, state, coalesce(reason, ''), attempts, due_at
       FROM inbox WHERE org = $1 AND state = 'dead' AND id > $2 ORDER BY id LIMIT $3",
};
const OUTBOX: Sql = Sql {
    sqlite: "SELECT id, conversation, payload, state, coalesce(reason, ''), attempts, due_at
       FROM outbox INDEXED BY outbox_aside
       WHERE org = ?1 AND state IN ('dead', 'unknown') AND id > ?2 ORDER BY id LIMIT ?3",
    postgres: "SELECT id, conversation, payload, state, coalesce(reason, ''), attempts, due_at
       FROM outbox
       WHERE org = $1 AND state IN ('dead', 'unknown') AND id > $2 ORDER BY id LIMIT $3",
};
const ONE_INBOX: Sql = sql!(
    "SELECT id, conversation, payload, state, coalesce(reason, ''), attempts, due_at
     FROM inbox WHERE org = ?1 AND id = ?2 AND state = 'dead'"
);
const ONE_OUTBOX: Sql = sql!(
    "SELECT id, conversation, payload, state, coalesce(reason, ''), attempts, due_at
     FROM outbox WHERE org = ?1 AND id = ?2 AND state IN ('dead', 'unknown')"
);
/// Rings as an accepted message does, and holds the conversation's row: no turn
/// that commits meanwhile passes the message by.
const RING: Sql = sql!(
    "UPDATE conversations SET pending_at = CASE
       WHEN lease_until > now_ms() THEN lease_until
       WHEN pending_at < now_ms() THEN pending_at
       ELSE now_ms() END
     WHERE org = ?1 AND id = ?2"
);
/// Its number is its old one, so it comes before all that came after it.
const AGAIN: Sql = sql!(
    "UPDATE inbox SET state = 'pending', attempts = 0, reason = NULL, due_at = now_ms()
     WHERE org = ?1 AND id = ?2 AND state = 'dead'"
);
/// Holds the conversation's row, so that nobody takes over meanwhile.
pub(crate) const HOLD: Sql =
    sql!("UPDATE conversations SET epoch = epoch WHERE org = ?1 AND id = ?2");
const PROGRESS: Sql =
    sql!("SELECT progress FROM outbox WHERE org = ?1 AND id = ?2 AND state IN ('dead', 'unknown')");
/// Attempts go on counting: they tell a late word of an earlier sender from the
/// word of the next one.
const RESEND: Sql = sql!(
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
const BURY: Sql = sql!(
    "UPDATE inbox SET state = 'dead', reason = ?4, due_at = now_ms()
     WHERE org = ?1 AND id = ?2 AND conversation = ?3 AND state = 'pending'"
);

impl OrgStore<'_> {
    /// The dead letters after one of them: those of the inbox, then those of
    /// the outbox, each in the order of their ids.
    pub async fn dead_letters(
        &self,
        after: Option<LetterId>,
        most: u32,
    ) -> Result<Vec<DeadLetter>> {
        self.store.read(List(self.org, after, most)).await
    }

    /// One dead letter.
    pub async fn dead_letter(&self, id: LetterId) -> Result<DeadLetter> {
        self.store.read(Get(self.org, id)).await
    }

    /// Tries a dead letter again, because a person says so. A message that was
    /// accepted is answered as if it had never been tried. One that was to be
    /// sent goes out next in its conversation, from the first piece on that was
    /// not sent, unless it is an agent's and a person has taken over since. If
    /// nobody knows whether it was sent, it may arrive twice, and is marked.
    pub async fn replay_dead_letter(&self, id: LetterId) -> Result<()> {
        self.store.write(Replay(self.org, id)).await
    }

    /// Lays a dead letter aside for good.
    pub async fn abandon_dead_letter(&self, id: LetterId, why: &str) -> Result<()> {
        self.store.write(Abandon(self.org, id, why.to_owned())).await
    }
}

impl Store {
    /// Makes a dead letter of a message that waits, because trying again would
    /// not help.
    pub async fn make_dead_letter(&self, lease: Lease, id: InboxId, why: &str) -> Result<()> {
        self.write(Bury(lease, id, why.to_owned())).await
    }
}

struct List(OrgId, Option<LetterId>, u32);

impl Operation for List {
    type Output = Vec<DeadLetter>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<DeadLetter>> {
        let Self(org, after, most) = *self;
        let params = |after: Value, most: u32| [org.into(), after, most.into()];
        let (inbox, outbox) = match after {
            None => (Some(InboxId::from_u128(0)), OutboxId::from_u128(0)),
            Some(LetterId::Inbox(id)) => (Some(id), OutboxId::from_u128(0)),
            Some(LetterId::Outbox(id)) => (None, id),
        };
        let mut all = match inbox {
            Some(id) => letters(&tx.query(&INBOX, &params(id.into(), most)).await?, from_inbox)?,
            None => Vec::new(),
        };
        let room = most.saturating_sub(u32::try_from(all.len()).unwrap_or(u32::MAX));
        if room > 0 {
            let rows = tx.query(&OUTBOX, &params(outbox.into(), room)).await?;
            all.extend(letters(&rows, from_outbox)?);
        }
        Ok(all)
    }
}

fn letters(rows: &[Row], id: fn(&Row) -> Result<LetterId>) -> Result<Vec<DeadLetter>> {
    rows.iter().map(|row| letter(row, id(row)?)).collect()
}

fn from_inbox(row: &Row) -> Result<LetterId> {
    row.id(0).map(LetterId::Inbox)
}

fn from_outbox(row: &Row) -> Result<LetterId> {
    row.id(0).map(LetterId::Outbox)
}

fn letter(row: &Row, id: LetterId) -> Result<DeadLetter> {
    Ok(DeadLetter {
        id,
        conversation: row.id(1)?,
        payload: row.text(2)?.to_owned(),
        fault: if row.text(3)? == "unknown" { Fault::Unknown } else { Fault::Dead },
        reason: row.text(4)?.to_owned(),
        attempts: u32::try_from(row.int(5)?).unwrap_or(u32::MAX),
        at: Timestamp::from_millis(row.int(6)?),
    })
}

async fn find<T: Tx>(tx: &T, org: OrgId, id: LetterId) -> Result<DeadLetter> {
    let (sql, value) = match id {
        LetterId::Inbox(id) => (&ONE_INBOX, Value::from(id)),
        LetterId::Outbox(id) => (&ONE_OUTBOX, Value::from(id)),
    };
    let row = tx.first(sql, &[org.into(), value]).await?;
    letter(&row.ok_or(StoreError::NotFound("dead letter"))?, id)
}

struct Get(OrgId, LetterId);

impl Operation for Get {
    type Output = DeadLetter;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<DeadLetter> {
        find(tx, self.0, self.1).await
    }
}

pub(crate) struct Replay(pub(crate) OrgId, pub(crate) LetterId);

impl Operation for Replay {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let Self(org, id) = *self;
        let letter = find(tx, org, id).await?;
        let (hold, refused) = match id {
            LetterId::Inbox(_) => (&RING, StoreError::NotFound("dead letter")),
            LetterId::Outbox(_) => (&HOLD, StoreError::TakenOver),
        };
        tx.execute(hold, &[org.into(), letter.conversation.into()]).await?;
        let replayed = match id {
            LetterId::Inbox(id) => tx.execute(&AGAIN, &[org.into(), id.into()]).await?,
            LetterId::Outbox(id) => {
                let place = [org.into(), Value::from(id)];
                let row = tx.first(&PROGRESS, &place).await?;
                let before = outbox::progress(&row.ok_or(StoreError::NotFound("dead letter"))?, 0)?;
                let again = before.again || letter.fault == Fault::Unknown;
                let anew = SendProgress { tries: 0, letters: 0, again, ..before };
                let [org, id] = place;
                tx.execute(&RESEND, &[org, id, outbox::written(&anew)?]).await?
            }
        };
        if replayed == 0 { Err(refused) } else { Ok(()) }
    }
}

pub(crate) struct Abandon(pub(crate) OrgId, pub(crate) LetterId, pub(crate) String);

impl Operation for Abandon {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let (sql, value) = match self.1 {
            LetterId::Inbox(id) => (&ABANDON_INBOX, Value::from(id)),
            LetterId::Outbox(id) => (&ABANDON_OUTBOX, Value::from(id)),
        };
        match tx.execute(sql, &[self.0.into(), value, self.2.as_str().into()]).await? {
            0 => Err(StoreError::NotFound("dead letter")),
            _ => Ok(()),
        }
    }
}

struct Bury(Lease, InboxId, String);

impl Operation for Bury {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let Self(lease, id, why) = self;
        check_fence(tx, *lease).await?;
        let params =
            [lease.org.into(), (*id).into(), lease.conversation.into(), why.as_str().into()];
        match tx.execute(&BURY, &params).await? {
            0 => Err(StoreError::NotFound("waiting message")),
            _ => Ok(()),
        }
    }
}
