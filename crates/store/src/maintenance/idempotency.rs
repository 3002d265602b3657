//! Responses to requests with an idempotency key. They are stored as records and deleted
//! once they are too old to be repeated.

use std::time::Duration;

use crate::Store;
use crate::backend::job::StoreFuture;
use crate::backend::sql::Sql;

/// The kind of the records that hold idempotent responses.
pub const IDEMPOTENCY_RECORD_KIND: &str = "idempotency";

const DELETE_OLD: Sql = Sql {
    sqlite: "DELETE FROM records WHERE (org, kind, id) IN (
       SELECT org, kind, id FROM records
       WHERE kind = 'idempotency' AND updated_at < (SELECT now_ms()) - ?1
       ORDER BY updated_at LIMIT ?2)",
    postgres: "WITH old AS MATERIALIZED (
         SELECT org, kind, id FROM records
         WHERE kind = 'idempotency' AND updated_at < (SELECT now_ms()) - $1
         ORDER BY updated_at LIMIT $2 FOR UPDATE SKIP LOCKED)
       DELETE FROM records r USING old o
       WHERE r.org = o.org AND r.kind = o.kind AND r.id = o.id",
};

impl Store {
    /// Deletes idempotency records of all orgs that are older than `max_age`, oldest first,
    /// and returns how many.
    pub fn delete_idempotency_records(&self, max_age: Duration, limit: u32) -> StoreFuture<u64> {
        self.write_all_orgs(move |tx| tx.execute(&DELETE_OLD, &[max_age.into(), limit.into()]))
    }
}
