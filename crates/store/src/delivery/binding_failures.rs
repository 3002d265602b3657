//! Bindings that do not work at the moment: the process that receives for them reports it,
//! or their receiver takes no messages.

use ostler_domain::id::BindingId;
use ostler_domain::time::Timestamp;

use crate::OrgStore;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Row;
use crate::error::Result;

/// Why a binding does not work, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindingFailure {
    pub binding: BindingId,
    pub reason: String,
    pub since: Timestamp,
}

const RECORD: Sql = sql!(
    "INSERT INTO binding_failures (org, binding, reason, since) VALUES (?1, ?2, ?3, now_ms())
     ON CONFLICT (org, binding) DO UPDATE SET reason = excluded.reason"
);
const CLEAR: Sql = sql!("DELETE FROM binding_failures WHERE org = ?1 AND binding = ?2");
const LIST: Sql = sql!(
    "SELECT binding, reason, since FROM binding_failures WHERE org = ?1
     UNION ALL
     SELECT binding, 'messages wait, because the receiver fails: ' || reason, since
     FROM send_pauses WHERE org = ?1 AND is_open = 1
     ORDER BY binding"
);

impl OrgStore<'_> {
    /// Stores why a binding cannot receive messages. A repeat keeps the time of the first
    /// failure.
    pub async fn record_binding_failure(&self, binding: BindingId, reason: &str) -> Result<()> {
        self.execute(&RECORD, [binding.into(), reason.into()]).await.map(drop)
    }

    /// Records that a binding receives messages again.
    pub async fn clear_binding_failure(&self, binding: BindingId) -> Result<()> {
        self.execute(&CLEAR, [binding.into()]).await.map(drop)
    }

    /// Lists the bindings that do not work.
    pub fn binding_failures(&self) -> StoreFuture<Vec<BindingFailure>> {
        self.rows(&LIST, [], read)
    }
}

fn read(row: &Row) -> Result<BindingFailure> {
    Ok(BindingFailure { binding: row.id(0)?, reason: row.text(1)?.to_owned(), since: row.time(2)? })
}
