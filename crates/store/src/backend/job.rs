//! Operations on their way to a thread of the database, and the responses.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::sync::oneshot;

use super::{Backend, Scope, Submission, Tx};
use crate::error::{Result, StoreError};

/// The work of one transaction.
pub(crate) type Operation<T> = Box<dyn Fn(&Tx<'_, '_>) -> Result<T> + Send>;

/// How an operation uses the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    /// Reads of every turn. SQLite runs them on the writer's connection, which has
    /// the pages in memory; other connections fetch them again after each commit.
    ReadHot,
    /// The caller waits until the write is on disk.
    Write,
    /// The write reaches the disk with the next one that is durable.
    WriteLater,
    /// A lease: on SQLite like [`Self::WriteLater`], because a machine that fails takes all
    /// who know of the lease with it, and what they commit under it is on disk after it; on
    /// PostgreSQL like [`Self::Write`], because workers on other machines go on.
    Lease,
}

impl Access {
    pub(super) const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadHot)
    }
}

/// An operation whose caller waits for it.
pub(crate) struct Request {
    pub(super) scope: Scope,
    pub(super) access: Access,
    pub(super) job: Box<dyn Run>,
}

/// An operation without its result type.
pub(crate) trait Run: Send {
    /// Runs the operation and keeps its result for the caller.
    fn run(&mut self, tx: &Tx<'_, '_>) -> RunEnd;

    /// Answers the caller: with the result if `committed`, otherwise with why it is
    /// not stored.
    fn finish(self: Box<Self>, committed: Result<()>);
}

/// How a run of an operation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunEnd {
    Succeeded,
    /// It must be rolled back.
    Failed,
    /// It must be rolled back and may succeed when it is run again.
    Conflicted,
}

/// An operation and its caller. The operation is returned with the result, so that
/// the thread of the database need not drop it.
struct Job<T> {
    operation: Operation<T>,
    result: Option<Result<T>>,
    sender: oneshot::Sender<Response<T>>,
}

type Response<T> = (Result<T>, Operation<T>);

impl<T: Send> Run for Job<T> {
    fn run(&mut self, tx: &Tx<'_, '_>) -> RunEnd {
        let result = catch_unwind(AssertUnwindSafe(|| (self.operation)(tx)))
            .unwrap_or_else(|_| Err(StoreError::Backend("an operation panicked".into())));
        let end = match &result {
            Ok(_) => RunEnd::Succeeded,
            Err(StoreError::Busy) => RunEnd::Conflicted,
            Err(_) => RunEnd::Failed,
        };
        self.result = Some(result);
        end
    }

    fn finish(self: Box<Self>, committed: Result<()>) {
        let result = match (committed, self.result) {
            (Ok(()), Some(result)) => result,
            (Err(failure), _) => Err(failure),
            (Ok(()), None) => Err(StoreError::Backend("an operation did not run".into())),
        };
        // The caller may have gone away; the write stays.
        let _ = self.sender.send((result, self.operation));
    }
}

/// The response to an operation of the store. The operation starts when the future
/// is first polled, and runs to its end even if the future is dropped after that.
#[must_use = "an operation starts when its future is polled"]
pub struct StoreFuture<T> {
    state: State,
    response: oneshot::Receiver<Response<T>>,
}

enum State {
    /// None only while the request is being submitted.
    New(Option<(Backend, Request)>),
    Submitted(Submission),
    Waiting,
}

impl<T: Send + 'static> StoreFuture<T> {
    pub(super) fn new(
        backend: Backend,
        scope: Scope,
        access: Access,
        operation: Operation<T>,
    ) -> Self {
        let (sender, response) = oneshot::channel();
        let job = Box::new(Job { operation, result: None, sender });
        Self { state: State::New(Some((backend, Request { scope, access, job }))), response }
    }
}

impl<T> Future for StoreFuture<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        if let State::New(request) = &mut self.state {
            let submission = request.take().and_then(|(backend, request)| backend.submit(request));
            self.state = submission.map_or(State::Waiting, State::Submitted);
        }
        if let State::Submitted(submission) = &mut self.state {
            ready!(submission.as_mut().poll(cx))?;
            self.state = State::Waiting;
        }
        Pin::new(&mut self.response).poll(cx).map(|response| match response {
            Ok((result, _operation)) => result,
            Err(_) => Err(StoreError::Unavailable("the thread of the database has stopped".into())),
        })
    }
}
