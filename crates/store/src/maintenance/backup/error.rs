//! Why a backup cannot be written or restored.

use std::io;

/// Why a backup cannot be written, read or restored. Nothing is restored then.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("the backup cannot be written: {0}")]
    Write(#[source] io::Error),
    #[error("the backup cannot be read: {0}")]
    Read(#[source] io::Error),
    /// The database has no tables.
    #[error("the database has no tables, so there is nothing to back up")]
    NoTables,
    #[error("this file is not a backup of ostler")]
    NotABackup,
    #[error(
        "the backup is cut short after {bytes} bytes; nothing was restored, use a whole copy of it"
    )]
    Truncated { bytes: u64 },
    #[error("the backup is damaged: {why}; nothing was restored, use another copy of it")]
    Damaged { why: String },
    /// A newer program has made it.
    #[error(
        "the backup was made by ostler {program}, at schema version {schema}; this program knows \
         versions up to {known}: restore it with that ostler or a newer one"
    )]
    Newer { program: String, schema: i64, known: i64 },
    #[error(
        "the database is not empty: there are rows in `{table}`; restore into a new database, \
         nothing was changed"
    )]
    NotEmpty { table: String },
    #[error(
        "the tables of the database are at schema version {found}, newer than the backup's \
         {backup}; restore into a database without tables, nothing was changed"
    )]
    NewerTables { found: i64, backup: i64 },
    /// What was read back is not what the backup holds.
    #[error("the table `{table}` differs from the backup after restoring it; nothing was kept")]
    Differs { table: String },
}

impl BackupError {
    /// A damaged backup.
    pub(super) fn damaged(why: impl Into<String>) -> Self {
        Self::Damaged { why: why.into() }
    }
}
