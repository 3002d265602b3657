//! The journal: what turns called outside, and what came of it.
//!
//! An intent is written before the call and an outcome after it. A call whose
//! outcome nobody knows stays here until a person, or a late answer, says it.

use ostler_domain::id::{CallId, ConversationId, OrgId, RunId};
use ostler_domain::time::Timestamp;

use crate::audit::{self, NewAudit};
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Refusal, Scope, Statement, Tx};
use crate::error::{Result, StoreError};
use crate::inbox::{self, GoesOn};
use crate::lease::Lease;
use crate::{OrgStore, Store};

/// What a turn is about to call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// The call.
    pub call: CallId,
    /// The name of the tool.
    pub tool: String,
    /// What the other side recognizes a repeat by.
    pub key: String,
    /// The arguments, as JSON.
    pub arguments: String,
    /// Whether it may be called again.
    pub repeat: Repeat,
}

/// Whether a call may be made again when nobody knows what came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// It may: the other side recognizes the key.
    Idempotent,
    /// It may not.
    Never,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// This, as JSON.
    Known(String),
    /// Nobody knows, and why not.
    Unknown(String),
}

/// A call in the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// What was to be called.
    pub intent: Intent,
    /// Its conversation.
    pub conversation: ConversationId,
    /// Its run.
    pub run: RunId,
    /// When it was written down.
    pub intended_at: Timestamp,
    /// What came of it; nothing means that it is under way or to be retried.
    pub outcome: Option<Outcome>,
}

/// How an outcome was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// By the worker that has the conversation.
    Held,
    /// By one that has it no longer. What happened has happened, so it is kept;
    /// but this worker's turn is void.
    Late,
}

/// The same call again is the same row.
const INTEND: Sql = Sql {
    sqlite: "INSERT INTO journal
         (org, conversation, run, id, tool, key, arguments, idempotent, intended_at)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, now_ms())
       ON CONFLICT (org, id) DO UPDATE SET tool = excluded.tool
       WHERE journal.conversation = excluded.conversation AND journal.run = excluded.run
         AND journal.tool = excluded.tool AND journal.key = excluded.key
         AND journal.arguments = excluded.arguments",
    postgres: "WITH written AS (
         INSERT INTO journal
           (org, conversation, run, id, tool, key, arguments, idempotent, intended_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, now_ms())
         ON CONFLICT (org, id) DO UPDATE SET tool = excluded.tool
         WHERE journal.conversation = excluded.conversation AND journal.run = excluded.run
           AND journal.tool = excluded.tool AND journal.key = excluded.key
           AND journal.arguments = excluded.arguments RETURNING 1)
       SELECT refuse('other_call') WHERE NOT EXISTS (SELECT 1 FROM written)",
};
const LOSE: Sql = Sql {
    sqlite: "UPDATE journal INDEXED BY journal_of
       SET state = 'unknown', settled_at = now_ms(),
         reason = 'the worker stopped before the outcome was known'
       WHERE org = ?1 AND run = ?2 AND state = 'intended' AND idempotent = 0",
    postgres: "UPDATE journal SET state = 'unknown', settled_at = now_ms(),
         reason = 'the worker stopped before the outcome was known'
       WHERE org = $1 AND run = $2 AND state = 'intended' AND idempotent = 0",
};
const OF_RUN: Sql = Sql {
    sqlite: "SELECT id, tool, key, arguments, idempotent, conversation, run, intended_at, state,
         outcome, reason
       FROM journal INDEXED BY journal_of WHERE org = ?1 AND run = ?2 ORDER BY id",
    postgres: "SELECT id, tool, key, arguments, idempotent, conversation, run, intended_at, state,
         outcome, reason
       FROM journal WHERE org = $1 AND run = $2 ORDER BY id",
};
const UNKNOWN: Sql = Sql {
    sqlite: "SELECT id, tool, key, arguments, idempotent, conversation, run, intended_at, state,
         outcome, reason
       FROM journal INDEXED BY journal_unknown
       WHERE org = ?1 AND state = 'unknown' AND id > ?2 ORDER BY id LIMIT ?3",
    postgres: "SELECT id, tool, key, arguments, idempotent, conversation, run, intended_at, state,
         outcome, reason
       FROM journal WHERE org = $1 AND state = 'unknown' AND id > $2 ORDER BY id LIMIT $3",
};
const COUNT_UNKNOWN: Sql =
    sql!("SELECT count(*) FROM journal WHERE org = ?1 AND state = 'unknown' AND conversation = ?2");
/// A known outcome is final; that it is unknown is not.
const SETTLE: Sql = sql!(
    "UPDATE journal SET state = ?3, outcome = ?4, reason = ?5, settled_at = now_ms()
     WHERE org = ?1 AND id = ?2 AND conversation = ?6
       AND (state = 'intended' OR (state = 'unknown' AND ?3 = 'done'))"
);
const RESOLVE: Sql = sql!(
    "UPDATE journal SET state = 'done', outcome = ?3, settled_at = now_ms()
     WHERE org = ?1 AND id = ?2 AND state = 'unknown'"
);
const FOUND: Sql =
    sql!("SELECT state, outcome, conversation FROM journal WHERE org = ?1 AND id = ?2");
const HELD: Sql = sql!(
    "SELECT 1 FROM conversations
     WHERE org = ?1 AND id = ?2 AND lease_token = ?3 AND lease_until > 0"
);

impl Store {
    /// Records what came of a call. The same outcome again changes nothing,
    /// another one is refused.
    pub async fn record_outcome(
        &self,
        lease: Lease,
        call: CallId,
        outcome: Outcome,
    ) -> Result<Recorded> {
        self.write(Record(lease, call, outcome)).await
    }
}

impl OrgStore<'_> {
    /// The calls after one of them whose outcome nobody knows.
    pub async fn unknown_calls(&self, after: Option<CallId>, most: u32) -> Result<Vec<Call>> {
        let after = after.unwrap_or(CallId::from_u128(0));
        self.store.read(Unknown(self.org, after, most)).await
    }

    /// How many calls of a conversation have an outcome that nobody knows.
    pub async fn count_unknown_calls(&self, conversation: ConversationId) -> Result<u64> {
        self.store.read(CountUnknown(self.org, conversation)).await
    }

    /// A person has found out what came of a call whose outcome was unknown: its
    /// conversation goes on with that, and the line is added, all at once.
    pub async fn resolve_unknown_in(
        &self,
        call: CallId,
        outcome: String,
        then: GoesOn,
        line: NewAudit,
    ) -> Result<ConversationId> {
        let resolve = Resolve(self.org, call, outcome);
        self.store.write(ResolveIn { resolve, then, line }).await
    }

    /// Says what came of a call whose outcome was unknown: a person has found
    /// out, or the answer came late. Nobody needs to hold the conversation.
    pub async fn resolve_unknown(&self, call: CallId, outcome: String) -> Result<()> {
        self.store.write(Resolve(self.org, call, outcome)).await
    }
}

/// Writes an intent down, as a part of a checkpoint.
pub(crate) fn intend(lease: Lease, run: RunId, intent: &Intent) -> Statement {
    let params = vec![
        lease.org.into(),
        lease.conversation.into(),
        run.into(),
        intent.call.into(),
        intent.tool.as_str().into(),
        intent.key.as_str().into(),
        intent.arguments.as_str().into(),
        i64::from(intent.repeat == Repeat::Idempotent).into(),
    ];
    Statement { sql: &INTEND, params, must: Some(Refusal::OtherCall) }
}

/// The calls of a run that somebody else goes on with.
pub(crate) async fn recover<T: Tx>(tx: &T, org: OrgId, run: RunId) -> Result<Vec<Call>> {
    let of_run = [Value::from(org), run.into()];
    tx.execute(&LOSE, &of_run).await?;
    tx.query(&OF_RUN, &of_run).await?.iter().map(call).collect()
}

fn call(row: &Row) -> Result<Call> {
    let repeat = if row.int(4)? == 0 { Repeat::Never } else { Repeat::Idempotent };
    Ok(Call {
        intent: Intent {
            call: row.id(0)?,
            tool: row.text(1)?.to_owned(),
            key: row.text(2)?.to_owned(),
            arguments: row.text(3)?.to_owned(),
            repeat,
        },
        conversation: row.id(5)?,
        run: row.id(6)?,
        intended_at: Timestamp::from_millis(row.int(7)?),
        outcome: match row.text(8)? {
            "intended" => None,
            "done" => Some(Outcome::Known(row.text(9)?.to_owned())),
            _ => Some(Outcome::Unknown(row.text(10)?.to_owned())),
        },
    })
}

struct Record(Lease, CallId, Outcome);

impl Operation for Record {
    type Output = Recorded;

    fn scope(&self) -> Scope {
        Scope::Org(self.0.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Recorded> {
        let Self(Lease { org, conversation, token, .. }, call, outcome) = self;
        let (state, known, why) = match outcome {
            Outcome::Known(outcome) => ("done", Some(outcome.as_str()), None),
            Outcome::Unknown(why) => ("unknown", None, Some(why.as_str())),
        };
        let (org, place) = (Value::from(*org), Value::from(*conversation));
        let params =
            [org.clone(), (*call).into(), state.into(), known.into(), why.into(), place.clone()];
        if tx.execute(&SETTLE, &params).await? == 0 {
            same_outcome(tx, &org, *call, Some(*conversation), (state, known)).await?;
        }
        let held = tx.first(&HELD, &[org, place, (*token).into()]).await?;
        Ok(if held.is_some() { Recorded::Held } else { Recorded::Late })
    }
}

/// A call that was settled before must have been settled the same way.
async fn same_outcome<T: Tx>(
    tx: &T,
    org: &Value,
    call: CallId,
    conversation: Option<ConversationId>,
    (state, outcome): (&str, Option<&str>),
) -> Result<()> {
    let row = tx.first(&FOUND, &[org.clone(), call.into()]).await?;
    let row = row.ok_or(StoreError::NotFound("call"))?;
    if conversation.is_some_and(|own| row.id(2).ok() != Some(own)) {
        return Err(StoreError::NotFound("call"));
    }
    match (row.text(0)?, outcome) {
        ("intended", _) => Err(StoreError::NotFound("call with an unknown outcome")),
        (found, None) if found == state => Ok(()),
        ("done", Some(outcome)) if row.text(1)? == outcome => Ok(()),
        _ => Err(StoreError::Conflict("another outcome of this call".into())),
    }
}

struct Unknown(OrgId, CallId, u32);

impl Operation for Unknown {
    type Output = Vec<Call>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<Call>> {
        let params = [self.0.into(), self.1.into(), self.2.into()];
        tx.query(&UNKNOWN, &params).await?.iter().map(call).collect()
    }
}

struct Resolve(OrgId, CallId, String);

impl Operation for Resolve {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let Self(org, call, outcome) = self;
        let params = [(*org).into(), (*call).into(), outcome.as_str().into()];
        if tx.execute(&RESOLVE, &params).await? == 0 {
            let wanted = ("done", Some(outcome.as_str()));
            same_outcome(tx, &(*org).into(), *call, None, wanted).await?;
        }
        Ok(())
    }
}

struct ResolveIn {
    resolve: Resolve,
    then: GoesOn,
    line: NewAudit,
}

impl Operation for ResolveIn {
    type Output = ConversationId;

    fn scope(&self) -> Scope {
        self.resolve.scope()
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<ConversationId> {
        let Self { resolve: Resolve(org, call, _), then, line } = self;
        self.resolve.run(tx).await?;
        let row = tx.first(&FOUND, &[(*org).into(), (*call).into()]).await?;
        let conversation = row.ok_or(StoreError::NotFound("call"))?.id(2)?;
        inbox::go_on(tx, *org, conversation, then).await?;
        tx.batch(&[audit::append(*org, line)?]).await?;
        Ok(conversation)
    }
}

struct CountUnknown(OrgId, ConversationId);

impl Operation for CountUnknown {
    type Output = u64;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<u64> {
        let row = tx.first(&COUNT_UNKNOWN, &[self.0.into(), self.1.into()]).await?;
        let count = row.map_or(Ok(0), |row| row.int(0))?;
        Ok(u64::try_from(count).unwrap_or_default())
    }
}
