//! Claiming: which conversation a worker gets next, with its pending messages.
//!
//! Fair among orgs, and in order within a conversation. Messages that were tried too
//! often become dead letters here. A claim is a [`Lease`].
//!
//! The limit of conversations per org may be exceeded by as many workers as claim at
//! the same moment; a strict limit would make them queue for the org's row.

use std::time::Duration;

use ostler_domain::id::{ConversationId, InboxId, OrgId};
use ostler_domain::session::key::ConversationKey;
use ostler_domain::time::Timestamp;

use crate::Store;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Statement, Tx};
use crate::conversation::lease::{Lease, RELEASE, check_fence};
use crate::conversation::sessions::{self, TurnStart};
use crate::delivery::dead_letters;
use crate::error::Result;
use crate::round_robin::round_robin;

/// The limits of claiming.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimPolicy {
    /// How long a lease lasts without renewal.
    pub lease: Duration,
    /// The limit of conversations of one org that are leased at the same time.
    pub max_per_org: u32,
    /// The number of attempts after which a message becomes a dead letter.
    pub max_attempts: u32,
    /// The newest checkpoint version that this program can read; conversations with
    /// a newer one are left to a newer program.
    pub max_checkpoint_version: u32,
}

/// A claimed conversation with its pending messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedConversation {
    pub lease: Lease,
    pub key: ConversationKey,
    /// Oldest first; at least one.
    pub messages: Vec<PendingMessage>,
}

/// An accepted message that is not answered yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingMessage {
    pub id: InboxId,
    /// JSON.
    pub payload: String,
    /// The number of attempts, including this one.
    pub attempts: u32,
    pub received_at: Timestamp,
}

/// Orgs with due conversations, those with the fewest leases first. The query skips
/// along the index from one org to the next, so that a flooded org costs no more
/// than another.
const DUE_ORGS: Sql = sql!(
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
/// The due conversations of an org, the longest waiting first. A lease that has expired is due,
/// because `pending_at` of a leased conversation is the end of its lease.
const DUE_CONVERSATIONS: Sql = Sql {
    sqlite: "SELECT c.id, c.lease_token, c.epoch, c.key,
         coalesce((SELECT k.version FROM checkpoints k
                   WHERE k.org = c.org AND k.conversation = c.id), 0)
       FROM conversations c WHERE c.org = ?1 AND c.pending_at <= (SELECT now_ms())
       ORDER BY c.pending_at, c.id LIMIT ?2",
    postgres: "SELECT c.id, c.lease_token, c.epoch, c.key,
         coalesce((SELECT k.version FROM checkpoints k
                   WHERE k.org = c.org AND k.conversation = c.id), 0)
       FROM conversations c WHERE c.org = $1 AND c.pending_at <= (SELECT now_ms())
       ORDER BY c.pending_at, c.id LIMIT $2 FOR UPDATE OF c SKIP LOCKED",
};
/// Takes the lease. The conversation is due again when the lease expires: if its holder has
/// died by then, another worker takes the expired lease over, and the token of the old one is
/// stale.
const LEASE: Sql = sql!(
    "UPDATE conversations SET lease_token = lease_token + 1, lease_until = now_ms() + ?3,
       pending_at = now_ms() + ?3
     WHERE org = ?1 AND id = ?2"
);
/// Postpones a conversation that only a newer program can read: long enough to be out
/// of the way, and short enough that the customer does not notice.
const POSTPONE: Sql = sql!(
    "UPDATE conversations SET lease_until = 0, pending_at = now_ms() + 5000
     WHERE org = ?1 AND id = ?2"
);
const MARK_DEAD: Sql = Sql {
    sqlite: "UPDATE inbox INDEXED BY inbox_pending
       SET state = 'dead', reason = 'too many attempts', due_at = now_ms()
       WHERE org = ?1 AND conversation = ?2 AND state = 'pending' AND attempts >= ?3
       RETURNING id",
    postgres: "UPDATE inbox
       SET state = 'dead', reason = 'too many attempts', due_at = now_ms()
       WHERE org = $1 AND conversation = $2 AND state = 'pending' AND attempts >= $3
       RETURNING id",
};
/// Pending messages in order, and whether each is due. Messages behind one that waits
/// for its next attempt wait too.
const PENDING: Sql = Sql {
    sqlite: "SELECT id, payload, attempts, received_at,
         CASE WHEN due_at <= (SELECT now_ms()) THEN 1 ELSE 0 END
       FROM inbox INDEXED BY inbox_pending
       WHERE org = ?1 AND conversation = ?2 AND state = 'pending' ORDER BY seq LIMIT ?3",
    postgres: "SELECT id, payload, attempts, received_at,
         CASE WHEN due_at <= (SELECT now_ms()) THEN 1 ELSE 0 END
       FROM inbox
       WHERE org = $1 AND conversation = $2 AND state = 'pending' ORDER BY seq LIMIT $3",
};
const COUNT_ATTEMPT: Sql =
    sql!("UPDATE inbox SET attempts = attempts + 1 WHERE org = ?1 AND id = ?2");

/// The reason of [`MARK_DEAD`].
const TOO_MANY_ATTEMPTS: &str = "too many attempts";
/// How many orgs a claim considers.
const MAX_ORGS: usize = 16;
/// How many messages one turn may answer.
const MAX_MESSAGES: u32 = 50;

impl Store {
    /// Claims a due conversation: fairly among orgs, and the longest waiting first
    /// within an org. Counts the attempt, and makes dead letters of messages that were
    /// tried too often. The limit of an org may be exceeded by workers that claim at
    /// the same moment.
    pub fn claim_conversation(
        &self,
        policy: ClaimPolicy,
    ) -> StoreFuture<Option<ClaimedConversation>> {
        self.lease_all_orgs(move |tx| Ok(claim(tx, policy, 1)?.pop()))
    }

    /// Claims up to `limit` conversations like
    /// [`claim_conversation`](Self::claim_conversation), for workers that claim at the
    /// same time, and reads what their turns start from.
    pub fn claim_turns(
        &self,
        policy: ClaimPolicy,
        limit: usize,
    ) -> StoreFuture<Vec<(ClaimedConversation, TurnStart)>> {
        self.lease_all_orgs(move |tx| {
            let claimed = claim(tx, policy, limit)?;
            let leases = claimed.iter().map(|claimed| claimed.lease);
            let conversations: Vec<_> =
                leases.map(|lease| (lease.org, lease.conversation)).collect();
            let starts = sessions::turn_starts(tx, &conversations)?;
            Ok(claimed.into_iter().zip(starts).collect())
        })
    }

    /// Returns the messages that have come into a conversation whose lease the worker
    /// kept, and counts an attempt. If there is none, the lease can be released.
    pub fn claim_more_messages(
        &self,
        lease: Lease,
        policy: ClaimPolicy,
    ) -> StoreFuture<Vec<PendingMessage>> {
        self.org(lease.org).write(move |tx| {
            check_fence(tx, lease)?;
            let rows = tx.query(&PENDING, &pending_params(lease))?;
            let due = due_messages(tx, lease, policy.max_attempts, rows)?;
            tx.batch(&count_attempts(lease.org, &due).collect::<Vec<_>>())?;
            Ok(due)
        })
    }
}

/// A leased conversation whose pending messages are not read yet.
struct LeasedConversation {
    lease: Lease,
    key: ConversationKey,
}

/// Claims up to `limit` conversations; tries others if nothing is left to answer in
/// the first ones.
fn claim(tx: &Tx, policy: ClaimPolicy, limit: usize) -> Result<Vec<ClaimedConversation>> {
    loop {
        let due = find_due(tx, policy, limit)?;
        if due.is_empty() {
            return Ok(Vec::new());
        }
        let leased = lease_all(tx, policy, due)?;
        let claimed = read_pending(tx, policy, leased)?;
        if !claimed.is_empty() {
            return Ok(claimed);
        }
    }
}

/// Finds due conversations: the same number of each org, as far as it has them and
/// its limit allows.
fn find_due(tx: &Tx, policy: ClaimPolicy, limit: usize) -> Result<Vec<(OrgId, Row)>> {
    let (max_per_org, max_orgs) = (i64::from(policy.max_per_org), limit.max(MAX_ORGS) as i64);
    let mut quotas: Vec<(OrgId, i64)> = Vec::new();
    for row in tx.query(&DUE_ORGS, &[max_per_org.into(), max_orgs.into()])? {
        quotas.push((row.id(0)?, max_per_org - row.int(1)?));
    }
    // No more orgs than needed, and no more of each than its share: other workers
    // cannot claim the rows that are read here.
    for chunk in quotas.chunks(limit.max(1)) {
        let share = limit.div_ceil(chunk.len()) as i64;
        let params: Vec<Vec<Value>> = chunk
            .iter()
            .map(|(org, quota)| vec![(*org).into(), share.min(*quota).into()])
            .collect();
        let found = tx.query_each(&DUE_CONVERSATIONS, &params)?;
        let due = round_robin(chunk.iter().map(|(org, _)| *org).zip(found), limit);
        if !due.is_empty() {
            return Ok(due);
        }
    }
    Ok(Vec::new())
}

/// Leases conversations, and postpones those that only a newer program can read.
fn lease_all(
    tx: &Tx,
    policy: ClaimPolicy,
    due: Vec<(OrgId, Row)>,
) -> Result<Vec<LeasedConversation>> {
    let (mut leased, mut statements) = (Vec::new(), Vec::new());
    for (org, row) in due {
        let conversation: ConversationId = row.id(0)?;
        let checkpoint_version = row.int(4)?;
        let readable = checkpoint_version <= i64::from(policy.max_checkpoint_version);
        let key = ConversationKey::parse(org, row.text(3)?).filter(|_| readable);
        let params = vec![org.into(), conversation.into()];
        let Some(key) = key else {
            statements.push(Statement { sql: &POSTPONE, params, on_no_rows: None });
            continue;
        };
        let params = [params, vec![policy.lease.into()]].concat();
        statements.push(Statement { sql: &LEASE, params, on_no_rows: None });
        let lease = Lease {
            org,
            conversation,
            token: row.int(1)? + 1,
            epoch: row.int(2)?,
            has_checkpoint: checkpoint_version > 0,
        };
        leased.push(LeasedConversation { lease, key });
    }
    tx.batch(&statements)?;
    Ok(leased)
}

/// Reads the pending messages of leased conversations and counts an attempt on them;
/// releases conversations without any.
fn read_pending(
    tx: &Tx,
    policy: ClaimPolicy,
    leased: Vec<LeasedConversation>,
) -> Result<Vec<ClaimedConversation>> {
    let params: Vec<Vec<Value>> =
        leased.iter().map(|leased| pending_params(leased.lease)).collect();
    let found = tx.query_each(&PENDING, &params)?;
    let (mut claimed, mut statements) = (Vec::new(), Vec::new());
    for (LeasedConversation { lease, key }, rows) in leased.into_iter().zip(found) {
        let messages = due_messages(tx, lease, policy.max_attempts, rows)?;
        if messages.is_empty() {
            let params = vec![lease.org.into(), lease.conversation.into()];
            statements.push(Statement { sql: &RELEASE, params, on_no_rows: None });
            continue;
        }
        statements.extend(count_attempts(lease.org, &messages));
        claimed.push(ClaimedConversation { lease, key, messages });
    }
    tx.batch(&statements)?;
    Ok(claimed)
}

/// The parameters of [`PENDING`].
fn pending_params(lease: Lease) -> Vec<Value> {
    vec![lease.org.into(), lease.conversation.into(), MAX_MESSAGES.into()]
}

/// Returns the messages for the next turn: all that are due, but one that was tried
/// before comes alone, so that it cannot make others fail. Messages without attempts
/// left become dead letters.
fn due_messages(
    tx: &Tx,
    lease: Lease,
    max_attempts: u32,
    mut rows: Vec<Row>,
) -> Result<Vec<PendingMessage>> {
    if rows.iter().any(|row| row.int(2).is_ok_and(|attempts| attempts >= i64::from(max_attempts))) {
        let params = [lease.org.into(), lease.conversation.into(), max_attempts.into()];
        for row in tx.query(&MARK_DEAD, &params)? {
            dead_letters::notify_owner(tx, lease, row.id(0)?, TOO_MANY_ATTEMPTS)?;
        }
        rows = tx.query(&PENDING, &pending_params(lease))?;
    }
    let rows = rows.iter().take_while(|row| row.int(4).is_ok_and(|due| due == 1));
    let mut due = rows.map(pending_message).collect::<Result<Vec<PendingMessage>>>()?;
    let fresh = due.iter().take_while(|message| message.attempts == 0).count();
    due.truncate(fresh.max(1));
    for message in &mut due {
        message.attempts += 1;
    }
    Ok(due)
}

/// Counts an attempt on each message.
fn count_attempts(org: OrgId, messages: &[PendingMessage]) -> impl Iterator<Item = Statement> {
    messages.iter().map(move |message| Statement {
        sql: &COUNT_ATTEMPT,
        params: vec![org.into(), message.id.into()],
        on_no_rows: None,
    })
}

fn pending_message(row: &Row) -> Result<PendingMessage> {
    Ok(PendingMessage {
        id: row.id(0)?,
        payload: row.text(1)?.to_owned(),
        attempts: u32::try_from(row.int(2)?).unwrap_or(u32::MAX),
        received_at: Timestamp::from_millis(row.int(3)?),
    })
}
