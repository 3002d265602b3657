//! Claiming: which conversation a worker gets next, and what waits in it.
//!
//! It is fair among orgs and in order within a conversation. What was tried too
//! often is given up here; the right to what was claimed is a [`Lease`].

use std::time::Duration;

use ostler_domain::id::{ConversationId, InboxId, OrgId};
use ostler_domain::session::key::ConversationKey;
use ostler_domain::time::Timestamp;

use crate::Store;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Statement, Tx};
use crate::error::Result;
use crate::lease::{Lease, SETTLE, check_fence};
use crate::sessions::{self, Beginning};

/// How conversations are claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimPolicy {
    /// How long a worker has a conversation without renewing.
    pub lease: Duration,
    /// The most conversations of one org that are worked on at once.
    pub per_org: u32,
    /// After so many tries a message is a dead letter.
    pub max_attempts: u32,
    /// The newest version of a turn's stored state that this program
    /// understands; what is newer is left to a newer program.
    pub understands: u32,
}

/// A conversation and what waits in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// The right to it.
    pub lease: Lease,
    /// Its key.
    pub key: ConversationKey,
    /// Its messages, oldest first; at least one.
    pub messages: Vec<Waiting>,
}

/// A message that waits for its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The id of its row.
    pub id: InboxId,
    /// The message, as JSON.
    pub payload: String,
    /// How often it was tried, this time included.
    pub attempts: u32,
    /// When it was accepted.
    pub received_at: Timestamp,
}

/// Orgs in which something is due, those with the least work first. The orgs
/// are found by jumping along the index from one to the next, so that a flooded
/// one costs no more than another.
const ORGS: Sql = sql!(
    "WITH RECURSIVE due (org) AS (
       SELECT (SELECT c.org FROM conversations c
               WHERE c.pending_at <= (SELECT now_ms()) ORDER BY c.org LIMIT 1)
       UNION ALL
       SELECT (SELECT c.org FROM conversations c
               WHERE c.pending_at <= (SELECT now_ms()) AND c.org > due.org
               ORDER BY c.org LIMIT 1)
       FROM due WHERE due.org IS NOT NULL),
     loaded (org, active) AS (
       SELECT due.org, (SELECT count(*) FROM conversations l
                        WHERE l.org = due.org AND l.lease_until > 0
                          AND l.lease_until > (SELECT now_ms()))
       FROM due WHERE due.org IS NOT NULL)
     SELECT org, active FROM loaded WHERE active < ?1 ORDER BY active, random() LIMIT ?2"
);
const TAKE: Sql = Sql {
    sqlite: "UPDATE conversations
       SET lease_token = lease_token + 1, lease_until = now_ms() + ?2,
           pending_at = now_ms() + ?2
       WHERE org = ?1 AND id = (
         SELECT id FROM conversations WHERE org = ?1 AND pending_at <= (SELECT now_ms())
         ORDER BY pending_at, id LIMIT 1)
       RETURNING id, lease_token, epoch, key,
         coalesce((SELECT k.version FROM checkpoints k
                   WHERE k.org = conversations.org AND k.conversation = conversations.id), 0)",
    postgres: "UPDATE conversations
       SET lease_token = lease_token + 1, lease_until = now_ms() + $2,
           pending_at = now_ms() + $2
       WHERE org = $1 AND id = (
         SELECT id FROM conversations WHERE org = $1 AND pending_at <= (SELECT now_ms())
         ORDER BY pending_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
       RETURNING id, lease_token, epoch, key,
         coalesce((SELECT k.version FROM checkpoints k
                   WHERE k.org = conversations.org AND k.conversation = conversations.id), 0)",
};
/// A conversation that this program cannot read is left to a newer one: put
/// aside long enough that it is in nobody's way, and not so long that whoever
/// waits in it would notice that programs of two versions are running.
const PARK: Sql = sql!(
    "UPDATE conversations SET lease_until = 0, pending_at = now_ms() + 5000
     WHERE org = ?1 AND id = ?2"
);
const GIVE_UP: Sql = Sql {
    sqlite: "UPDATE inbox INDEXED BY inbox_pending
       SET state = 'dead', reason = 'too many attempts', due_at = now_ms()
       WHERE org = ?1 AND conversation = ?2 AND state = 'pending' AND attempts >= ?3",
    postgres: "UPDATE inbox
       SET state = 'dead', reason = 'too many attempts', due_at = now_ms()
       WHERE org = $1 AND conversation = $2 AND state = 'pending' AND attempts >= $3",
};
/// What waits, in order, and whether it is due: what comes after a message that
/// waits for its next try waits with it.
const WAITING: Sql = Sql {
    sqlite: "SELECT id, payload, attempts, received_at,
         CASE WHEN due_at <= (SELECT now_ms()) THEN 1 ELSE 0 END
       FROM inbox INDEXED BY inbox_pending
       WHERE org = ?1 AND conversation = ?2 AND state = 'pending' ORDER BY seq LIMIT ?3",
    postgres: "SELECT id, payload, attempts, received_at,
         CASE WHEN due_at <= (SELECT now_ms()) THEN 1 ELSE 0 END
       FROM inbox
       WHERE org = $1 AND conversation = $2 AND state = 'pending' ORDER BY seq LIMIT $3",
};
const TRY: Sql = sql!("UPDATE inbox SET attempts = attempts + 1 WHERE org = ?1 AND id = ?2");

/// How many orgs a worker looks at.
const ORGS_AT_ONCE: usize = 16;
/// The most messages that one turn answers together.
const TOGETHER: u32 = 50;

impl Store {
    /// Claims a conversation in which something is due: fairly among orgs, the
    /// longest waiting first within one. Counts the attempt in its own commit,
    /// and makes dead letters of messages that were tried too often. The cap of
    /// an org may be passed by as many workers as claim at the same moment.
    pub async fn claim_conversation(&self, policy: ClaimPolicy) -> Result<Option<Claimed>> {
        self.write(Claim(policy)).await
    }

    /// Claims up to so many conversations like
    /// [`claim_conversation`](Self::claim_conversation), for workers that look for
    /// one at the same time, and reads what their turns begin with, so many of
    /// their last messages among it.
    pub async fn claim_and_begin(
        &self,
        policy: ClaimPolicy,
        most: usize,
        history: u32,
    ) -> Result<Vec<(Claimed, Beginning)>> {
        self.write(ClaimAndBegin { policy, most, history }).await
    }

    /// What has come into a conversation that the worker kept. Empty means that
    /// there is nothing to do and that it can be released.
    pub async fn more_messages(&self, lease: Lease, policy: ClaimPolicy) -> Result<Vec<Waiting>> {
        self.write(More(lease, policy)).await
    }
}

struct Claim(ClaimPolicy);

impl Operation for Claim {
    type Output = Option<Claimed>;

    fn scope(&self) -> Scope {
        Scope::All
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Option<Claimed>> {
        Ok(claim(tx, self.0, 1).await?.pop())
    }
}

struct ClaimAndBegin {
    policy: ClaimPolicy,
    most: usize,
    history: u32,
}

impl Operation for ClaimAndBegin {
    type Output = Vec<(Claimed, Beginning)>;

    fn scope(&self) -> Scope {
        Scope::All
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Self::Output> {
        let mut begun = Vec::new();
        for claimed in claim(tx, self.policy, self.most).await? {
            let Lease { org, conversation, .. } = claimed.lease;
            begun.push((claimed, sessions::begin(tx, org, conversation, self.history).await?));
        }
        Ok(begun)
    }
}

/// Takes one conversation of each org in turn, until there are so many.
async fn claim<T: Tx>(tx: &T, policy: ClaimPolicy, most: usize) -> Result<Vec<Claimed>> {
    let (cap, orgs) = (i64::from(policy.per_org), most.max(ORGS_AT_ONCE) as i64);
    let mut loaded = Vec::new();
    for row in tx.query(&ORGS, &[cap.into(), orgs.into()]).await? {
        loaded.push((row.id(0)?, row.int(1)?));
    }
    let mut claimed = Vec::new();
    while !loaded.is_empty() {
        let mut again = Vec::new();
        for (org, active) in loaded {
            if claimed.len() == most {
                return Ok(claimed);
            }
            if let Some(one) = claim_in(tx, policy, org).await? {
                claimed.push(one);
                again.extend((active + 1 < cap).then_some((org, active + 1)));
            }
        }
        loaded = again;
    }
    Ok(claimed)
}

/// Takes the conversation of an org that has waited longest.
async fn claim_in<T: Tx>(tx: &T, policy: ClaimPolicy, org: OrgId) -> Result<Option<Claimed>> {
    while let Some(row) = tx.first(&TAKE, &[org.into(), policy.lease.into()]).await? {
        if let Some(claimed) = taken(tx, policy, org, &row).await? {
            return Ok(Some(claimed));
        }
    }
    Ok(None)
}

/// What waits in a conversation that was taken; nothing if all of it is dead, or
/// if a newer program must read it.
async fn taken<T: Tx>(
    tx: &T,
    policy: ClaimPolicy,
    org: OrgId,
    row: &Row,
) -> Result<Option<Claimed>> {
    let conversation: ConversationId = row.id(0)?;
    let place = [Value::from(org), conversation.into()];
    let understood = row.int(4)? <= i64::from(policy.understands);
    let key = ConversationKey::read(org, row.text(3)?).filter(|_| understood);
    let Some(key) = key else {
        tx.execute(&PARK, &place).await?;
        return Ok(None);
    };
    let messages = try_messages(tx, org, conversation, policy.max_attempts).await?;
    if messages.is_empty() {
        tx.execute(&SETTLE, &place).await?;
        return Ok(None);
    }
    let lease = Lease { org, conversation, token: row.int(1)?, epoch: row.int(2)? };
    Ok(Some(Claimed { lease, key, messages }))
}

/// Gives up on messages that had their attempts, and counts one on those that
/// are handed out: all that wait, but one that was tried before comes alone, so
/// that it takes no other down with it.
async fn try_messages<T: Tx>(
    tx: &T,
    org: OrgId,
    conversation: ConversationId,
    max_attempts: u32,
) -> Result<Vec<Waiting>> {
    let [org, conversation] = [Value::from(org), conversation.into()];
    let place = [org.clone(), conversation.clone(), TOGETHER.into()];
    let mut rows = tx.query(&WAITING, &place).await?;
    if rows.iter().any(|row| row.int(2).is_ok_and(|tried| tried >= i64::from(max_attempts))) {
        tx.execute(&GIVE_UP, &[org.clone(), conversation, max_attempts.into()]).await?;
        rows = tx.query(&WAITING, &place).await?;
    }
    let rows = rows.iter().take_while(|row| row.int(4).is_ok_and(|due| due == 1));
    let mut due = rows.map(waiting).collect::<Result<Vec<Waiting>>>()?;
    let fresh = due.iter().take_while(|message| message.attempts == 0).count();
    due.truncate(fresh.max(1));
    for message in &mut due {
        message.attempts += 1;
    }
    let tries: Vec<Statement> = due
        .iter()
        .map(|message| Statement {
            sql: &TRY,
            params: vec![org.clone(), message.id.into()],
            must: None,
        })
        .collect();
    tx.batch(&tries).await?;
    Ok(due)
}

struct More(Lease, ClaimPolicy);

impl Operation for More {
    type Output = Vec<Waiting>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<Waiting>> {
        let Self(lease, policy) = *self;
        check_fence(tx, lease).await?;
        try_messages(tx, lease.org, lease.conversation, policy.max_attempts).await
    }
}

fn waiting(row: &Row) -> Result<Waiting> {
    Ok(Waiting {
        id: row.id(0)?,
        payload: row.text(1)?.to_owned(),
        attempts: u32::try_from(row.int(2)?).unwrap_or(u32::MAX),
        received_at: Timestamp::from_millis(row.int(3)?),
    })
}
