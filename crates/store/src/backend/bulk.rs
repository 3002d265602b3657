//! Rows in bulk, with statements that are made at run time: for backup, restore and
//! erasure, which read the names of tables and columns from the database. All other
//! statements are constant.

use super::Tx;
use super::value::{Row, Value};
use crate::error::Result;

/// What is done with each row of a query.
pub(crate) type EachRow<'e> = &'e mut dyn FnMut(Row) -> Result<()>;

impl Tx<'_, '_> {
    /// Returns whether this is SQLite.
    pub(crate) const fn is_sqlite(&self) -> bool {
        matches!(self, Self::Sqlite(_))
    }

    /// Runs a query and passes on its rows, one after the other, without holding all of
    /// them in memory.
    pub(crate) fn stream(&self, query: &str, params: &[Value], each: EachRow<'_>) -> Result<()> {
        match self {
            Self::Sqlite(tx) => tx.stream(query, params, each),
            Self::Postgres(tx) => tx.stream(query, params, each),
        }
    }

    /// Runs a statement once for each set of parameters.
    pub(crate) fn execute_rows(&self, statement: &str, rows: &[Vec<Value>]) -> Result<()> {
        match self {
            Self::Sqlite(tx) => tx.execute_rows(statement, rows),
            Self::Postgres(tx) => tx.execute_rows(statement, rows),
        }
    }

    /// Runs statements without parameters.
    pub(crate) fn run_text(&self, text: &str) -> Result<()> {
        match self {
            Self::Sqlite(tx) => tx.script(text),
            Self::Postgres(tx) => tx.script(text),
        }
    }
}
