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
}
