//! Checkpoints: the state of a turn before it calls something outside.
//!
//! The state is stored together with the intents of the calls, so that a worker that
//! continues after a crash neither calls the model again nor repeats an effect.

use std::time::Duration;

use ostler_domain::id::RunId;

use crate::Store;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Refusal, Statement, Tx};
use crate::conversation::journal::{self, StoredCall, StoredIntent};
use crate::conversation::lease::{Lease, check_fence};
use crate::error::Result;

/// The stored state of an unfinished turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The run of the turn; a worker that continues the turn keeps the id.
    pub run: RunId,
    /// The format version of the state; a program that cannot read it leaves the
    /// conversation to another.
    pub version: u32,
    /// JSON.
    pub state: String,
}

/// An unfinished turn of another worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenCheckpoint {
    pub checkpoint: Checkpoint,
    /// Its external calls, ordered by id.
    pub calls: Vec<StoredCall>,
}

/// The time after the timeout of a call in which the outcome is recorded.
const RECORDING_TIME: Duration = Duration::from_secs(5);

/// Checks the lease and extends it in one step.
const EXTEND_LEASE: Sql = Sql {
    sqlite: "UPDATE conversations SET lease_until = max(lease_until, now_ms() + ?4),
         pending_at = max(lease_until, now_ms() + ?4)
       WHERE org = ?1 AND id = ?2 AND lease_token = ?3 AND lease_until > 0",
    postgres: "WITH held AS (
         UPDATE conversations SET lease_until = greatest(lease_until, now_ms() + $4),
           pending_at = greatest(lease_until, now_ms() + $4)
         WHERE org = $1 AND id = $2 AND lease_token = $3 AND lease_until > 0 RETURNING 1)
       SELECT refuse('stale_lease') WHERE NOT EXISTS (SELECT 1 FROM held)",
};
/// Deletes the checkpoint of another run, which ends that turn.
const DELETE_OTHER_RUN: Sql =
    sql!("DELETE FROM checkpoints WHERE org = ?1 AND conversation = ?2 AND run <> ?3");
const SAVE: Sql = sql!(
    "INSERT INTO checkpoints (org, conversation, run, version, state, saved_at)
     VALUES (?1, ?2, ?3, ?4, ?5, now_ms())
     ON CONFLICT (org, conversation) DO UPDATE
       SET version = excluded.version, state = excluded.state, saved_at = excluded.saved_at"
);
const READ: Sql =
    sql!("SELECT run, version, state FROM checkpoints WHERE org = ?1 AND conversation = ?2");
/// A trigger makes open calls of the turn unknown outcomes.
const DELETE: Sql = sql!("DELETE FROM checkpoints WHERE org = ?1 AND conversation = ?2");

impl Store {
    /// Stores the state of a turn with the intents of its next calls, and extends the
    /// lease beyond `timeout`, the time limit of a call. A repeat changes nothing.
    pub fn checkpoint_turn(
        &self,
        lease: Lease,
        checkpoint: Checkpoint,
        intents: Vec<StoredIntent>,
        timeout: Duration,
    ) -> StoreFuture<()> {
        let save = move |tx: &Tx| save(tx, lease, &checkpoint, &intents, timeout);
        self.org(lease.org).write(save)
    }

    /// Returns the unfinished turn of a worker that died. An idempotent call without an
    /// outcome is to be retried; the outcome of any other becomes unknown.
    pub fn open_checkpoint(&self, lease: Lease) -> StoreFuture<Option<OpenCheckpoint>> {
        let key = [Value::from(lease.org), lease.conversation.into()];
        self.org(lease.org).write(move |tx| {
            check_fence(tx, lease)?;
            let Some(row) = tx.first(&READ, &key)? else { return Ok(None) };
            let checkpoint = checkpoint(&row)?;
            let calls = journal::recover(tx, lease.org, checkpoint.run)?;
            Ok(Some(OpenCheckpoint { checkpoint, calls }))
        })
    }

    /// Discards an unfinished turn; the outcomes of its open calls become unknown.
    pub fn discard_checkpoint(&self, lease: Lease) -> StoreFuture<()> {
        self.org(lease.org).write(move |tx| {
            check_fence(tx, lease)?;
            tx.batch(&[delete_statement(lease)]).map(drop)
        })
    }
}

/// Deletes the checkpoint of a conversation, as part of the transaction that ends the
/// turn.
pub(crate) fn delete_statement(lease: Lease) -> Statement {
    let params = vec![lease.org.into(), lease.conversation.into()];
    Statement { sql: &DELETE, params, on_no_rows: None }
}

fn save(
    tx: &Tx,
    lease: Lease,
    checkpoint: &Checkpoint,
    intents: &[StoredIntent],
    timeout: Duration,
) -> Result<()> {
    let Lease { org, conversation, token, .. } = lease;
    let Checkpoint { run, version, state } = checkpoint;
    let statement = |sql, more: Vec<Value>| {
        let key = [Value::from(org), conversation.into()];
        Statement { sql, params: key.into_iter().chain(more).collect(), on_no_rows: None }
    };
    let lease_time = timeout.saturating_add(RECORDING_TIME);
    let extend = statement(&EXTEND_LEASE, vec![token.into(), lease_time.into()]);
    let save = vec![(*run).into(), (*version).into(), state.as_str().into()];
    let mut all = vec![
        Statement { on_no_rows: Some(Refusal::StaleLease), ..extend },
        statement(&DELETE_OTHER_RUN, vec![(*run).into()]),
        statement(&SAVE, save),
    ];
    all.extend(intents.iter().map(|intent| journal::intent_statement(lease, *run, intent)));
    tx.finish(&all)?;
    Ok(())
}

fn checkpoint(row: &Row) -> Result<Checkpoint> {
    Ok(Checkpoint {
        run: row.id(0)?,
        version: u32::try_from(row.int(1)?).unwrap_or(u32::MAX),
        state: row.text(2)?.to_owned(),
    })
}
