//! What waits for the thread that writes, and how it is answered.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::sync::oneshot;

use super::prepared::Writer;
use super::tx::{SqliteTx, finish_now};
use crate::backend::Operation;
use crate::error::{Result, StoreError};

/// Why what was done is not kept.
#[derive(Clone, Copy)]
pub(super) enum NotKept<'a> {
    /// SQLite refused the transaction.
    BySqlite(&'a rusqlite::Error),
    /// SQLite gave up the transaction while it was done.
    GivenUp,
    /// The disk refused a flush.
    ByDisk(&'a str),
}

impl From<NotKept<'_>> for StoreError {
    fn from(why: NotKept<'_>) -> Self {
        match why {
            NotKept::BySqlite(error) => error.into(),
            NotKept::GivenUp => Self::Backend("SQLite gave up the transaction".into()),
            NotKept::ByDisk(why) => Self::Unavailable(format!(
                "the disk refused to keep what was written ({why}); look after it, then start anew"
            )),
        }
    }
}

/// What comes to the writer.
pub(super) enum Item {
    /// Something to do.
    Job(Box<dyn Job>),
    /// The disk has what it was given.
    Flushed,
}

impl Item {
    pub(super) fn job(self) -> Option<Box<dyn Job>> {
        match self {
            Self::Job(job) => Some(job),
            Self::Flushed => None,
        }
    }
}

/// Something that waits for the writer, and if it writes for the commit.
pub(super) trait Job: Send {
    /// Whether it only reads.
    fn reads(&self) -> bool;
    /// Whether its answer waits until it is on the disk.
    fn is_flushed(&self) -> bool;
    /// Does it; says whether what it did is to be kept.
    fn run(&mut self, writer: &Writer<'_>) -> bool;
    /// Answers, after the commit or its failure.
    fn finish(self: Box<Self>, committed: std::result::Result<(), NotKept<'_>>);
}

/// An operation, and who waits for its answer. The operation comes back with it,
/// so that it is not the writer who spends time on freeing it.
pub(super) struct WriterJob<O: Operation> {
    operation: O,
    reads: bool,
    result: Option<Result<O::Output>>,
    answer: oneshot::Sender<(Result<O::Output>, O)>,
}

impl<O: Operation> WriterJob<O> {
    pub(super) const fn new(
        operation: O,
        reads: bool,
        answer: oneshot::Sender<(Result<O::Output>, O)>,
    ) -> Self {
        Self { operation, reads, result: None, answer }
    }
}

impl<O: Operation> Job for WriterJob<O> {
    fn reads(&self) -> bool {
        self.reads
    }

    fn is_flushed(&self) -> bool {
        O::FLUSHED && !self.reads
    }

    fn run(&mut self, writer: &Writer<'_>) -> bool {
        let tx = SqliteTx::Write(writer);
        let result = catch_unwind(AssertUnwindSafe(|| finish_now(self.operation.run(&tx))))
            .unwrap_or_else(|_| Err(StoreError::Backend("an operation panicked".into())));
        let keep = result.is_ok();
        self.result = Some(result);
        keep
    }

    fn finish(self: Box<Self>, committed: std::result::Result<(), NotKept<'_>>) {
        let result = match (committed, self.result) {
            (Ok(()), Some(result)) => result,
            (Err(error), _) => Err(error.into()),
            (Ok(()), None) => Err(StoreError::Backend("an operation did not run".into())),
        };
        // Nobody may be waiting any more; the write stands all the same.
        let _ = self.answer.send((result, self.operation));
    }
}
