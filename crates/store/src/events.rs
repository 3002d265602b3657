//! The event log: readers follow it without missing or repeating anything.
//!
//! What happened in one commit is one row. Its events have numbers that follow
//! each other, and the last one's is the row's id: a place in the log is an
//! event, whichever row it is in.
//!
//! On PostgreSQL transactions commit out of order, so ids alone would let a
//! reader pass one that commits late. Each event carries its transaction, and
//! a reader sees those below the oldest transaction that is still running, in
//! any database of the server: a transaction that is left open there holds the
//! readers up, which is why ours have time-outs.

mod packed;
mod prune;

use std::fmt;
use std::str::FromStr;

use ostler_domain::id::{OrgId, RunId};
use ostler_domain::time::Timestamp;

use crate::OrgStore;
use crate::backend::sql::Sql;
use crate::backend::value::Row;
use crate::backend::{Operation, Scope, Statement, Tx};
use crate::error::{Result, StoreError};
use crate::turn::NewEvent;

pub(crate) use packed::unpack;
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

/// Takes as many numbers as there are events. On PostgreSQL others may take some
/// in between; that does no harm, since a place names the transaction as well.
const APPEND: Sql = Sql {
    sqlite: "INSERT INTO events (id, org, run, count, data, at)
       VALUES (?3 + coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0),
         ?1, ?2, ?3, ?4, now_ms())",
    postgres: "INSERT INTO events (id, org, run, count, data, at) OVERRIDING SYSTEM VALUE
       SELECT max(nextval('events_id_seq')), $1, $2, $3, $4, now_ms()
       FROM generate_series(1, $3::bigint)",
};
/// The rows that have events after a place, and in the last column whether one is
/// not of events but the end of what was pruned behind the reader's back.
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

/// The last place that a reader would come to now.
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

/// Records what happened in a run, together with it.
pub(crate) fn append(org: OrgId, run: RunId, events: &[NewEvent]) -> Result<Option<Statement>> {
    if events.is_empty() {
        return Ok(None);
    }
    let count = i64::try_from(events.len()).unwrap_or(i64::MAX);
    let data = packed::pack(events)?;
    let params = vec![org.into(), run.into(), count.into(), data.into()];
    Ok(Some(Statement { sql: &APPEND, params, must: None }))
}

impl OrgStore<'_> {
    /// The events after a place in the log, oldest first. If some of them have
    /// been pruned, a reader that goes on would miss them: it gets
    /// [`EventsPruned`](crate::StoreError::EventsPruned) instead.
    pub async fn events_after(&self, cursor: EventCursor, most: u32) -> Result<Vec<StoredEvent>> {
        self.store.read(After(self.org, cursor, most)).await
    }

    /// The end of the log: whoever reads after it sees what happens from now on.
    pub async fn end_of_events(&self) -> Result<EventCursor> {
        self.store.read(End(self.org)).await
    }
}

struct End(OrgId);

impl Operation for End {
    type Output = EventCursor;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<EventCursor> {
        let last = tx.first(&END, &[self.0.into()]).await?;
        last.as_ref().map_or_else(|| Ok(EventCursor::default()), cursor_of)
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
        let mut events = Vec::new();
        for row in &rows {
            events.extend(events_in(row, *cursor)?);
        }
        events.truncate(usize::try_from(*most).unwrap_or(usize::MAX));
        Ok(events)
    }
}

fn cursor_of(row: &Row) -> Result<EventCursor> {
    Ok(EventCursor { transaction: row.int(0)?, id: row.int(1)? })
}

/// The places of a row's events that come after a place.
fn places_in(row: &Row, after: EventCursor) -> Result<impl Iterator<Item = EventCursor>> {
    let EventCursor { transaction, id: last } = cursor_of(row)?;
    let first = 1 + last - row.int(2)?;
    let first = if after.transaction == transaction { first.max(after.id + 1) } else { first };
    Ok((first..=last).map(move |id| EventCursor { transaction, id }))
}

/// The events of a row that come after a place.
fn events_in(row: &Row, after: EventCursor) -> Result<Vec<StoredEvent>> {
    let places: Vec<EventCursor> = places_in(row, after)?.collect();
    let (events, at) = (unpack(row.text(3)?)?, Timestamp::from_millis(row.int(4)?));
    let new = events.len().saturating_sub(places.len());
    let events = events.into_iter().skip(new).zip(places);
    Ok(events
        .map(|(NewEvent { kind, data }, cursor)| StoredEvent { cursor, kind, data, at })
        .collect())
}
