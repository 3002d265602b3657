//! Everything that a resource has: its threads and its settings.

use ostler_domain::id::ThreadId;

use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::error::Result;
use crate::threads::lease::delete_contents;

/// Threads deleted per transaction.
const BATCH: u32 = 8;

const OWNED: Sql =
    sql!("SELECT id FROM harness_threads WHERE org = ?1 AND resource = ?2 ORDER BY id LIMIT ?3");
const DELETE: Sql = sql!("DELETE FROM harness_threads WHERE org = ?1 AND id = ?2");
const DELETE_SETTINGS: Sql = sql!("DELETE FROM harness_settings WHERE org = ?1 AND resource = ?2");

impl OrgStore<'_> {
    /// Deletes the threads and settings of a resource with all that belongs to them, also
    /// threads that a process works on, whose next commit is refused. Returns the number of
    /// threads.
    pub async fn erase_threads(&self, resource: &str) -> Result<u64> {
        let org = self.org;
        let mut erased = 0;
        loop {
            let owner = resource.to_owned();
            let step = self.write(move |tx| {
                let rows = tx.query(&OWNED, &[org.into(), owner.as_str().into(), BATCH.into()])?;
                for row in &rows {
                    let thread: ThreadId = row.id(0)?;
                    delete_contents(tx, org, thread)?;
                    tx.execute(&DELETE, &[org.into(), thread.into()])?;
                }
                if rows.is_empty() {
                    tx.execute(&DELETE_SETTINGS, &[org.into(), owner.as_str().into()])?;
                }
                Ok(rows.len() as u64)
            });
            match step.await? {
                0 => return Ok(erased),
                some => erased += some,
            }
        }
    }
}
