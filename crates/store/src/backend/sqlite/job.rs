//! Jobs for the writer thread.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::sync::oneshot;

use super::prepared::Writer;
use super::tx::{SqliteTx, finish_now};
use crate::backend::Operation;
use crate::error::{Result, StoreError};

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
    Job(Box<dyn Job>),
    /// A flush has finished.
    Flushed,
}

impl WriterMessage {
    pub(super) fn job(self) -> Option<Box<dyn Job>> {
        match self {
            Self::Job(job) => Some(job),
            Self::Flushed => None,
        }
    }
}

/// An operation whose caller waits for it.
pub(super) trait Job: Send {
    /// Returns whether the operation only reads.
    fn reads(&self) -> bool;
    /// Returns whether the caller waits until the write is on disk.
    fn is_durable(&self) -> bool;
    /// Runs the operation; returns false if it failed and must be rolled back.
    fn run(&mut self, writer: &Writer<'_>) -> bool;
    /// Answers the caller, after the commit or its failure.
    fn finish(self: Box<Self>, committed: std::result::Result<(), WriteFailure<'_>>);
}

/// An operation and its caller. The operation is returned with the result, so that
/// the writer thread need not drop it.
pub(super) struct WriterJob<O: Operation> {
    operation: O,
    reads: bool,
    result: Option<Result<O::Output>>,
    sender: oneshot::Sender<(Result<O::Output>, O)>,
}

impl<O: Operation> WriterJob<O> {
    pub(super) const fn new(
        operation: O,
        reads: bool,
        sender: oneshot::Sender<(Result<O::Output>, O)>,
    ) -> Self {
        Self { operation, reads, result: None, sender }
    }
}

impl<O: Operation> Job for WriterJob<O> {
    fn reads(&self) -> bool {
        self.reads
    }

    fn is_durable(&self) -> bool {
        O::DURABLE && !self.reads
    }

    fn run(&mut self, writer: &Writer<'_>) -> bool {
        let tx = SqliteTx::Write(writer);
        let result = catch_unwind(AssertUnwindSafe(|| finish_now(self.operation.run(&tx))))
            .unwrap_or_else(|_| Err(StoreError::Backend("an operation panicked".into())));
        let succeeded = result.is_ok();
        self.result = Some(result);
        succeeded
    }

    fn finish(self: Box<Self>, committed: std::result::Result<(), WriteFailure<'_>>) {
        let result = match (committed, self.result) {
            (Ok(()), Some(result)) => result,
            (Err(failure), _) => Err(failure.into()),
            (Ok(()), None) => Err(StoreError::Backend("an operation did not run".into())),
        };
        // The caller may have gone away; the write stays.
        let _ = self.sender.send((result, self.operation));
    }
}
