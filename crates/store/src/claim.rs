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
/// The conversations of an org that have waited longest.
const PICK: Sql = Sql {
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
const TAKE: Sql = sql!(
    "UPDATE conversations SET lease_token = lease_token + 1, lease_until = now_ms() + ?3,
       pending_at = now_ms() + ?3
     WHERE org = ?1 AND id = ?2"
);
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
    /// one at the same time, and reads what their turns begin with.
    pub async fn claim_and_begin(
        &self,
        policy: ClaimPolicy,
        most: usize,
    ) -> Result<Vec<(Claimed, Beginning)>> {
        self.write(ClaimAndBegin { policy, most }).await
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
}

impl Operation for ClaimAndBegin {
    type Output = Vec<(Claimed, Beginning)>;

    fn scope(&self) -> Scope {
        Scope::All
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Self::Output> {
        let claimed = claim(tx, self.policy, self.most).await?;
        let begun: Vec<_> =
            claimed.iter().map(|one| (one.lease.org, one.lease.conversation)).collect();
        let begun = sessions::begin(tx, &begun).await?;
        Ok(claimed.into_iter().zip(begun).collect())
    }
}

/// A conversation that is taken, before it is known what waits in it.
struct Taken {
    lease: Lease,
    key: ConversationKey,
}

/// Claims up to so many conversations. Those in which nothing is left to answer
/// make room for others.
async fn claim<T: Tx>(tx: &T, policy: ClaimPolicy, most: usize) -> Result<Vec<Claimed>> {
    loop {
        let picked = pick(tx, policy, most).await?;
        if picked.is_empty() {
            return Ok(Vec::new());
        }
        let taken = take(tx, policy, picked).await?;
        let claimed = try_all(tx, policy, taken).await?;
        if !claimed.is_empty() {
            return Ok(claimed);
        }
    }
}

/// Looks for conversations in which something is due: as many of each org, as
/// far as each has them and may have them worked on.
async fn pick<T: Tx>(tx: &T, policy: ClaimPolicy, most: usize) -> Result<Vec<(OrgId, Row)>> {
    let (cap, orgs) = (i64::from(policy.per_org), most.max(ORGS_AT_ONCE) as i64);
    let mut shares: Vec<(OrgId, i64)> = Vec::new();
    for row in tx.query(&ORGS, &[cap.into(), orgs.into()]).await? {
        shares.push((row.id(0)?, cap - row.int(1)?));
    }
    // Of no more orgs than wanted, and no more of each than its part: whatever is
    // looked at here, nobody else can take meanwhile.
    for some in shares.chunks(most.max(1)) {
        let part = most.div_ceil(some.len()) as i64;
        let places: Vec<Vec<Value>> =
            some.iter().map(|(org, room)| vec![(*org).into(), part.min(*room).into()]).collect();
        let found = tx.query_each(&PICK, &places).await?;
        let picked = in_turn(some.iter().map(|(org, _)| *org).zip(found), most);
        if !picked.is_empty() {
            return Ok(picked);
        }
    }
    Ok(Vec::new())
}

/// One of each org in turn, until there are so many.
fn in_turn(found: impl Iterator<Item = (OrgId, Vec<Row>)>, most: usize) -> Vec<(OrgId, Row)> {
    let mut found: Vec<_> = found.map(|(org, rows)| (org, rows.into_iter())).collect();
    let mut picked = Vec::new();
    while picked.len() < most && !found.is_empty() {
        found.retain_mut(|(org, rows)| {
            let next = rows.next().filter(|_| picked.len() < most);
            let more = next.is_some();
            picked.extend(next.map(|row| (*org, row)));
            more
        });
    }
    picked
}

/// Takes conversations, and puts aside those that a newer program must read.
async fn take<T: Tx>(tx: &T, policy: ClaimPolicy, picked: Vec<(OrgId, Row)>) -> Result<Vec<Taken>> {
    let (mut taken, mut statements) = (Vec::new(), Vec::new());
    for (org, row) in picked {
        let conversation: ConversationId = row.id(0)?;
        let understood = row.int(4)? <= i64::from(policy.understands);
        let key = ConversationKey::read(org, row.text(3)?).filter(|_| understood);
        let params = vec![org.into(), conversation.into()];
        let Some(key) = key else {
            statements.push(Statement { sql: &PARK, params, must: None });
            continue;
        };
        let params = [params, vec![policy.lease.into()]].concat();
        statements.push(Statement { sql: &TAKE, params, must: None });
        let lease = Lease { org, conversation, token: row.int(1)? + 1, epoch: row.int(2)? };
        taken.push(Taken { lease, key });
    }
    tx.batch(&statements).await?;
    Ok(taken)
}

/// Counts a try on what waits in conversations that were taken, and gives those
/// back in which nothing does.
async fn try_all<T: Tx>(tx: &T, policy: ClaimPolicy, taken: Vec<Taken>) -> Result<Vec<Claimed>> {
    let places: Vec<Vec<Value>> = taken.iter().map(|one| waiting_in(one.lease)).collect();
    let found = tx.query_each(&WAITING, &places).await?;
    let (mut claimed, mut statements) = (Vec::new(), Vec::new());
    for (Taken { lease, key }, rows) in taken.into_iter().zip(found) {
        let messages = due(tx, lease, policy.max_attempts, rows).await?;
        if messages.is_empty() {
            let params = vec![lease.org.into(), lease.conversation.into()];
            statements.push(Statement { sql: &SETTLE, params, must: None });
            continue;
        }
        statements.extend(tries(lease.org, &messages));
        claimed.push(Claimed { lease, key, messages });
    }
    tx.batch(&statements).await?;
    Ok(claimed)
}

/// Where the messages of a conversation wait, and how many are looked at.
fn waiting_in(lease: Lease) -> Vec<Value> {
    vec![lease.org.into(), lease.conversation.into(), TOGETHER.into()]
}

/// What is handed out of what waits: all that is due, but one that was tried
/// before comes alone, so that it takes no other down with it. What has had its
/// attempts is given up.
async fn due<T: Tx>(
    tx: &T,
    lease: Lease,
    max_attempts: u32,
    mut rows: Vec<Row>,
) -> Result<Vec<Waiting>> {
    if rows.iter().any(|row| row.int(2).is_ok_and(|tried| tried >= i64::from(max_attempts))) {
        let params = [lease.org.into(), lease.conversation.into(), max_attempts.into()];
        tx.execute(&GIVE_UP, &params).await?;
        rows = tx.query(&WAITING, &waiting_in(lease)).await?;
    }
    let rows = rows.iter().take_while(|row| row.int(4).is_ok_and(|due| due == 1));
    let mut due = rows.map(waiting).collect::<Result<Vec<Waiting>>>()?;
    let fresh = due.iter().take_while(|message| message.attempts == 0).count();
    due.truncate(fresh.max(1));
    for message in &mut due {
        message.attempts += 1;
    }
    Ok(due)
}

/// Counts one try on each.
fn tries(org: OrgId, messages: &[Waiting]) -> impl Iterator<Item = Statement> {
    messages.iter().map(move |message| Statement {
        sql: &TRY,
        params: vec![org.into(), message.id.into()],
        must: None,
    })
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
        let rows = tx.query(&WAITING, &waiting_in(lease)).await?;
        let due = due(tx, lease, policy.max_attempts, rows).await?;
        tx.batch(&tries(lease.org, &due).collect::<Vec<_>>()).await?;
        Ok(due)
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
