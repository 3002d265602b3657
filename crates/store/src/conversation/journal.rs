//! The journal: external calls of turns and their outcomes.
//!
//! An intent is written before the call and an outcome after it. An unknown outcome
//! stays until a person or a late answer resolves it.

use ostler_domain::id::{CallId, ConversationId, OrgId, RunId};
use ostler_domain::time::Timestamp;

use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Refusal, Statement, Tx};
use crate::conversation::inbox::{self, FollowUpEntry};
use crate::conversation::lease::Lease;
use crate::error::{Result, StoreError};
use crate::tenancy::audit::{self, NewAuditEntry};
use crate::{OrgStore, Store};

/// An external call that a turn is about to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredIntent {
    pub call: CallId,
    /// The name of the tool.
    pub tool: String,
    /// The idempotency key.
    pub key: String,
    /// JSON.
    pub arguments: String,
    pub retry_safety: RetrySafety,
}

/// Whether a call with an unknown outcome may be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetrySafety {
    /// The other side recognizes the idempotency key.
    Idempotent,
    Unsafe,
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallOutcome {
    /// JSON.
    Known(String),
    /// The reason why it is unknown.
    Unknown(String),
}

/// A call in the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCall {
    pub intent: StoredIntent,
    pub conversation: ConversationId,
    pub run: RunId,
    pub intended_at: Timestamp,
    /// None while the call is running or waits for a retry.
    pub outcome: Option<CallOutcome>,
}

/// Whether the worker that records an outcome still holds the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseStatus {
    Held,
    /// The outcome is stored all the same, but the turn of the worker is void.
    Lost,
}

/// A repeat updates the same row; a different call with the same id is refused.
const INSERT_INTENT: Sql = Sql {
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
const MARK_UNKNOWN: Sql = Sql {
    sqlite: "UPDATE journal INDEXED BY journal_by_run
       SET state = 'unknown', settled_at = now_ms(),
         reason = 'the worker stopped before the outcome was known'
       WHERE org = ?1 AND run = ?2 AND state = 'intended' AND idempotent = 0",
    postgres: "UPDATE journal SET state = 'unknown', settled_at = now_ms(),
         reason = 'the worker stopped before the outcome was known'
       WHERE org = $1 AND run = $2 AND state = 'intended' AND idempotent = 0",
};
const CALLS_OF_RUN: Sql = Sql {
    sqlite: "SELECT id, tool, key, arguments, idempotent, conversation, run, intended_at, state,
         outcome, reason
       FROM journal INDEXED BY journal_by_run WHERE org = ?1 AND run = ?2 ORDER BY id",
    postgres: "SELECT id, tool, key, arguments, idempotent, conversation, run, intended_at, state,
         outcome, reason
       FROM journal WHERE org = $1 AND run = $2 ORDER BY id",
};
const LIST_UNKNOWN: Sql = Sql {
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
/// A known outcome is final, an unknown one is not.
const RECORD_OUTCOME: Sql = sql!(
    "UPDATE journal SET state = ?3, outcome = ?4, reason = ?5, settled_at = now_ms()
     WHERE org = ?1 AND id = ?2 AND conversation = ?6
       AND (state = 'intended' OR (state = 'unknown' AND ?3 = 'done'))"
);
const RESOLVE: Sql = sql!(
    "UPDATE journal SET state = 'done', outcome = ?3, settled_at = now_ms()
     WHERE org = ?1 AND id = ?2 AND state = 'unknown'"
);
const GET: Sql =
    sql!("SELECT state, outcome, conversation FROM journal WHERE org = ?1 AND id = ?2");
const LEASE_IS_HELD: Sql = sql!(
    "SELECT 1 FROM conversations
     WHERE org = ?1 AND id = ?2 AND lease_token = ?3 AND lease_until > 0"
);

impl Store {
    /// Records the outcome of a call. The same outcome again changes nothing; fails with
    /// [`StoreError::Conflict`] if another one is stored.
    pub fn record_outcome(
        &self,
        lease: Lease,
        call: CallId,
        outcome: CallOutcome,
    ) -> StoreFuture<LeaseStatus> {
        self.org(lease.org).write(move |tx| record(tx, lease, call, &outcome))
    }
}

impl OrgStore<'_> {
    /// Lists calls with unknown outcomes, in the order of their ids.
    pub fn unknown_outcomes(
        &self,
        after: Option<CallId>,
        limit: u32,
    ) -> StoreFuture<Vec<StoredCall>> {
        let after = after.unwrap_or(CallId::from_u128(0));
        self.rows(&LIST_UNKNOWN, [after.into(), limit.into()], call)
    }

    /// Returns the number of calls of a conversation with unknown outcomes.
    pub fn count_unknown_outcomes(&self, conversation: ConversationId) -> StoreFuture<u64> {
        self.one("call", &COUNT_UNKNOWN, [conversation.into()], |row| {
            Ok(u64::try_from(row.int(0)?).unwrap_or_default())
        })
    }

    /// Resolves an unknown outcome, adds `follow_up` to the inbox of the conversation
    /// and `audit` to the audit trail, in one transaction.
    pub fn resolve_unknown_outcome_with_follow_up(
        &self,
        call: CallId,
        outcome: String,
        follow_up: FollowUpEntry,
        audit: NewAuditEntry,
    ) -> StoreFuture<ConversationId> {
        let org = self.org;
        self.write(move |tx| {
            resolve(tx, org, call, &outcome)?;
            let row = tx.first(&GET, &[org.into(), call.into()])?;
            let conversation = row.ok_or(StoreError::NotFound("call"))?.id(2)?;
            inbox::add_follow_up(tx, org, conversation, &follow_up)?;
            tx.batch(&[audit::append(org, &audit)?])?;
            Ok(conversation)
        })
    }

    /// Resolves an unknown outcome that a person has found out or that came late. No
    /// lease is needed.
    pub fn resolve_unknown_outcome(&self, call: CallId, outcome: String) -> StoreFuture<()> {
        let org = self.org;
        self.write(move |tx| resolve(tx, org, call, &outcome))
    }
}

/// Stores an intent, as part of a checkpoint.
pub(crate) fn intent_statement(lease: Lease, run: RunId, intent: &StoredIntent) -> Statement {
    let params = vec![
        lease.org.into(),
        lease.conversation.into(),
        run.into(),
        intent.call.into(),
        intent.tool.as_str().into(),
        intent.key.as_str().into(),
        intent.arguments.as_str().into(),
        i64::from(intent.retry_safety == RetrySafety::Idempotent).into(),
    ];
    Statement { sql: &INSERT_INTENT, params, on_no_rows: Some(Refusal::OtherCall) }
}

/// Returns the calls of a run that another worker continues; open calls that are not
/// idempotent become unknown.
pub(crate) fn recover(tx: &Tx, org: OrgId, run: RunId) -> Result<Vec<StoredCall>> {
    let params = [Value::from(org), run.into()];
    tx.execute(&MARK_UNKNOWN, &params)?;
    tx.query(&CALLS_OF_RUN, &params)?.iter().map(call).collect()
}

fn call(row: &Row) -> Result<StoredCall> {
    let repeat = if row.int(4)? == 0 { RetrySafety::Unsafe } else { RetrySafety::Idempotent };
    Ok(StoredCall {
        intent: StoredIntent {
            call: row.id(0)?,
            tool: row.text(1)?.to_owned(),
            key: row.text(2)?.to_owned(),
            arguments: row.text(3)?.to_owned(),
            retry_safety: repeat,
        },
        conversation: row.id(5)?,
        run: row.id(6)?,
        intended_at: Timestamp::from_millis(row.int(7)?),
        outcome: match row.text(8)? {
            "intended" => None,
            "done" => Some(CallOutcome::Known(row.text(9)?.to_owned())),
            _ => Some(CallOutcome::Unknown(row.text(10)?.to_owned())),
        },
    })
}

fn record(tx: &Tx, lease: Lease, call: CallId, outcome: &CallOutcome) -> Result<LeaseStatus> {
    let Lease { org, conversation, token, .. } = lease;
    let (state, known, why) = match outcome {
        CallOutcome::Known(outcome) => ("done", Some(outcome.as_str()), None),
        CallOutcome::Unknown(why) => ("unknown", None, Some(why.as_str())),
    };
    let params =
        [org.into(), call.into(), state.into(), known.into(), why.into(), conversation.into()];
    if tx.execute(&RECORD_OUTCOME, &params)? == 0 {
        check_same_outcome(tx, org, call, Some(conversation), (state, known))?;
    }
    let held = tx.first(&LEASE_IS_HELD, &[org.into(), conversation.into(), token.into()])?;
    Ok(if held.is_some() { LeaseStatus::Held } else { LeaseStatus::Lost })
}

fn resolve(tx: &Tx, org: OrgId, call: CallId, outcome: &str) -> Result<()> {
    if tx.execute(&RESOLVE, &[org.into(), call.into(), outcome.into()])? == 0 {
        check_same_outcome(tx, org, call, None, ("done", Some(outcome)))?;
    }
    Ok(())
}

/// Fails unless the stored outcome of a call is the same.
fn check_same_outcome(
    tx: &Tx,
    org: OrgId,
    call: CallId,
    conversation: Option<ConversationId>,
    (state, outcome): (&str, Option<&str>),
) -> Result<()> {
    let row = tx.first(&GET, &[org.into(), call.into()])?;
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
