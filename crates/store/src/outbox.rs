//! The outbox: what was committed is sent, in order, by whoever is alive.
//!
//! A row is claimed before it is sent. If nobody says what became of it, its
//! outcome is unknown, and that is what a person is told: it may or may not
//! have been sent.

use std::time::Duration;

use ostler_domain::id::{ConversationId, OrgId, OutboxId};
use serde::{Deserialize, Serialize};

use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};
use crate::notices::{NewNotice, Notify};
use crate::sending::{Announced, announce};
use crate::turn::Author;
use crate::{OrgStore, Store};

/// A message that a sender has claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outbound {
    /// The org.
    pub org: OrgId,
    /// The id of its row.
    pub id: OutboxId,
    /// Its conversation.
    pub conversation: ConversationId,
    /// Who wrote it.
    pub author: Author,
    /// The message, as JSON.
    pub payload: String,
    /// How often it was claimed, this time included.
    pub attempts: u32,
    /// How far it is; what is recorded of it next is recorded with this.
    pub progress: SendProgress,
}

/// How far a message is on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SendProgress {
    /// The first piece of it that is not sent.
    pub piece: u32,
    /// How often sending that failed.
    pub tries: u32,
    /// How often the message became a dead letter.
    pub letters: u32,
    /// Whether it goes without formatting.
    pub plain: bool,
    /// Whether that piece may have arrived before.
    pub again: bool,
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// It was sent.
    Sent,
    /// It is tried again after this time.
    RetryAfter(Duration),
    /// It cannot be sent.
    Dead(String),
    /// It cannot be sent now; as a dead letter it is tried again by itself.
    Postponed {
        /// Why.
        why: String,
        /// After this time.
        retry_after: Duration,
    },
    /// It could not be sent for so long that nobody tries any more.
    Abandoned(String),
    /// Nobody knows.
    Unknown(String),
}

/// What is recorded together with what became of a message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Also {
    /// Somebody is told.
    pub notice: Option<NewNotice>,
    /// Where it can be replied to.
    pub announced: Option<Announced>,
}

/// Where a message stands on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutboxState {
    /// It waits.
    Pending,
    /// Somebody is sending it.
    Sending,
    /// It was sent.
    Sent,
    /// It cannot be sent.
    Dead,
    /// Nobody knows whether it was sent.
    Unknown,
    /// A person took over before it was sent.
    Withdrawn,
    /// It could not be sent, and a person laid it aside.
    Abandoned,
}

impl OutboxState {
    const ALL: [Self; 7] = [
        Self::Pending,
        Self::Sending,
        Self::Sent,
        Self::Dead,
        Self::Unknown,
        Self::Withdrawn,
        Self::Abandoned,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Sending => "sending",
            Self::Sent => "sent",
            Self::Dead => "dead",
            Self::Unknown => "unknown",
            Self::Withdrawn => "withdrawn",
            Self::Abandoned => "abandoned",
        }
    }
}

/// What taking over found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silenced {
    /// Agents' messages that were withdrawn before they were sent.
    pub withdrawn: u64,
    /// Agents' messages that somebody is sending right now.
    pub in_flight: Vec<OutboxId>,
}

/// Claims that ended without word from their sender.
const FORGOTTEN: Sql = sql!(
    "UPDATE outbox SET state = 'unknown', reason = 'the sender did not report', due_at = now_ms()
     WHERE state = 'sending' AND claimed_until <= (SELECT now_ms())"
);
/// The first open row of a conversation. An agent's row of an epoch that is
/// over is neither sent nor waited for, unless somebody is sending it.
const CLAIM: Sql = Sql {
    sqlite: "UPDATE outbox
       SET state = 'sending', attempts = attempts + 1, claimed_until = now_ms() + ?1
       WHERE (org, id) = (
         SELECT o.org, o.id FROM outbox o INDEXED BY outbox_due
         JOIN conversations c ON c.org = o.org AND c.id = o.conversation
         WHERE o.state = 'pending' AND o.due_at <= (SELECT now_ms())
           AND (o.author <> 'agent' OR o.epoch = c.epoch)
           AND NOT EXISTS (
             SELECT 1 FROM outbox e INDEXED BY outbox_open
             WHERE e.org = o.org AND e.conversation = o.conversation AND e.seq < o.seq
               AND e.state IN ('pending', 'sending')
               AND (e.state = 'sending' OR e.author <> 'agent' OR e.epoch = c.epoch))
         ORDER BY o.due_at, o.id LIMIT 1)
       RETURNING org, id, conversation, payload, attempts, author, progress",
    postgres: "UPDATE outbox
       SET state = 'sending', attempts = attempts + 1, claimed_until = now_ms() + $1
       WHERE (org, id) = (
         SELECT o.org, o.id FROM outbox o
         JOIN conversations c ON c.org = o.org AND c.id = o.conversation
         WHERE o.state = 'pending' AND o.due_at <= (SELECT now_ms())
           AND (o.author <> 'agent' OR o.epoch = c.epoch)
           AND NOT EXISTS (
             SELECT 1 FROM outbox e
             WHERE e.org = o.org AND e.conversation = o.conversation AND e.seq < o.seq
               AND e.state IN ('pending', 'sending')
               AND (e.state = 'sending' OR e.author <> 'agent' OR e.epoch = c.epoch))
         ORDER BY o.due_at, o.id LIMIT 1
         FOR UPDATE OF o SKIP LOCKED FOR SHARE OF c SKIP LOCKED)
       RETURNING org, id, conversation, payload, attempts, author, progress",
};
/// Only the claim that is meant is answered, and what goes back to the queue
/// after a takeover is withdrawn.
const RECORD: Sql = sql!(
    "UPDATE outbox SET reason = ?4, due_at = now_ms() + ?5, progress = ?7,
       retry_at = now_ms() + ?8, state = CASE
       WHEN ?3 = 'pending' AND author = 'agent' AND epoch <> (
         SELECT c.epoch FROM conversations c
         WHERE c.org = outbox.org AND c.id = outbox.conversation) THEN 'withdrawn'
       ELSE ?3 END
     WHERE org = ?1 AND id = ?2 AND attempts = ?6
       AND (state = 'sending' OR (state = 'unknown' AND ?3 <> 'pending'))"
);
const RAISE: Sql = sql!("UPDATE conversations SET epoch = epoch + 1 WHERE org = ?1 AND id = ?2");
const WITHDRAW: Sql = sql!(
    "UPDATE outbox SET state = 'withdrawn', reason = 'a person took over', due_at = now_ms()
     WHERE org = ?1 AND conversation = ?2 AND state IN ('pending', 'sending')
       AND state = 'pending' AND author = 'agent'"
);
const IN_FLIGHT: Sql = sql!(
    "SELECT id FROM outbox
     WHERE org = ?1 AND conversation = ?2 AND state IN ('pending', 'sending')
       AND state = 'sending' AND author = 'agent' ORDER BY seq"
);
const STATE: Sql = sql!("SELECT state FROM outbox WHERE org = ?1 AND id = ?2");

impl Store {
    /// Claims the next message that is due. Messages of one conversation go out
    /// in order; one that is dead or unknown does not hold the others up.
    pub async fn claim_outbox(&self, sending: Duration) -> Result<Option<Outbound>> {
        self.write(Claim(sending)).await
    }

    /// Finds messages whose sender never reported, and says how many there are;
    /// their outcome is unknown from now on.
    pub async fn sweep_outbox(&self) -> Result<u64> {
        self.write(Sweep).await
    }
}

impl OrgStore<'_> {
    /// Records what became of a message that was claimed. A late word counts
    /// while nobody else has claimed it, but nothing unknown is simply repeated.
    pub async fn record_delivery(&self, claimed: &Outbound, delivery: Delivery) -> Result<()> {
        self.record_delivery_and(claimed, delivery, Also::default()).await
    }

    /// The same, and what goes with it: both are recorded, or neither is.
    pub async fn record_delivery_and(
        &self,
        claimed: &Outbound,
        delivery: Delivery,
        also: Also,
    ) -> Result<()> {
        if claimed.org != self.org {
            return Err(StoreError::NotFound("message that is being sent"));
        }
        self.store.write(Record { claimed: claimed.clone(), delivery, also }).await
    }

    /// Silences the agents of a conversation: from this commit on no agent's
    /// message is claimed any more.
    pub async fn silence_agents(&self, conversation: ConversationId) -> Result<Silenced> {
        self.store.write(Silence(self.org, conversation)).await
    }

    /// Where a message stands.
    pub async fn outbox_state(&self, id: OutboxId) -> Result<OutboxState> {
        self.store.read(State(self.org, id)).await
    }
}

struct Claim(Duration);

impl Operation for Claim {
    type Output = Option<Outbound>;

    fn scope(&self) -> Scope {
        Scope::All
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Option<Outbound>> {
        let Some(row) = tx.first(&CLAIM, &[self.0.into()]).await? else {
            return Ok(None);
        };
        Ok(Some(Outbound {
            org: row.id(0)?,
            id: row.id(1)?,
            conversation: row.id(2)?,
            payload: row.text(3)?.to_owned(),
            attempts: u32::try_from(row.int(4)?).unwrap_or(u32::MAX),
            author: author(row.text(5)?)?,
            progress: progress(&row, 6)?,
        }))
    }
}

struct Sweep;

impl Operation for Sweep {
    type Output = u64;

    fn scope(&self) -> Scope {
        Scope::All
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<u64> {
        tx.execute(&FORGOTTEN, &[]).await
    }
}

fn author(name: &str) -> Result<Author> {
    Author::ALL.into_iter().find(|author| author.name() == name).ok_or_else(|| {
        StoreError::Unreadable { what: "author", why: format!("`{name}` is not known") }
    })
}

/// How far a message is; nothing is written down of one that was never tried.
pub(crate) fn progress(row: &Row, column: usize) -> Result<SendProgress> {
    match row.value(column)? {
        Value::Null => Ok(SendProgress::default()),
        _ => row.json(column, "progress of a message"),
    }
}

/// The form in which that is stored: nearly all messages go out at once, and
/// need none.
pub(crate) fn written(progress: &SendProgress) -> Result<Value> {
    match *progress == SendProgress::default() {
        true => Ok(Value::Null),
        false => Value::json(progress),
    }
}

struct Record {
    claimed: Outbound,
    delivery: Delivery,
    also: Also,
}

impl Operation for Record {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.claimed.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let Outbound { org, id, conversation, attempts, progress, .. } = &self.claimed;
        let now = Duration::ZERO;
        let (state, reason, wait, retry) = match &self.delivery {
            Delivery::Sent => (OutboxState::Sent, None, now, None),
            Delivery::RetryAfter(wait) => (OutboxState::Pending, None, *wait, None),
            Delivery::Dead(why) => (OutboxState::Dead, Some(why.as_str()), now, None),
            Delivery::Postponed { why, retry_after } => {
                (OutboxState::Dead, Some(why.as_str()), now, Some(*retry_after))
            }
            Delivery::Abandoned(why) => (OutboxState::Abandoned, Some(why.as_str()), now, None),
            Delivery::Unknown(why) => (OutboxState::Unknown, Some(why.as_str()), now, None),
        };
        let params = [
            (*org).into(),
            (*id).into(),
            state.name().into(),
            reason.into(),
            wait.into(),
            (*attempts).into(),
            written(progress)?,
            retry.map_or(Value::Null, Value::from),
        ];
        if tx.execute(&RECORD, &params).await? == 0 {
            return Err(StoreError::NotFound("message that is being sent"));
        }
        if let Some(announced) = &self.also.announced {
            announce(tx, *org, *conversation, announced).await?;
        }
        if let Some(notice) = &self.also.notice {
            Notify(*org, notice.clone()).run(tx).await?;
        }
        Ok(())
    }
}

pub(crate) struct Silence(pub(crate) OrgId, pub(crate) ConversationId);

impl Operation for Silence {
    type Output = Silenced;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Silenced> {
        let place = [Value::from(self.0), self.1.into()];
        if tx.execute(&RAISE, &place).await? == 0 {
            return Err(StoreError::NotFound("conversation"));
        }
        let withdrawn = tx.execute(&WITHDRAW, &place).await?;
        let rows = tx.query(&IN_FLIGHT, &place).await?;
        let in_flight = rows.iter().map(|row| row.id(0)).collect::<Result<_>>()?;
        Ok(Silenced { withdrawn, in_flight })
    }
}

struct State(OrgId, OutboxId);

impl Operation for State {
    type Output = OutboxState;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<OutboxState> {
        let row = tx.first(&STATE, &[self.0.into(), self.1.into()]).await?;
        let row = row.ok_or(StoreError::NotFound("message"))?;
        let name = row.text(0)?;
        OutboxState::ALL.into_iter().find(|state| state.name() == name).ok_or_else(|| {
            StoreError::Unreadable { what: "outbox state", why: format!("`{name}` is not known") }
        })
    }
}
