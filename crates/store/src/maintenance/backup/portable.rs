//! Columns that mean something on one database only, and what a backup has instead.
//!
//! - `xid` of events is the order of PostgreSQL's transactions on one server. A backup has
//!   the events in that order, with 0 as on SQLite, and ids that grow.
//! - The position of a webhook in the event log is that of the same event in the backup.
//! - `shard` spreads a counter over connections; a backup has the sum.

use std::collections::BTreeMap;

use ostler_domain::id::OrgId;

use super::catalog::{TableColumns, quoted};
use crate::backend::Tx;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::error::Result;

/// Returns the query for the rows of a table as a backup has them. Those of `events` have their
/// transaction as one column more.
pub(super) fn select(table: &TableColumns) -> String {
    let columns = table.columns.iter().map(|column| match (table.name.as_str(), column.as_str()) {
        ("events" | "event_floors", "xid") | ("rate_counters", "shard") => {
            "CAST(0 AS BIGINT)".to_owned()
        }
        ("rate_counters", "used") => "CAST(sum(used) AS BIGINT)".to_owned(),
        _ => quoted(column),
    });
    let columns = columns.collect::<Vec<_>>().join(", ");
    let (more, end) = match table.name.as_str() {
        "events" => (", events.xid", " ORDER BY events.xid, events.id"),
        "rate_counters" => ("", " GROUP BY org, name, window_ms, ends_at"),
        _ => ("", ""),
    };
    format!("SELECT {columns}{more} FROM {}{end}", quoted(&table.name))
}

const FLOORS: Sql = sql!("SELECT org, xid, id FROM event_floors");
const WEBHOOKS: Sql = sql!("SELECT org, event_xid, event_id FROM webhooks");

/// A position in the event log of an org: transaction and number.
type EventPosition = (i64, i64);

/// The positions in the event log as a backup has them. Events get ids that grow, and that
/// leave room for all events of a row; webhooks continue after the same event as before.
#[derive(Debug, Default)]
pub(super) struct EventPositions {
    last: i64,
    /// The last pruned event of each org.
    floors: BTreeMap<OrgId, EventPosition>,
    /// The positions of webhooks, and the number of the last event up to each.
    webhooks: BTreeMap<(OrgId, EventPosition), i64>,
}

impl EventPositions {
    /// Reads the positions that follow from those of events. `tables` are those that exist.
    pub(super) fn read(tx: &Tx, tables: &[TableColumns]) -> Result<Self> {
        let mut positions = Self::default();
        for row in tx.query(&FLOORS, &[])? {
            positions.floors.insert(row.id(0)?, (row.int(1)?, row.int(2)?));
        }
        if tables.iter().any(|table| table.name == "webhooks") {
            for row in tx.query(&WEBHOOKS, &[])? {
                positions.add_webhook(row.id(0)?, (row.int(1)?, row.int(2)?));
            }
        }
        Ok(positions)
    }

    /// Without events up to its position, a webhook continues after the pruned ones, or from
    /// the beginning if it has missed some of them.
    fn add_webhook(&mut self, org: OrgId, position: EventPosition) {
        let floor = self.floors.get(&org).filter(|floor| **floor <= position);
        self.webhooks.insert((org, position), floor.map_or(0, |(_, id)| *id));
    }

    /// Changes a row of a table to what a backup has. Those of `events` come first.
    pub(super) fn renumber(&mut self, table: &TableColumns, row: &mut Row) -> Result<()> {
        let position = |name| table.columns.iter().position(|column| column == name);
        match table.name.as_str() {
            "events" => {
                let columns = position("org").zip(position("id")).zip(position("count"));
                if let Some(((org, id), count)) = columns {
                    let xid = row.int(table.columns.len())?;
                    let (org, number, count) = (row.id(org)?, row.int(id)?, row.int(count)?);
                    row.0.truncate(table.columns.len());
                    row.0[id] = Value::Int(self.number(org, (xid, number), count));
                }
            }
            "webhooks" => {
                let columns = position("org").zip(position("event_xid")).zip(position("event_id"));
                if let Some(((org, xid), id)) = columns {
                    let at = (row.int(xid)?, row.int(id)?);
                    if let Some(last) = self.webhooks.get(&(row.id(org)?, at)) {
                        (row.0[xid], row.0[id]) = (Value::Int(0), Value::Int(*last));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the new number of a row of events.
    fn number(&mut self, org: OrgId, (xid, id): EventPosition, count: i64) -> i64 {
        let floor = self.floors.get(&org).map_or(0, |(_, id)| *id);
        self.last = id.max(self.last.saturating_add(count)).max(floor.saturating_add(count));
        let (first, end) = ((org, (i64::MIN, i64::MIN)), (org, (i64::MAX, i64::MAX)));
        for ((_, position), last) in self.webhooks.range_mut(first..=end) {
            // A position may be that of an event within the row.
            if *position > (xid, id - count) {
                let after = if position.0 == xid { (id - position.1).max(0) } else { 0 };
                *last = self.last - after;
            }
        }
        self.last
    }

    /// Returns the last number that an event got.
    pub(super) const fn last(&self) -> i64 {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use ostler_domain::id::OrgId;

    use super::EventPositions;

    const ORG: OrgId = OrgId::from_u128(1);
    const OTHER: OrgId = OrgId::from_u128(2);

    #[test]
    fn events_that_were_numbered_at_the_same_time_get_numbers_of_their_own() {
        let check = |rows: &[(i64, i64)], expected: &[i64]| {
            let mut positions = EventPositions::default();
            let number = |(id, count): &(i64, i64)| positions.number(ORG, (0, *id), *count);
            assert_eq!(rows.iter().map(number).collect::<Vec<_>>(), expected);
        };
        check(&[(2, 2), (5, 3), (9, 1)], &[2, 5, 9]);
        check(&[(10, 3), (9, 2), (14, 1)], &[10, 12, 14]);
    }

    /// K07, O27: a webhook's position stays after the same event.
    #[test]
    fn k07_o27_positions_of_webhooks_follow_their_events() {
        let rows = [(ORG, (5, 10), 3), (OTHER, (6, 11), 1), (ORG, (7, 9), 2), (ORG, (7, 12), 1)];
        let check = |floor: Option<(i64, i64)>, position, expected_events: [i64; 4], expected| {
            let mut positions = EventPositions::default();
            positions.floors.extend(floor.map(|floor| (ORG, floor)));
            positions.add_webhook(ORG, position);
            let numbers = rows.map(|(org, at, count)| positions.number(org, at, count));
            assert_eq!(numbers, expected_events);
            assert_eq!(positions.webhooks[&(ORG, position)], expected, "{position:?}");
        };
        let plain = [10, 11, 13, 14];
        check(None, (0, 0), plain, 0);
        check(None, (5, 8), plain, 8);
        check(None, (5, 10), plain, 10);
        check(None, (6, 40), plain, 10);
        check(None, (7, 8), plain, 12);
        check(None, (7, 9), plain, 13);
        check(None, (7, 12), plain, 14);
        check(None, (900, 1), plain, 14);
        // The pruned events were numbered after those that follow.
        let shifted = [23, 24, 26, 27];
        check(Some((4, 20)), (4, 20), shifted, 20);
        check(Some((4, 20)), (3, 2), shifted, 0);
        check(Some((4, 20)), (7, 9), shifted, 26);
    }
}
