//! The durable events of a thread.

use ostler_domain::id::ThreadId;

use super::commit::ThreadEvents;
use crate::OrgStore;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};

const AFTER: Sql = sql!(
    "SELECT last_id, events FROM harness_events
     WHERE org = ?1 AND thread = ?2 AND last_id > ?3 ORDER BY last_id LIMIT ?4"
);

const LAST: Sql =
    sql!("SELECT coalesce(max(last_id), 0) FROM harness_events WHERE org = ?1 AND thread = ?2");

impl OrgStore<'_> {
    /// Returns the commits of a thread with events after a number, in order. The first one
    /// may also contain earlier events.
    pub fn thread_events(
        &self,
        id: ThreadId,
        after: i64,
        limit: u32,
    ) -> StoreFuture<Vec<ThreadEvents>> {
        self.rows(&AFTER, [id.into(), after.into(), limit.into()], |row| {
            Ok(ThreadEvents { last_id: row.int(0)?, events: row.text(1)?.to_owned() })
        })
    }

    /// Returns the number of the last stored event of a thread; 0 if there is none.
    pub fn end_of_thread_events(&self, id: ThreadId) -> StoreFuture<i64> {
        let params = [self.org.into(), id.into()];
        self.read(move |tx| tx.first(&LAST, &params)?.map_or(Ok(0), |row| row.int(0)))
    }
}
