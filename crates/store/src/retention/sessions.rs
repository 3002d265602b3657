//! Closed sessions go together with their threads' messages and their runs;
//! the session itself goes last, so that nothing is left without one.

use std::time::Duration;

use ostler_domain::id::{OrgId, SessionId};

use super::{Kind, PruneMode};
use crate::Store;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Operation, Scope, Tx};
use crate::error::Result;

/// Closed long enough ago, and nothing that was called in its conversation is
/// open. In the last column: whether another session has the same thread.
const OVER: Sql = Sql {
    sqlite: "SELECT s.id, s.closed_at, s.thread, (
         SELECT count(*) FROM sessions o INDEXED BY sessions_of
         WHERE o.org = s.org AND o.conversation = s.conversation AND o.thread = s.thread
           AND o.id <> s.id)
       FROM sessions s INDEXED BY sessions_closed
       WHERE s.org = ?1 AND s.closed_at > 0 AND s.closed_at < (SELECT now_ms()) - ?2
         AND (s.closed_at, s.id) > (?3, ?4)
         AND NOT EXISTS (SELECT 1 FROM journal j INDEXED BY journal_open
                         WHERE j.org = s.org AND j.conversation = s.conversation
                           AND j.state IN ('intended', 'unknown'))
       ORDER BY s.closed_at, s.id LIMIT ?5",
    postgres: "SELECT s.id, s.closed_at, s.thread, (
         SELECT count(*) FROM sessions o
         WHERE o.org = s.org AND o.conversation = s.conversation AND o.thread = s.thread
           AND o.id <> s.id)
       FROM sessions s
       WHERE s.org = $1 AND s.closed_at > 0 AND s.closed_at < (SELECT now_ms()) - $2
         AND (s.closed_at, s.id) > ($3, $4)
         AND NOT EXISTS (SELECT 1 FROM journal j
                         WHERE j.org = s.org AND j.conversation = s.conversation
                           AND j.state IN ('intended', 'unknown'))
       ORDER BY s.closed_at, s.id LIMIT $5",
};
const MESSAGES: Sql = sql!("SELECT count(*) FROM messages WHERE org = ?1 AND thread = ?2");
const RUNS: Sql = sql!("SELECT count(*) FROM runs WHERE org = ?1 AND session = ?2");
const DELETE_MESSAGES: Sql = sql!(
    "DELETE FROM messages WHERE org = ?1 AND thread = ?2 AND seq IN (
       SELECT m.seq FROM messages m WHERE m.org = ?1 AND m.thread = ?2 ORDER BY m.seq LIMIT ?3)"
);
/// What such runs have answered is found by its conversation from then on, if it
/// is younger than they are.
const UNLINK: Sql = sql!(
    "UPDATE inbox SET run = NULL WHERE org = ?1 AND run IN (
       SELECT r.id FROM runs r WHERE r.org = ?1 AND r.session = ?2 ORDER BY r.id LIMIT ?3)"
);
const DELETE_RUNS: Sql = sql!(
    "DELETE FROM runs WHERE org = ?1 AND id IN (
       SELECT r.id FROM runs r WHERE r.org = ?1 AND r.session = ?2 ORDER BY r.id LIMIT ?3)"
);
const DELETE: Sql = sql!("DELETE FROM sessions WHERE org = ?1 AND id = ?2");

/// Deletes or counts the sessions of an org that are over.
pub(super) async fn prune(
    store: &Store,
    org: OrgId,
    keep: Duration,
    mode: PruneMode,
    batch: u32,
    tell: &mut impl FnMut(Kind, u64),
) -> Result<()> {
    let start = (0, SessionId::from_u128(0));
    let mut step = Step { org, keep, mode, batch: batch.max(1), after: start };
    loop {
        let done = store.write(step).await?;
        tell(Kind::Messages, done.messages);
        tell(Kind::Runs, done.runs);
        tell(Kind::Sessions, done.sessions);
        match done.next {
            Some(next) => step.after = next,
            None => return Ok(()),
        }
    }
}

/// When a session was closed, and which.
type Place = (i64, SessionId);

/// One transaction: as many sessions as have `batch` rows together, or a part
/// of one.
#[derive(Clone, Copy)]
struct Step {
    org: OrgId,
    keep: Duration,
    mode: PruneMode,
    batch: u32,
    after: Place,
}

#[derive(Default)]
struct Done {
    messages: u64,
    runs: u64,
    sessions: u64,
    /// Where to go on; nothing when all is done.
    next: Option<Place>,
}

impl Done {
    const fn rows(&self) -> u64 {
        self.messages + self.runs + self.sessions
    }
}

impl Operation for Step {
    type Output = Done;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Done> {
        let (closed_at, id) = self.after;
        let params =
            [self.org.into(), self.keep.into(), closed_at.into(), id.into(), self.batch.into()];
        let over = tx.query(&OVER, &params).await?;
        let mut done = Done::default();
        let mut place = self.after;
        for row in &over {
            let thread = (row.int(3)? == 0).then(|| row.0[2].clone());
            let session: SessionId = row.id(0)?;
            let whole = match self.mode {
                PruneMode::Count => self.count(tx, session, thread, &mut done).await?,
                PruneMode::Delete => self.delete(tx, session, thread, &mut done).await?,
            };
            if whole {
                place = (row.int(1)?, session);
            }
            if done.rows() >= u64::from(self.batch) {
                break;
            }
        }
        done.next = (!over.is_empty()).then_some(place);
        Ok(done)
    }
}

impl Step {
    async fn count<T: Tx>(
        &self,
        tx: &T,
        session: SessionId,
        thread: Option<Value>,
        done: &mut Done,
    ) -> Result<bool> {
        let org = || Value::from(self.org);
        if let Some(thread) = thread {
            done.messages += super::count(tx, &MESSAGES, &[org(), thread]).await?;
        }
        done.runs += super::count(tx, &RUNS, &[org(), session.into()]).await?;
        done.sessions += 1;
        Ok(true)
    }

    /// Deletes a session as far as there is room in this transaction; says
    /// whether all of it is gone.
    async fn delete<T: Tx>(
        &self,
        tx: &T,
        session: SessionId,
        thread: Option<Value>,
        done: &mut Done,
    ) -> Result<bool> {
        let org = || Value::from(self.org);
        let room = |done: &Done| {
            Value::Int(i64::from(self.batch) - i64::try_from(done.rows()).unwrap_or(i64::MAX))
        };
        if let Some(thread) = thread {
            done.messages += tx.execute(&DELETE_MESSAGES, &[org(), thread, room(done)]).await?;
        }
        let runs = [org(), session.into(), room(done)];
        tx.execute(&UNLINK, &runs).await?;
        done.runs += tx.execute(&DELETE_RUNS, &runs).await?;
        if room(done) == Value::Int(0) {
            return Ok(false);
        }
        done.sessions += tx.execute(&DELETE, &[org(), session.into()]).await?;
        Ok(true)
    }
}
