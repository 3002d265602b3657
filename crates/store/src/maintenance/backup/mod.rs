//! Backups: a copy of all rows of all tables in a file that either database can be
//! restored from.
//!
//! The tables and their columns are read from the database, so that a new table needs no
//! change here. A backup is one snapshot, read while others write. A restore is one
//! transaction: it creates the schema of the backup, loads the rows, reads them back and
//! compares them, and runs the newer migrations.
//!
//! | file | holds |
//! |---|---|
//! | `catalog`  | the tables of a database, parents first |
//! | `digest`   | a checksum of a table that does not depend on the order of its rows |
//! | `dump`     | writing a backup |
//! | `error`    | why it fails |
//! | `format`   | the file: its header and frames |
//! | `load`     | restoring a backup |
//! | `portable` | columns that mean something on one database only |
//! | `rows`     | rows as bytes |
//! | `triggers` | triggers, disabled while rows are loaded |

mod catalog;
mod digest;
mod dump;
mod error;
mod format;
mod load;
mod portable;
mod rows;
mod triggers;

pub use error::BackupError;
pub use format::BackupHeader;

/// How far a backup or a restore is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackupProgress<'t> {
    pub table: &'t str,
    /// Rows of all tables so far.
    pub rows: u64,
}

/// What a backup holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupSummary {
    pub header: BackupHeader,
    /// The rows of each table, in the order of the file.
    pub tables: Vec<(String, u64)>,
    /// The size of the file.
    pub bytes: u64,
}

impl BackupSummary {
    /// Returns the number of rows of all tables.
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|(_, rows)| rows).sum()
    }
}
