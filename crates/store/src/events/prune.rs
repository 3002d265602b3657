//! Pruning: the log forgets its oldest events, and remembers that it did.
//!
//! What goes is always a beginning of the log, so that one place says it all:
//! a reader behind that place has missed something. The newest event stays, and
//! so does what a transaction that is still running might come before. A row of
//! which only the first events go is written anew.

use std::time::Duration;

use ostler_domain::id::OrgId;

use super::{EventCursor, cursor_of, packed, places_in};
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Tx};
use crate::error::Result;
use crate::retention::PruneMode;
use crate::{OrgStore, Store};

/// How much of an org's log is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventLimits {
    /// What is older goes.
    pub keep_for: Duration,
    /// At most so many of the newest stay.
    pub keep_most: u64,
}

/// The row of the newest event but so many, and how many there are from this row
/// on; what comes after it is kept.
const BUT: Sql = Sql {
    sqlite: "SELECT 0, id, so_far, count FROM (
         SELECT id, count, sum(count) OVER (ORDER BY id DESC ROWS UNBOUNDED PRECEDING) AS so_far
         FROM events INDEXED BY events_of WHERE org = ?1)
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
const KEEP: Sql = sql!("UPDATE events SET count = ?3, data = ?4 WHERE org = ?1 AND id = ?2");
const DELETE: Sql = Sql {
    sqlite: "DELETE FROM events WHERE org = ?1 AND id <= ?3 AND ?2 >= 0",
    postgres: "DELETE FROM events WHERE org = $1 AND (xid, id) <= ($2, $3)",
};
const FLOOR: Sql = sql!(
    "INSERT INTO event_floors (org, xid, id) VALUES (?1, ?2, ?3)
     ON CONFLICT (org) DO UPDATE SET xid = excluded.xid, id = excluded.id
     WHERE (excluded.xid, excluded.id) > (event_floors.xid, event_floors.id)"
);

/// Events that one transaction deletes.
const BATCH: u32 = 1000;

impl OrgStore<'_> {
    /// Deletes the oldest events of the org, in small transactions, and says how
    /// many. The newest one always stays.
    pub async fn prune_events(&self, limits: EventLimits) -> Result<u64> {
        let mut pruned = 0;
        prune(self.store, self.org, limits, PruneMode::Delete, BATCH, |some| pruned += some)
            .await?;
        Ok(pruned)
    }
}

/// Deletes or counts what is beyond the limits, and tells how many after each
/// transaction.
pub(crate) async fn prune(
    store: &Store,
    org: OrgId,
    limits: EventLimits,
    mode: PruneMode,
    batch: u32,
    mut some: impl FnMut(u64),
) -> Result<()> {
    let Some(last) = store.read(But(org, 1)).await? else {
        return Ok(());
    };
    let surplus = store.read(But(org, limits.keep_most)).await?;
    let mut step = Step {
        org,
        after: EventCursor::default(),
        last,
        surplus: surplus.unwrap_or_default(),
        keep_for: limits.keep_for,
        batch,
        mode,
    };
    loop {
        let gone = store.write(step).await?;
        let Some(newest) = gone.last() else {
            return Ok(());
        };
        step.after = *newest;
        some(gone.len() as u64);
        if gone.len() < batch as usize {
            return Ok(());
        }
    }
}

struct But(OrgId, u64);

impl Operation for But {
    type Output = Option<EventCursor>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Option<EventCursor>> {
        let skip = i64::try_from(self.1).unwrap_or(i64::MAX);
        let Some(row) = tx.first(&BUT, &[self.0.into(), skip.into()]).await? else {
            return Ok(None);
        };
        // The events of later rows are newer, and so are some of this one.
        let EventCursor { transaction, id } = cursor_of(&row)?;
        let newer = row.int(2)? - row.int(3)?;
        Ok(Some(EventCursor { transaction, id: id - (skip - newer) }))
    }
}

/// One transaction of a pruning.
#[derive(Clone, Copy)]
struct Step {
    org: OrgId,
    after: EventCursor,
    /// Nothing after it goes.
    last: EventCursor,
    /// All up to it goes, however young.
    surplus: EventCursor,
    keep_for: Duration,
    batch: u32,
    mode: PruneMode,
}

impl Operation for Step {
    type Output = Vec<EventCursor>;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<EventCursor>> {
        let org = Value::from(self.org);
        let params = [
            org.clone(),
            self.after.transaction.into(),
            self.after.id.into(),
            self.last.transaction.into(),
            self.last.id.into(),
            self.keep_for.into(),
            self.batch.into(),
        ];
        let rows = tx.query(&OLDEST, &params).await?;
        let gone = self.gone(&rows)?;
        if self.mode == PruneMode::Delete
            && let Some(last) = gone.last()
        {
            let place = [org, last.transaction.into(), last.id.into()];
            tx.execute(&DELETE, &place).await?;
            tx.execute(&FLOOR, &place).await?;
            for row in &rows {
                self.cut(tx, row, *last).await?;
            }
        }
        Ok(gone)
    }
}

impl Step {
    /// The events that go.
    fn gone(&self, rows: &[Row]) -> Result<Vec<EventCursor>> {
        let mut gone = Vec::new();
        for row in rows {
            let old = row.int(3)? == 1;
            for place in places_in(row, self.after)? {
                let goes = (old || place <= self.surplus) && place <= self.last;
                if !goes || gone.len() >= self.batch as usize {
                    return Ok(gone);
                }
                gone.push(place);
            }
        }
        Ok(gone)
    }

    /// Takes the events up to the last one that goes out of the row that also
    /// has later ones.
    async fn cut<T: Tx>(&self, tx: &T, row: &Row, last: EventCursor) -> Result<()> {
        let id = row.int(1)?;
        let stay = places_in(row, last)?.count();
        if cursor_of(row)? <= last || i64::try_from(stay).ok() == Some(row.int(2)?) {
            return Ok(());
        }
        let place = [Value::from(self.org), id.into()];
        let Some(found) = tx.first(&DATA, &place).await? else { return Ok(()) };
        let events = packed::unpack(found.text(0)?)?;
        let kept = events.get(events.len().saturating_sub(stay)..).unwrap_or_default();
        let [org, id] = place;
        let count = i64::try_from(kept.len()).unwrap_or(i64::MAX);
        tx.execute(&KEEP, &[org, id, count.into(), packed::pack(kept)?.into()]).await?;
        Ok(())
    }
}
