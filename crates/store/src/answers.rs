//! Answers to requests that may be repeated: kept as records, and forgotten once
//! nobody repeats them any more.

use std::time::Duration;

use crate::Store;
use crate::backend::sql::Sql;
use crate::backend::{Operation, Scope, Tx};
use crate::error::Result;

/// The kind of record that such an answer is.
pub const ANSWERS: &str = "idempotency";

const FORGET: Sql = Sql {
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
    /// Forgets answers of all orgs that are older than this, the oldest first,
    /// and says how many.
    pub async fn forget_answers(&self, older: Duration, most: u32) -> Result<u64> {
        self.write(Forget(older, most)).await
    }
}

struct Forget(Duration, u32);

impl Operation for Forget {
    type Output = u64;

    fn scope(&self) -> Scope {
        Scope::All
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<u64> {
        tx.execute(&FORGET, &[self.0.into(), self.1.into()]).await
    }
}
