//! The lease of a thread: one process at a time works on it, by the database's clock.

use std::time::Duration;

use ostler_domain::id::{OrgId, ThreadId};
use ostler_domain::time::Timestamp;

use super::commit::{JournalEntry, journal};
use super::{files, subagent_runs};
use crate::OrgStore;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::error::{Result, StoreError};
use crate::memory;

/// The right to work on a thread. Only claiming creates one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadLease {
    pub(super) org: OrgId,
    pub(super) thread: ThreadId,
    pub(super) token: i64,
}

impl ThreadLease {
    /// Returns the thread.
    pub const fn thread(&self) -> ThreadId {
        self.thread
    }

    /// Returns a number that grows with every claim of the thread.
    pub const fn token(&self) -> i64 {
        self.token
    }

    pub(super) fn key(&self) -> [Value; 3] {
        [self.org.into(), self.thread.into(), self.token.into()]
    }
}

/// The result of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThreadClaim {
    Claimed {
        lease: ThreadLease,
        /// Messages to answer after the current turn, as JSON.
        follow_ups: String,
        /// What the unfinished turn of the thread has done.
        journal: Vec<JournalEntry>,
    },
    /// Another process works on the thread.
    Held { holder: String, until: Timestamp },
}

const CLAIM: Sql = sql!(
    "UPDATE harness_threads SET lease_token = lease_token + 1, lease_holder = ?3,
       lease_until = now_ms() + ?4
     WHERE org = ?1 AND id = ?2 AND (lease_until <= now_ms() OR lease_holder = ?3)
     RETURNING lease_token, follow_ups"
);
const HOLDER: Sql = sql!(
    "SELECT coalesce(lease_holder, ''), lease_until FROM harness_threads WHERE org = ?1 AND id = ?2"
);
const RENEW: Sql = sql!(
    "UPDATE harness_threads SET lease_until = now_ms() + ?4
     WHERE org = ?1 AND id = ?2 AND lease_token = ?3 AND lease_until > 0"
);
const RELEASE: Sql = sql!(
    "UPDATE harness_threads SET lease_until = 0 WHERE org = ?1 AND id = ?2 AND lease_token = ?3"
);
const DELETE: Sql =
    sql!("DELETE FROM harness_threads WHERE org = ?1 AND id = ?2 AND lease_token = ?3");
const DELETE_MESSAGES: Sql = sql!("DELETE FROM harness_messages WHERE org = ?1 AND thread = ?2");
const DELETE_JOURNAL: Sql = sql!("DELETE FROM harness_journal WHERE org = ?1 AND thread = ?2");
const DELETE_EVENTS: Sql = sql!("DELETE FROM harness_events WHERE org = ?1 AND thread = ?2");

impl OrgStore<'_> {
    /// Claims a thread for a process, unless another one holds it. Fails with
    /// [`StoreError::NotFound`] if there is no such thread.
    pub fn claim_thread(
        &self,
        id: ThreadId,
        holder: &str,
        ttl: Duration,
    ) -> StoreFuture<ThreadClaim> {
        let (org, holder) = (self.org, holder.to_owned());
        self.write(move |tx| {
            let params = [org.into(), id.into(), holder.as_str().into(), ttl.into()];
            let Some(row) = tx.first(&CLAIM, &params)? else { return held(tx, org, id) };
            let lease = ThreadLease { org, thread: id, token: row.int(0)? };
            let follow_ups = row.text(1)?.to_owned();
            Ok(ThreadClaim::Claimed { lease, follow_ups, journal: journal(tx, org, id)? })
        })
    }

    /// Extends a lease. Fails with [`StoreError::StaleLease`] if another process has the
    /// thread.
    pub fn renew_thread(&self, lease: ThreadLease, ttl: Duration) -> StoreFuture<()> {
        let [org, id, token] = lease.key();
        let params = [org, id, token, ttl.into()];
        self.write(move |tx| fenced(tx.execute(&RENEW, &params)?))
    }

    /// Releases a lease. One that another process has is left alone.
    pub fn release_thread(&self, lease: ThreadLease) -> StoreFuture<()> {
        let params = lease.key();
        self.write(move |tx| tx.execute(&RELEASE, &params).map(drop))
    }

    /// Deletes a thread with all that belongs to it.
    pub fn delete_thread(&self, lease: ThreadLease) -> StoreFuture<()> {
        let params = lease.key();
        self.write(move |tx| {
            fenced(tx.execute(&DELETE, &params)?)?;
            delete_contents(tx, lease.org, lease.thread)
        })
    }
}

/// Deletes what belongs to a thread: messages, journal, events, runs of subagents, files and
/// memory.
pub(crate) fn delete_contents(tx: &Tx, org: OrgId, thread: ThreadId) -> Result<()> {
    let params = [org.into(), thread.into()];
    let contents = [&DELETE_MESSAGES, &DELETE_JOURNAL, &DELETE_EVENTS];
    for sql in contents.into_iter().chain([&subagent_runs::DELETE, &files::DELETE]) {
        tx.execute(sql, &params)?;
    }
    tx.batch(&memory::messages::deletes(org, thread)).map(drop)
}

fn held(tx: &Tx, org: OrgId, id: ThreadId) -> Result<ThreadClaim> {
    let row = tx.first(&HOLDER, &[org.into(), id.into()])?.ok_or(StoreError::NotFound("thread"))?;
    Ok(ThreadClaim::Held { holder: row.text(0)?.to_owned(), until: row.time(1)? })
}

pub(super) fn fenced(changed: u64) -> Result<()> {
    if changed == 0 { Err(StoreError::StaleLease) } else { Ok(()) }
}
