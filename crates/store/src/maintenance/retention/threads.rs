//! Pruning of threads that nobody has used for long, with their messages, events, memory and
//! runs of subagents. A thread that a process holds, whose turn has not ended, or in whose
//! queue messages wait, is open and kept.

use std::time::Duration;

use ostler_domain::id::{OrgId, ThreadId};

use super::{PruneMode, RetentionKind};
use crate::Store;
use crate::backend::Tx;
use crate::backend::sql::{Sql, sql};
use crate::error::Result;
use crate::threads::lease::delete_contents;

const OLD: Sql = sql!(
    "SELECT t.id, t.message_count FROM harness_threads t
     WHERE t.org = ?1 AND t.id > ?3 AND t.updated_at < (SELECT now_ms()) - ?2
       AND t.lease_until <= (SELECT now_ms()) AND t.follow_ups = '[]'
       AND NOT EXISTS (SELECT 1 FROM harness_journal j WHERE j.org = t.org AND j.thread = t.id)
     ORDER BY t.id LIMIT ?4"
);
/// Deletes a thread, unless somebody has used it since it was found.
const DELETE: Sql = sql!(
    "DELETE FROM harness_threads WHERE org = ?1 AND id = ?2
       AND updated_at < (SELECT now_ms()) - ?3 AND lease_until <= (SELECT now_ms())"
);

/// Deletes or counts the old threads of an org.
pub(super) async fn prune(
    store: &Store,
    org: OrgId,
    max_age: Duration,
    mode: PruneMode,
    batch: u32,
    report: &mut impl FnMut(RetentionKind, u64),
) -> Result<()> {
    let mut step =
        PruneThreads { org, max_age, mode, batch: batch.max(1), after: ThreadId::from_u128(0) };
    loop {
        let (threads, next) = store.org(org).write(move |tx| step.run(tx)).await?;
        report(RetentionKind::Threads, threads);
        match next {
            Some(next) => step.after = next,
            None => return Ok(()),
        }
    }
}

/// One transaction: as many threads as have `batch` rows together, at least one.
#[derive(Clone, Copy)]
struct PruneThreads {
    org: OrgId,
    max_age: Duration,
    mode: PruneMode,
    batch: u32,
    after: ThreadId,
}

impl PruneThreads {
    /// Returns the number of threads, and where to continue if there are more.
    fn run(&self, tx: &Tx) -> Result<(u64, Option<ThreadId>)> {
        let params = [self.org.into(), self.max_age.into(), self.after.into(), self.batch.into()];
        let (mut threads, mut rows, mut last) = (0, 0, None);
        for row in &tx.query(&OLD, &params)? {
            let thread: ThreadId = row.id(0)?;
            threads += match self.mode {
                PruneMode::Count => 1,
                PruneMode::Delete => self.delete(tx, thread)?,
            };
            last = Some(thread);
            rows += row.int(1)? + 1;
            if rows >= i64::from(self.batch) {
                break;
            }
        }
        Ok((threads, last))
    }

    fn delete(&self, tx: &Tx, thread: ThreadId) -> Result<u64> {
        let params = [self.org.into(), thread.into(), self.max_age.into()];
        let deleted = tx.execute(&DELETE, &params)?;
        if deleted > 0 {
            delete_contents(tx, self.org, thread)?;
        }
        Ok(deleted)
    }
}
