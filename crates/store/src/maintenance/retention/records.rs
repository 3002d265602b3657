//! Pruning of records about people that no book needs: answers to forms. Orders, bookings
//! and other records of the business stay.

use std::time::Duration;

use ostler_domain::id::OrgId;

use super::{PruneMode, RetentionKind, count};
use crate::Store;
use crate::backend::sql::{Sql, sql};
use crate::error::Result;

const OLD: Sql = sql!(
    "SELECT count(*) FROM records WHERE org = ?1 AND substr(kind, 1, 14) = 'form_response/'
       AND updated_at < (SELECT now_ms()) - ?2"
);
const DELETE: Sql = sql!(
    "DELETE FROM records WHERE org = ?1 AND (kind, id) IN (
       SELECT r.kind, r.id FROM records r
       WHERE r.org = ?1 AND substr(r.kind, 1, 14) = 'form_response/'
         AND r.updated_at < (SELECT now_ms()) - ?2
       LIMIT ?3)"
);

/// Deletes or counts the old answers to forms of an org.
pub(super) async fn prune(
    store: &Store,
    org: OrgId,
    max_age: Duration,
    mode: PruneMode,
    batch: u32,
    report: &mut impl FnMut(RetentionKind, u64),
) -> Result<()> {
    let batch = batch.max(1);
    let params = [org.into(), max_age.into()];
    if mode == PruneMode::Count {
        let old = store.org(org).read(move |tx| count(tx, &OLD, &params)).await?;
        report(RetentionKind::Records, old);
        return Ok(());
    }
    loop {
        let params = [org.into(), max_age.into(), batch.into()];
        let deleted = store.org(org).write(move |tx| tx.execute(&DELETE, &params)).await?;
        report(RetentionKind::Records, deleted);
        if deleted < u64::from(batch) {
            return Ok(());
        }
    }
}
