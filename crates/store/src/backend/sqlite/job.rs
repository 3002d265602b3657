//! What the writer thread receives.

use super::prepared::Writer;
use super::tx::SqliteTx;
use crate::backend::Tx;
use crate::backend::job::{Access, Request, RunEnd};
use crate::error::StoreError;

/// Why a write is not stored.
#[derive(Clone, Copy)]
pub(super) enum WriteFailure<'a> {
    /// SQLite refused the transaction.
    Sqlite(&'a rusqlite::Error),
    /// SQLite rolled the transaction back by itself.
    RolledBack,
    /// A flush failed.
    Disk(&'a str),
}

impl From<WriteFailure<'_>> for StoreError {
    fn from(failure: WriteFailure<'_>) -> Self {
        match failure {
            WriteFailure::Sqlite(error) => error.into(),
            WriteFailure::RolledBack => Self::Backend("SQLite rolled back the transaction".into()),
            WriteFailure::Disk(why) => Self::Unavailable(format!(
                "writing to the disk failed ({why}); check the disk, then restart"
            )),
        }
    }
}

/// A message to the writer thread.
pub(super) enum WriterMessage {
    Request(Request),
    /// A flush has finished.
    Flushed,
}

impl WriterMessage {
    pub(super) fn request(self) -> Option<Request> {
        match self {
            Self::Request(request) => Some(request),
            Self::Flushed => None,
        }
    }
}

impl Request {
    pub(super) const fn reads(&self) -> bool {
        self.access.reads()
    }

    /// Returns whether the caller waits until the write is on disk.
    pub(super) fn is_durable(&self) -> bool {
        self.access == Access::Write
    }

    /// Runs the operation; returns false if it failed and must be rolled back.
    pub(super) fn run(&mut self, writer: &Writer<'_>) -> bool {
        self.job.run(&Tx::Sqlite(SqliteTx::Write(writer))) == RunEnd::Succeeded
    }

    /// Answers the caller, after the commit or its failure.
    pub(super) fn finish(self, committed: Result<(), WriteFailure<'_>>) {
        self.job.finish(committed.map_err(StoreError::from));
    }
}
