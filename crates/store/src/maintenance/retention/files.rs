//! Pruning of files that conversations brought and that nothing refers to any more. Files
//! of other origin (a media library, documents) have no use in a conversation and stay.

use std::time::Duration;

use ostler_domain::id::{BlobId, OrgId};

use super::{PruneMode, RetentionKind};
use crate::Store;
use crate::backend::Tx;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::error::Result;

/// Old files of conversations. Their ids are not in the order of time.
const OLD: Sql = sql!(
    "SELECT b.id FROM blobs b
     WHERE b.org = ?1 AND b.id > ?2 AND b.created_at < (SELECT now_ms()) - ?3
       AND EXISTS (SELECT 1 FROM blob_uses u WHERE u.org = b.org AND u.blob = b.id)
     ORDER BY b.id LIMIT ?4"
);
/// Finds a row that refers to a file: in the conversations that used it, and in the records
/// of the org.
const REFERENCE: Sql = Sql {
    sqlite: "SELECT 1 FROM blob_uses u WHERE u.org = ?1 AND u.blob = ?2 AND (
         EXISTS (SELECT 1 FROM sessions s JOIN messages m ON m.org = s.org AND m.thread = s.thread
           WHERE s.org = u.org AND s.conversation = u.conversation AND instr(m.data, ?3) > 0)
         OR EXISTS (SELECT 1 FROM inbox i WHERE i.org = u.org
           AND i.conversation = u.conversation AND instr(i.payload, ?3) > 0)
         OR EXISTS (SELECT 1 FROM outbox o WHERE o.org = u.org
           AND o.conversation = u.conversation AND instr(o.payload, ?3) > 0)
         OR EXISTS (SELECT 1 FROM checkpoints k WHERE k.org = u.org
           AND k.conversation = u.conversation AND instr(k.state, ?3) > 0))
       UNION ALL SELECT 1 FROM records r WHERE r.org = ?1 AND instr(r.data, ?3) > 0 LIMIT 1",
    postgres: "SELECT 1 FROM blob_uses u WHERE u.org = $1 AND u.blob = $2 AND (
         EXISTS (SELECT 1 FROM sessions s JOIN messages m ON m.org = s.org AND m.thread = s.thread
           WHERE s.org = u.org AND s.conversation = u.conversation AND strpos(m.data, $3) > 0)
         OR EXISTS (SELECT 1 FROM inbox i WHERE i.org = u.org
           AND i.conversation = u.conversation AND strpos(i.payload, $3) > 0)
         OR EXISTS (SELECT 1 FROM outbox o WHERE o.org = u.org
           AND o.conversation = u.conversation AND strpos(o.payload, $3) > 0)
         OR EXISTS (SELECT 1 FROM checkpoints k WHERE k.org = u.org
           AND k.conversation = u.conversation AND strpos(k.state, $3) > 0))
       UNION ALL SELECT 1 FROM records r WHERE r.org = $1 AND strpos(r.data, $3) > 0 LIMIT 1",
};
const DELETE_USES: Sql = sql!("DELETE FROM blob_uses WHERE org = ?1 AND blob = ?2");
const DELETE: Sql = sql!("DELETE FROM blobs WHERE org = ?1 AND id = ?2");
/// Files in one transaction; each may be large.
const BATCH_FILES: u32 = 32;

/// Deletes or counts the old files of an org that nothing refers to.
pub(super) async fn prune(
    store: &Store,
    org: OrgId,
    max_age: Duration,
    mode: PruneMode,
    batch: u32,
    report: &mut impl FnMut(RetentionKind, u64),
) -> Result<()> {
    let batch = batch.clamp(1, BATCH_FILES);
    let mut after = BlobId::from_u128(0);
    loop {
        let step = move |tx: &Tx| prune_some(tx, org, after, max_age, mode, batch);
        let (rows, next) = store.org(org).write(step).await?;
        report(RetentionKind::Files, rows);
        match next {
            Some(next) => after = next,
            None => return Ok(()),
        }
    }
}

/// Returns the number of files, and after which one the next transaction starts if there are
/// more.
fn prune_some(
    tx: &Tx,
    org: OrgId,
    after: BlobId,
    max_age: Duration,
    mode: PruneMode,
    batch: u32,
) -> Result<(u64, Option<BlobId>)> {
    let page = tx.query(&OLD, &[org.into(), after.into(), max_age.into(), batch.into()])?;
    let (mut files, mut last) = (0, None);
    for row in &page {
        let id: BlobId = row.id(0)?;
        last = Some(id);
        let key = [Value::from(org), id.into()];
        let [org_value, id_value] = key.clone();
        if tx.first(&REFERENCE, &[org_value, id_value, id.to_string().into()])?.is_some() {
            continue;
        }
        files += 1;
        if mode == PruneMode::Delete {
            tx.execute(&DELETE_USES, &key)?;
            tx.execute(&DELETE, &key)?;
        }
    }
    Ok((files, last.filter(|_| page.len() as u64 == u64::from(batch))))
}
