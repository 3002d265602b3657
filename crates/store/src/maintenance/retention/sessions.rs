//! Pruning of closed sessions with their messages and runs. The session row is deleted
//! last, so that no other row is left without one.

use std::time::Duration;

use ostler_domain::id::{OrgId, SessionId};

use super::{PruneMode, RetentionKind};
use crate::Store;
use crate::backend::Tx;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::error::Result;

/// Sessions that closed long enough ago and whose conversation has no open call. The last
/// column counts other sessions of the same thread.
const CLOSED: Sql = Sql {
    sqlite: "SELECT s.id, s.closed_at, s.thread, (
         SELECT count(*) FROM sessions o INDEXED BY sessions_by_conversation
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
/// Inbox rows that are younger than the deleted runs that answered them are found by
/// their conversation from then on.
const UNLINK: Sql = sql!(
    "UPDATE inbox SET run = NULL WHERE org = ?1 AND run IN (
       SELECT r.id FROM runs r WHERE r.org = ?1 AND r.session = ?2 ORDER BY r.id LIMIT ?3)"
);
const DELETE_RUNS: Sql = sql!(
    "DELETE FROM runs WHERE org = ?1 AND id IN (
       SELECT r.id FROM runs r WHERE r.org = ?1 AND r.session = ?2 ORDER BY r.id LIMIT ?3)"
);
const DELETE: Sql = sql!("DELETE FROM sessions WHERE org = ?1 AND id = ?2");

/// Deletes or counts the old closed sessions of an org.
pub(super) async fn prune(
    store: &Store,
    org: OrgId,
    max_age: Duration,
    mode: PruneMode,
    batch: u32,
    report: &mut impl FnMut(RetentionKind, u64),
) -> Result<()> {
    let start = (0, SessionId::from_u128(0));
    let mut step = PruneSessions { org, max_age, mode, batch: batch.max(1), after: start };
    loop {
        let pruned = store.org(org).write(move |tx| step.run(tx)).await?;
        report(RetentionKind::Messages, pruned.messages);
        report(RetentionKind::Runs, pruned.runs);
        report(RetentionKind::Sessions, pruned.sessions);
        match pruned.next {
            Some(next) => step.after = next,
            None => return Ok(()),
        }
    }
}

/// The closing time and id of a session.
type SessionPosition = (i64, SessionId);

/// One transaction: as many sessions as have `batch` rows together, or a part of one.
#[derive(Clone, Copy)]
struct PruneSessions {
    org: OrgId,
    max_age: Duration,
    mode: PruneMode,
    batch: u32,
    after: SessionPosition,
}

#[derive(Default)]
struct PrunedRows {
    messages: u64,
    runs: u64,
    sessions: u64,
    /// Where to continue; `None` at the end.
    next: Option<SessionPosition>,
}

impl PrunedRows {
    const fn rows(&self) -> u64 {
        self.messages + self.runs + self.sessions
    }
}

impl PruneSessions {
    fn run(&self, tx: &Tx) -> Result<PrunedRows> {
        let (closed_at, id) = self.after;
        let params =
            [self.org.into(), self.max_age.into(), closed_at.into(), id.into(), self.batch.into()];
        let sessions = tx.query(&CLOSED, &params)?;
        let mut pruned = PrunedRows::default();
        let mut position = self.after;
        for row in &sessions {
            let thread = (row.int(3)? == 0).then(|| row.0[2].clone());
            let session: SessionId = row.id(0)?;
            let complete = match self.mode {
                PruneMode::Count => self.count(tx, session, thread, &mut pruned)?,
                PruneMode::Delete => self.delete(tx, session, thread, &mut pruned)?,
            };
            if complete {
                position = (row.int(1)?, session);
            }
            if pruned.rows() >= u64::from(self.batch) {
                break;
            }
        }
        pruned.next = (!sessions.is_empty()).then_some(position);
        Ok(pruned)
    }

    fn count(
        &self,
        tx: &Tx,
        session: SessionId,
        thread: Option<Value>,
        pruned: &mut PrunedRows,
    ) -> Result<bool> {
        let org = || Value::from(self.org);
        if let Some(thread) = thread {
            pruned.messages += super::count(tx, &MESSAGES, &[org(), thread])?;
        }
        pruned.runs += super::count(tx, &RUNS, &[org(), session.into()])?;
        pruned.sessions += 1;
        Ok(true)
    }

    /// Deletes as much of a session as fits this transaction; returns whether all of it is
    /// deleted.
    fn delete(
        &self,
        tx: &Tx,
        session: SessionId,
        thread: Option<Value>,
        pruned: &mut PrunedRows,
    ) -> Result<bool> {
        let org = || Value::from(self.org);
        let remaining = |pruned: &PrunedRows| {
            Value::Int(i64::from(self.batch) - i64::try_from(pruned.rows()).unwrap_or(i64::MAX))
        };
        if let Some(thread) = thread {
            pruned.messages += tx.execute(&DELETE_MESSAGES, &[org(), thread, remaining(pruned)])?;
        }
        let runs = [org(), session.into(), remaining(pruned)];
        tx.execute(&UNLINK, &runs)?;
        pruned.runs += tx.execute(&DELETE_RUNS, &runs)?;
        if remaining(pruned) == Value::Int(0) {
            return Ok(false);
        }
        pruned.sessions += tx.execute(&DELETE, &[org(), session.into()])?;
        Ok(true)
    }
}
