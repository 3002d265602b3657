//! Checkpoints: where a turn stands before it touches something outside.
//!
//! Its state is stored together with what it is about to call, so that whoever
//! goes on after a crash neither asks the model again nor repeats an effect.

use std::time::Duration;

use ostler_domain::id::RunId;

use crate::Store;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Refusal, Scope, Statement, Tx};
use crate::error::Result;
use crate::journal::{self, Call, Intent};
use crate::lease::{Lease, check_fence};

/// Where a turn stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The run under which the turn will be committed. Whoever goes on with it
    /// keeps the id.
    pub run: RunId,
    /// The version of the state's form; a program that does not understand it
    /// leaves the conversation alone.
    pub version: u32,
    /// The state, as JSON.
    pub state: String,
}

/// A turn that somebody began and did not finish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenCheckpoint {
    /// Where it stands.
    pub checkpoint: Checkpoint,
    /// What it called outside, in the order of the calls' ids.
    pub calls: Vec<Call>,
}

/// How much longer than the call itself the lease lasts: enough to record the
/// outcome.
const TO_RECORD: Duration = Duration::from_secs(5);

/// Proves the lease and makes it last. A refusal of a lease that is too short
/// would only make every caller renew it and come back; done here, nothing can
/// happen in between.
const HOLD: Sql = Sql {
    sqlite: "UPDATE conversations SET lease_until = max(lease_until, now_ms() + ?4),
         pending_at = max(lease_until, now_ms() + ?4)
       WHERE org = ?1 AND id = ?2 AND lease_token = ?3 AND lease_until > 0",
    postgres: "WITH held AS (
         UPDATE conversations SET lease_until = greatest(lease_until, now_ms() + $4),
           pending_at = greatest(lease_until, now_ms() + $4)
         WHERE org = $1 AND id = $2 AND lease_token = $3 AND lease_until > 0 RETURNING 1)
       SELECT refuse('stale_lease') WHERE NOT EXISTS (SELECT 1 FROM held)",
};
/// A turn that another run left behind is over.
const OTHER_RUN: Sql =
    sql!("DELETE FROM checkpoints WHERE org = ?1 AND conversation = ?2 AND run <> ?3");
const SAVE: Sql = sql!(
    "INSERT INTO checkpoints (org, conversation, run, version, state, saved_at)
     VALUES (?1, ?2, ?3, ?4, ?5, now_ms())
     ON CONFLICT (org, conversation) DO UPDATE
       SET version = excluded.version, state = excluded.state, saved_at = excluded.saved_at"
);
const READ: Sql =
    sql!("SELECT run, version, state FROM checkpoints WHERE org = ?1 AND conversation = ?2");
/// What is still without an outcome is unknown from then on; the schema sees to
/// it.
const OVER: Sql = sql!("DELETE FROM checkpoints WHERE org = ?1 AND conversation = ?2");

impl Store {
    /// Stores where a turn stands and what it is about to call outside, and
    /// makes the lease outlast `timeout`, the longest that a call may take. A
    /// repeat changes nothing.
    pub async fn checkpoint_turn(
        &self,
        lease: Lease,
        checkpoint: Checkpoint,
        intents: Vec<Intent>,
        timeout: Duration,
    ) -> Result<()> {
        self.write(Save { lease, checkpoint, intents, timeout }).await
    }

    /// What a worker finds that died, for the one that goes on. A call without
    /// an outcome is to be retried if it is idempotent; the outcome of any
    /// other is unknown from now on.
    pub async fn open_checkpoint(&self, lease: Lease) -> Result<Option<OpenCheckpoint>> {
        self.write(Open(lease)).await
    }

    /// Gives up a turn that was begun; what it called without an outcome is
    /// unknown from now on. The next one starts over.
    pub async fn discard_checkpoint(&self, lease: Lease) -> Result<()> {
        self.write(Discard(lease)).await
    }
}

/// Ends the turn of a conversation, as a part of whatever ends it.
pub(crate) fn over(lease: Lease) -> Statement {
    let params = vec![lease.org.into(), lease.conversation.into()];
    Statement { sql: &OVER, params, must: None }
}

struct Save {
    lease: Lease,
    checkpoint: Checkpoint,
    intents: Vec<Intent>,
    timeout: Duration,
}

impl Operation for Save {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.lease.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let Lease { org, conversation, token, .. } = self.lease;
        let Checkpoint { run, version, state } = &self.checkpoint;
        let place = || [Value::from(org), conversation.into()];
        let at = |sql, more: Vec<Value>| {
            let params = place().into_iter().chain(more).collect();
            Statement { sql, params, must: None }
        };
        let until = self.timeout.saturating_add(TO_RECORD);
        let hold = at(&HOLD, vec![token.into(), until.into()]);
        let save = vec![(*run).into(), (*version).into(), state.as_str().into()];
        let mut all = vec![
            Statement { must: Some(Refusal::StaleLease), ..hold },
            at(&OTHER_RUN, vec![(*run).into()]),
            at(&SAVE, save),
        ];
        all.extend(self.intents.iter().map(|intent| journal::intend(self.lease, *run, intent)));
        tx.finish(&all).await?;
        Ok(())
    }
}

struct Open(Lease);

impl Operation for Open {
    type Output = Option<OpenCheckpoint>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Option<OpenCheckpoint>> {
        let Lease { org, conversation, .. } = self.0;
        check_fence(tx, self.0).await?;
        let Some(row) = tx.first(&READ, &[org.into(), conversation.into()]).await? else {
            return Ok(None);
        };
        let checkpoint = checkpoint(&row)?;
        let calls = journal::recover(tx, org, checkpoint.run).await?;
        Ok(Some(OpenCheckpoint { checkpoint, calls }))
    }
}

fn checkpoint(row: &Row) -> Result<Checkpoint> {
    Ok(Checkpoint {
        run: row.id(0)?,
        version: u32::try_from(row.int(1)?).unwrap_or(u32::MAX),
        state: row.text(2)?.to_owned(),
    })
}

struct Discard(Lease);

impl Operation for Discard {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        check_fence(tx, self.0).await?;
        tx.batch(&[over(self.0)]).await?;
        Ok(())
    }
}
