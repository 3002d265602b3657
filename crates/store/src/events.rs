//! The event log: readers follow it without missing or repeating anything.
//!
//! On PostgreSQL transactions commit out of order, so ids alone would let a
//! reader pass one that commits late. Each event carries its transaction, and
//! a reader sees those below the oldest transaction that is still running, in
//! any database of the server: a transaction that is left open there holds the
//! readers up, which is why ours have time-outs.

mod prune;

use std::fmt;
use std::str::FromStr;

use ostler_domain::id::OrgId;
use ostler_domain::time::Timestamp;

use crate::OrgStore;
use crate::backend::sql::Sql;
use crate::backend::value::Row;
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};

pub use prune::EventLimits;
pub(crate) use prune::prune;

/// A place in the log; the next event is the first one after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct EventCursor {
    transaction: i64,
    id: i64,
}

/// The form that clients send back: `12-34`.
impl fmt::Display for EventCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.transaction, self.id)
    }
}

/// The text is not a place in the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a place in the event log")]
pub struct BadCursor(String);

impl FromStr for EventCursor {
    type Err = BadCursor;

    fn from_str(text: &str) -> std::result::Result<Self, BadCursor> {
        let parts = text.split_once('-');
        parts
            .and_then(|(transaction, id)| {
                Some(Self { transaction: transaction.parse().ok()?, id: id.parse().ok()? })
            })
            .ok_or_else(|| BadCursor(text.to_owned()))
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    /// Its place in the log.
    pub cursor: EventCursor,
    /// Its name on the wire.
    pub kind: String,
    /// All of it, as JSON.
    pub data: String,
    /// When it happened.
    pub at: Timestamp,
}

/// The events after a place, and in the last column whether a row is not an
/// event but the end of what was pruned behind the reader's back.
const AFTER: Sql = Sql {
    sqlite: "SELECT * FROM (SELECT xid, id, kind, data, at, 0 FROM events
               WHERE org = ?1 AND id > ?3 AND ?2 >= 0 ORDER BY id LIMIT ?4)
             UNION ALL SELECT xid, id, '', '', 0, 1 FROM event_floors
               WHERE org = ?1 AND id > ?3
             ORDER BY 2",
    postgres: "SELECT * FROM (SELECT xid, id, kind, data, at, 0 FROM events
                 WHERE org = $1 AND (xid, id) > ($2, $3)
                   AND xid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
                 ORDER BY xid, id LIMIT $4) AS following
               UNION ALL SELECT xid, id, '', '', 0, 1 FROM event_floors
                 WHERE org = $1 AND (xid, id) > ($2, $3)
               ORDER BY 1, 2",
};

impl OrgStore<'_> {
    /// The events after a place in the log, oldest first. If some of them have
    /// been pruned, a reader that goes on would miss them: it gets
    /// [`EventsPruned`](crate::StoreError::EventsPruned) instead.
    pub async fn events_after(&self, cursor: EventCursor, most: u32) -> Result<Vec<StoredEvent>> {
        self.store.read(After(self.org, cursor, most)).await
    }
}

struct After(OrgId, EventCursor, u32);

impl Operation for After {
    type Output = Vec<StoredEvent>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<StoredEvent>> {
        let Self(org, cursor, most) = self;
        let params = [(*org).into(), cursor.transaction.into(), cursor.id.into(), (*most).into()];
        let rows = tx.query(&AFTER, &params).await?;
        for row in &rows {
            if row.int(5)? == 1 {
                return Err(StoreError::EventsPruned { go_on_from: cursor_of(row)? });
            }
        }
        rows.iter().map(event).collect()
    }
}

fn cursor_of(row: &Row) -> Result<EventCursor> {
    Ok(EventCursor { transaction: row.int(0)?, id: row.int(1)? })
}

fn event(row: &Row) -> Result<StoredEvent> {
    Ok(StoredEvent {
        cursor: cursor_of(row)?,
        kind: row.text(2)?.to_owned(),
        data: row.text(3)?.to_owned(),
        at: Timestamp::from_millis(row.int(4)?),
    })
}
