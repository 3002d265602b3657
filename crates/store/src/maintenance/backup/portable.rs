//! Columns that mean something on one database only, and what a backup has instead.
//!
//! - `xid` of events is the order of PostgreSQL's transactions on one server. A backup has
//!   the events in that order, with 0 as on SQLite, and ids that grow.
//! - `shard` spreads a counter over connections; a backup has the sum.

use super::catalog::{TableColumns, quoted};
use crate::backend::value::{Row, Value};

/// Returns the query for the rows of a table as a backup has them.
pub(super) fn select(table: &TableColumns) -> String {
    let columns = table.columns.iter().map(|column| match (table.name.as_str(), column.as_str()) {
        ("events" | "event_floors", "xid") | ("rate_counters", "shard") => {
            "CAST(0 AS BIGINT)".to_owned()
        }
        ("rate_counters", "used") => "CAST(sum(used) AS BIGINT)".to_owned(),
        _ => quoted(column),
    });
    let columns = columns.collect::<Vec<_>>().join(", ");
    let end = match table.name.as_str() {
        "events" => " ORDER BY events.xid, events.id",
        "rate_counters" => " GROUP BY org, name, window_ms, ends_at",
        _ => "",
    };
    format!("SELECT {columns} FROM {}{end}", quoted(&table.name))
}

/// Gives the rows of `events` ids that grow, and that leave room for all events of a row.
#[derive(Debug)]
pub(super) struct EventNumbers {
    /// The positions of the columns; None for another table.
    columns: Option<(usize, usize)>,
    last: i64,
}

impl EventNumbers {
    pub(super) fn of(table: &TableColumns) -> Self {
        let position = |name| table.columns.iter().position(|column| column == name);
        let columns = position("id").zip(position("count"));
        Self { columns: columns.filter(|_| table.name == "events"), last: 0 }
    }

    pub(super) fn renumber(&mut self, row: &mut Row) {
        let Some((id, count)) = self.columns else { return };
        if let (Some(Value::Int(number)), Some(Value::Int(events))) =
            (row.0.get(id), row.0.get(count))
        {
            self.last = (*number).max(self.last.saturating_add(*events));
            row.0[id] = Value::Int(self.last);
        }
    }

    /// Returns the last number that was given, which is 0 for another table.
    pub(super) const fn last(&self) -> i64 {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::{EventNumbers, Row, TableColumns, Value};

    #[test]
    fn events_that_were_numbered_at_the_same_time_get_numbers_of_their_own() {
        let columns = ["id", "count"].map(str::to_owned).to_vec();
        let table = |name: &str| TableColumns { name: name.into(), columns: columns.clone() };
        let numbered = |name: &str, rows: &[(i64, i64)]| {
            let mut numbers = EventNumbers::of(&table(name));
            let renumber = |(id, count): &(i64, i64)| {
                let mut row = Row(vec![Value::Int(*id), Value::Int(*count)]);
                numbers.renumber(&mut row);
                row.int(0).expect("a number")
            };
            rows.iter().map(renumber).collect::<Vec<_>>()
        };
        assert_eq!(numbered("events", &[(2, 2), (5, 3), (9, 1)]), [2, 5, 9]);
        assert_eq!(numbered("events", &[(10, 3), (9, 2), (14, 1)]), [10, 12, 14]);
        assert_eq!(numbered("runs", &[(10, 3), (9, 2)]), [10, 9]);
    }
}
