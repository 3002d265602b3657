//! The event log: readers follow it without missing or repeating an event.
//!
//! The events of one commit are one row. They have consecutive numbers, the last of which
//! is the row's id; a cursor identifies an event, whichever row it is in.
//!
//! On PostgreSQL transactions commit out of order, so with ids alone a reader would skip an
//! event that commits late. Each event carries its transaction id, and a reader sees only
//! events below the oldest running transaction of any database of the server. A
//! transaction left open there delays readers, which is why ours have time-outs.

mod packed;
mod prune;

use std::fmt;
use std::str::FromStr;

use ostler_domain::id::{OrgId, RunId};
use ostler_domain::time::Timestamp;

use crate::OrgStore;
use crate::backend::job::StoreFuture;
use crate::backend::sql::Sql;
use crate::backend::value::{Row, Value};
use crate::backend::{Statement, Tx};
use crate::conversation::turn::NewEvent;
use crate::error::{Result, StoreError};

pub(crate) use packed::unpack;
pub use prune::EventLimits;
pub(crate) use prune::prune;

/// A position in the event log: that of the last event read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct EventCursor {
    transaction: i64,
    id: i64,
}

impl EventCursor {
    /// Returns the numbers to store.
    pub(crate) const fn parts(self) -> (i64, i64) {
        (self.transaction, self.id)
    }

    /// Returns the cursor with stored numbers.
    pub(crate) const fn from_parts(transaction: i64, id: i64) -> Self {
        Self { transaction, id }
    }
}

/// The text form that clients send back: `12-34`.
impl fmt::Display for EventCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.transaction, self.id)
    }
}

/// The text is not an event cursor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a position in the event log")]
pub struct InvalidEventCursor(String);

impl FromStr for EventCursor {
    type Err = InvalidEventCursor;

    fn from_str(text: &str) -> std::result::Result<Self, InvalidEventCursor> {
        let parts = text.split_once('-');
        parts
            .and_then(|(transaction, id)| {
                Some(Self { transaction: transaction.parse().ok()?, id: id.parse().ok()? })
            })
            .ok_or_else(|| InvalidEventCursor(text.to_owned()))
    }
}

/// An event of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    pub cursor: EventCursor,
    /// The name on the wire.
    pub kind: String,
    pub data: String,
    pub at: Timestamp,
}

/// Takes one number per event. On PostgreSQL other transactions may take numbers in
/// between, which is harmless since a cursor includes the transaction.
const APPEND: Sql = Sql {
    sqlite: "INSERT INTO events (id, org, run, count, data, at)
       VALUES (?3 + coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0),
         ?1, ?2, ?3, ?4, now_ms())",
    postgres: "INSERT INTO events (id, org, run, count, data, at) OVERRIDING SYSTEM VALUE
       SELECT max(nextval('events_id_seq')), $1, $2, $3, $4, now_ms()
       FROM generate_series(1, $3::bigint)",
};
/// The rows with events after a cursor. A row with 1 in the last column is not of events
/// but the end of events that were pruned after the cursor.
const AFTER: Sql = Sql {
    sqlite: "SELECT * FROM (SELECT xid, id, count, data, at, 0 FROM events
               WHERE org = ?1 AND id > ?3 AND ?2 >= 0 ORDER BY id LIMIT ?4)
             UNION ALL SELECT xid, id, 0, '', 0, 1 FROM event_floors
               WHERE org = ?1 AND id > ?3
             ORDER BY 2",
    postgres: "SELECT * FROM (SELECT xid, id, count, data, at, 0 FROM events
                 WHERE org = $1 AND (xid, id) > ($2, $3)
                   AND xid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
                 ORDER BY xid, id LIMIT $4) AS following
               UNION ALL SELECT xid, id, 0, '', 0, 1 FROM event_floors
                 WHERE org = $1 AND (xid, id) > ($2, $3)
               ORDER BY 1, 2",
};

/// The position that a reader would reach now.
const END: Sql = Sql {
    sqlite: "SELECT * FROM (
         SELECT xid, id FROM events WHERE org = ?1 ORDER BY id DESC LIMIT 1)
       UNION ALL SELECT xid, id FROM event_floors WHERE org = ?1
       ORDER BY 2 DESC LIMIT 1",
    postgres: "SELECT xid, id FROM (
         (SELECT xid, id FROM events
          WHERE org = $1 AND xid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
          ORDER BY xid DESC, id DESC LIMIT 1)
         UNION ALL SELECT xid, id FROM event_floors WHERE org = $1) AS places
       ORDER BY xid DESC, id DESC LIMIT 1",
};

/// The statement that appends events, of a run or of something else, for the transaction
/// that they are about.
pub(crate) fn append(
    org: OrgId,
    run: Option<RunId>,
    events: &[NewEvent],
) -> Result<Option<Statement>> {
    if events.is_empty() {
        return Ok(None);
    }
    let count = i64::try_from(events.len()).unwrap_or(i64::MAX);
    let data = packed::pack(events)?;
    let params = vec![org.into(), run.into(), count.into(), data.into()];
    Ok(Some(Statement { sql: &APPEND, params, on_no_rows: None }))
}

/// The statement that appends an event that belongs to no run. It names objects and has
/// nothing personal, because it is not erased with a contact.
pub(crate) fn append_alone(org: OrgId, event: &NewEvent) -> Result<Statement> {
    let data = packed::pack(std::slice::from_ref(event))?;
    let params = vec![org.into(), Value::Null, Value::Int(1), data.into()];
    Ok(Statement { sql: &APPEND, params, on_no_rows: None })
}

impl OrgStore<'_> {
    /// Returns the events after a cursor, oldest first. Fails with
    /// [`EventsPruned`](crate::StoreError::EventsPruned) if some of them were pruned.
    pub fn events_after(&self, cursor: EventCursor, limit: u32) -> StoreFuture<Vec<StoredEvent>> {
        let org = self.org;
        self.read(move |tx| read_after(tx, org, cursor, limit))
    }

    /// Returns the end of the log; reading after it returns only new events.
    pub fn end_of_events(&self) -> StoreFuture<EventCursor> {
        let org = self.org;
        self.read(move |tx| end_of_log(tx, org))
    }
}

/// Returns the end of the log, inside a transaction.
pub(crate) fn end_of_log(tx: &Tx, org: OrgId) -> Result<EventCursor> {
    let last = tx.first(&END, &[org.into()])?;
    last.as_ref().map_or_else(|| Ok(EventCursor::default()), cursor_of)
}

fn read_after(tx: &Tx, org: OrgId, cursor: EventCursor, limit: u32) -> Result<Vec<StoredEvent>> {
    let params = [org.into(), cursor.transaction.into(), cursor.id.into(), limit.into()];
    let rows = tx.query(&AFTER, &params)?;
    for row in &rows {
        if row.int(5)? == 1 {
            return Err(StoreError::EventsPruned { go_on_from: cursor_of(row)? });
        }
    }
    let mut events = Vec::new();
    for row in &rows {
        events.extend(events_in(row, cursor)?);
    }
    events.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(events)
}

fn cursor_of(row: &Row) -> Result<EventCursor> {
    Ok(EventCursor { transaction: row.int(0)?, id: row.int(1)? })
}

/// The cursors of a row's events after a cursor.
fn cursors_in(row: &Row, after: EventCursor) -> Result<impl Iterator<Item = EventCursor>> {
    let EventCursor { transaction, id: last } = cursor_of(row)?;
    let first = 1 + last - row.int(2)?;
    let first = if after.transaction == transaction { first.max(after.id + 1) } else { first };
    Ok((first..=last).map(move |id| EventCursor { transaction, id }))
}

/// The events of a row after a cursor.
fn events_in(row: &Row, after: EventCursor) -> Result<Vec<StoredEvent>> {
    let cursors: Vec<EventCursor> = cursors_in(row, after)?.collect();
    let (events, at) = (unpack(row.text(3)?)?, Timestamp::from_millis(row.int(4)?));
    let skipped = events.len().saturating_sub(cursors.len());
    let events = events.into_iter().skip(skipped).zip(cursors);
    Ok(events
        .map(|(NewEvent { kind, data }, cursor)| StoredEvent { cursor, kind, data, at })
        .collect())
}
