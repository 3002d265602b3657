//! What is under way for a turn.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, StreamFuture};
use ostler_domain::money::Credits;

use crate::gate::Authorized;
use crate::history::CallId;
use crate::model::{Chunk, ModelError};
use crate::outcome::{Outcome, Status};
use crate::tool::{Definition, Reply, Tool, ToolContext};
use crate::turn::Path;

type Item = Result<Chunk, ModelError>;
pub(super) type Answer = BoxStream<'static, Item>;

/// Something under way.
pub(super) enum Work<'d> {
    /// A model answers.
    Model(Option<Path>, StreamFuture<Answer>),
    /// A tool runs, or the host does something.
    Other(BoxFuture<'d, Done>),
    /// It is done already.
    Ready(Option<Done>),
}

/// What came of it.
pub(super) enum Done {
    /// A piece of an answer, and the rest of it.
    Model(Path, Option<Item>, Option<Answer>),
    /// A tool has answered.
    Tool(Path, CallId, Reply),
    /// So much more was reserved.
    ToppedUp(Path, Credits),
}

impl Future for Work<'_> {
    type Output = Done;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Done> {
        match self.get_mut() {
            Self::Model(path, stream) => Pin::new(stream)
                .poll(cx)
                .map(|(item, rest)| Done::Model(path.take().unwrap_or_default(), item, Some(rest))),
            Self::Other(future) => future.as_mut().poll(cx),
            Self::Ready(done) => match done.take() {
                Some(done) => Poll::Ready(done),
                None => Poll::Pending,
            },
        }
    }
}

/// Runs a tool within its time. A panic is the tool's failure and nobody else's.
/// If it has an effect outside and did not come to its end, nobody knows whether
/// that happened, unless it may be repeated.
pub(super) fn run_tool(
    tool: Arc<dyn Tool>,
    path: Path,
    call: Authorized,
    context: ToolContext,
    outside: bool,
) -> BoxFuture<'static, Done> {
    async move {
        let &Definition { timeout, idempotent, max_output, .. } = tool.definition();
        // Inside the block, so that no panic is outside the net.
        let running = AssertUnwindSafe(async { tool.call(&call, &context).await }).catch_unwind();
        let unless_unknown =
            |status| if outside && !idempotent { Status::OutcomeUnknown } else { status };
        let reply = match tokio::time::timeout(timeout, running).await {
            // Before anybody stores it.
            Ok(Ok(Reply::Done(outcome))) => Reply::Done(outcome.capped(max_output)),
            Ok(Ok(reply)) => reply,
            Ok(Err(_)) => {
                Reply::Done(Outcome::of(unless_unknown(Status::Failed), "The tool broke down."))
            }
            Err(_) => {
                let why = format!("The tool did not answer within {} s.", timeout.as_secs());
                Reply::Done(Outcome::of(unless_unknown(Status::TimedOut), why))
            }
        };
        Done::Tool(path, call.call().id.clone(), reply)
    }
    .boxed()
}
