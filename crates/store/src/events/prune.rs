//! Pruning of the event log.
//!
//! Only a prefix of the log is deleted, so one stored position tells whether a reader has
//! missed events. The newest event is kept, and so are events that a running transaction
//! might precede. A row of which only the first events are deleted is rewritten.

use std::time::Duration;

use ostler_domain::id::OrgId;

use super::{EventCursor, cursor_of, cursors_in, packed};
use crate::backend::Tx;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::error::Result;
use crate::maintenance::retention::PruneMode;
use crate::{OrgStore, Store};

/// How much of an org's event log is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventLimits {
    /// Older events are deleted.
    pub max_age: Duration,
    /// At most this many of the newest are kept.
    pub max_events: u64,
}

/// The row of the n-th newest event, and how many events there are from this row on.
const NTH_NEWEST: Sql = Sql {
    sqlite: "SELECT 0, id, so_far, count FROM (
         SELECT id, count, sum(count) OVER (ORDER BY id DESC ROWS UNBOUNDED PRECEDING) AS so_far
         FROM events INDEXED BY events_by_org WHERE org = ?1)
       WHERE so_far > ?2 ORDER BY so_far LIMIT 1",
    postgres: "SELECT xid, id, so_far, count FROM (
         SELECT xid, id, count, (sum(count) OVER (
           ORDER BY xid DESC, id DESC ROWS UNBOUNDED PRECEDING))::bigint AS so_far
         FROM events
         WHERE org = $1 AND xid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint) AS newest
       WHERE so_far > $2 ORDER BY so_far LIMIT 1",
};
const OLDEST: Sql = Sql {
    sqlite: "SELECT xid, id, count, CASE WHEN at < (SELECT now_ms()) - ?6 THEN 1 ELSE 0 END
       FROM events
       WHERE org = ?1 AND id > ?3 AND id < ?5 + count AND ?2 + ?4 >= 0 ORDER BY id LIMIT ?7",
    postgres: "SELECT xid, id, count, CASE WHEN at < (SELECT now_ms()) - $6 THEN 1 ELSE 0 END
       FROM events
       WHERE org = $1 AND (xid, id) > ($2, $3) AND (xid, id) < ($4, $5 + count)
       ORDER BY xid, id LIMIT $7",
};
const DATA: Sql = sql!("SELECT data FROM events WHERE org = ?1 AND id = ?2");
const REWRITE: Sql = sql!("UPDATE events SET count = ?3, data = ?4 WHERE org = ?1 AND id = ?2");
const DELETE: Sql = Sql {
    sqlite: "DELETE FROM events WHERE org = ?1 AND id <= ?3 AND ?2 >= 0",
    postgres: "DELETE FROM events WHERE org = $1 AND (xid, id) <= ($2, $3)",
};
const FLOOR: Sql = sql!(
    "INSERT INTO event_floors (org, xid, id) VALUES (?1, ?2, ?3)
     ON CONFLICT (org) DO UPDATE SET xid = excluded.xid, id = excluded.id
     WHERE (excluded.xid, excluded.id) > (event_floors.xid, event_floors.id)"
);

/// Events deleted per transaction.
const BATCH_SIZE: u32 = 1000;

impl OrgStore<'_> {
    /// Deletes the oldest events of the org, in small transactions, and returns how many. The
    /// newest one is always kept.
    pub async fn prune_events(&self, limits: EventLimits) -> Result<u64> {
        let mut pruned = 0;
        prune(self.store, self.org, limits, PruneMode::Delete, BATCH_SIZE, |count| pruned += count)
            .await?;
        Ok(pruned)
    }
}

/// Deletes or counts the events beyond the limits; calls `report` with the number after
/// each transaction.
pub(crate) async fn prune(
    store: &Store,
    org: OrgId,
    limits: EventLimits,
    mode: PruneMode,
    batch: u32,
    mut report: impl FnMut(u64),
) -> Result<()> {
    let store = store.org(org);
    let Some(last) = store.read(move |tx| nth_newest(tx, org, 1)).await? else {
        return Ok(());
    };
    let surplus = store.read(move |tx| nth_newest(tx, org, limits.max_events)).await?;
    let mut step = PruneStep {
        org,
        after: EventCursor::default(),
        last,
        surplus: surplus.unwrap_or_default(),
        max_age: limits.max_age,
        batch,
        mode,
    };
    loop {
        let deleted = store.write(move |tx| step.run(tx)).await?;
        let Some(newest) = deleted.last() else {
            return Ok(());
        };
        step.after = *newest;
        report(deleted.len() as u64);
        if deleted.len() < batch as usize {
            return Ok(());
        }
    }
}

fn nth_newest(tx: &Tx, org: OrgId, n: u64) -> Result<Option<EventCursor>> {
    let skip = i64::try_from(n).unwrap_or(i64::MAX);
    let Some(row) = tx.first(&NTH_NEWEST, &[org.into(), skip.into()])? else {
        return Ok(None);
    };
    // The events of later rows are newer, and so are some of this row.
    let EventCursor { transaction, id } = cursor_of(&row)?;
    let newer = row.int(2)? - row.int(3)?;
    Ok(Some(EventCursor { transaction, id: id - (skip - newer) }))
}

/// One transaction of a pruning run.
#[derive(Clone, Copy)]
struct PruneStep {
    org: OrgId,
    after: EventCursor,
    /// Nothing after it is deleted.
    last: EventCursor,
    /// Everything up to it is deleted, however young.
    surplus: EventCursor,
    max_age: Duration,
    batch: u32,
    mode: PruneMode,
}

impl PruneStep {
    /// Returns the events that were deleted or counted.
    fn run(&self, tx: &Tx) -> Result<Vec<EventCursor>> {
        let org = Value::from(self.org);
        let params = [
            org.clone(),
            self.after.transaction.into(),
            self.after.id.into(),
            self.last.transaction.into(),
            self.last.id.into(),
            self.max_age.into(),
            self.batch.into(),
        ];
        let rows = tx.query(&OLDEST, &params)?;
        let deleted = self.deletable(&rows)?;
        if self.mode == PruneMode::Delete
            && let Some(last) = deleted.last()
        {
            let key = [org, last.transaction.into(), last.id.into()];
            tx.execute(&DELETE, &key)?;
            tx.execute(&FLOOR, &key)?;
            for row in &rows {
                self.rewrite_row(tx, row, *last)?;
            }
        }
        Ok(deleted)
    }

    /// The events to delete.
    fn deletable(&self, rows: &[Row]) -> Result<Vec<EventCursor>> {
        let mut deleted = Vec::new();
        for row in rows {
            let old = row.int(3)? == 1;
            for cursor in cursors_in(row, self.after)? {
                let delete = (old || cursor <= self.surplus) && cursor <= self.last;
                if !delete || deleted.len() >= self.batch as usize {
                    return Ok(deleted);
                }
                deleted.push(cursor);
            }
        }
        Ok(deleted)
    }

    /// Removes the events up to `last` from the row that also has later ones.
    fn rewrite_row(&self, tx: &Tx, row: &Row, last: EventCursor) -> Result<()> {
        let id = row.int(1)?;
        let remaining = cursors_in(row, last)?.count();
        if cursor_of(row)? <= last || i64::try_from(remaining).ok() == Some(row.int(2)?) {
            return Ok(());
        }
        let key = [Value::from(self.org), id.into()];
        let Some(found) = tx.first(&DATA, &key)? else { return Ok(()) };
        let events = packed::unpack(found.text(0)?)?;
        let kept = events.get(events.len().saturating_sub(remaining)..).unwrap_or_default();
        let [org, id] = key;
        let count = i64::try_from(kept.len()).unwrap_or(i64::MAX);
        tx.execute(&REWRITE, &[org, id, count.into(), packed::pack(kept)?.into()])?;
        Ok(())
    }
}
