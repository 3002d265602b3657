//! The futures a driver waits for: model streams, tool calls and host requests.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, StreamFuture};
use ostler_domain::money::Credits;
use tracing::Instrument as _;

use super::spans;
use crate::gate::Authorized;
use crate::history::CallId;
use crate::model::{Chunk, ModelError};
use crate::outcome::{OutcomeStatus, ToolOutcome};
use crate::tool::{Tool, ToolContext, ToolDefinition, ToolReply};
use crate::turn::AgentPath;

type Item = Result<Chunk, ModelError>;
pub(super) type ChunkStream = BoxStream<'static, Item>;

/// A unit of work in progress.
pub(super) enum Work<'d> {
    Model(Option<AgentPath>, StreamFuture<ChunkStream>),
    /// A tool call, or a request to the host.
    Other(BoxFuture<'d, Completion>),
    /// Work that was finished from the start.
    Ready(Option<Completion>),
}

/// The result of a unit of work.
pub(super) enum Completion {
    /// The next chunk of an answer, and the rest of the stream.
    Model(AgentPath, Option<Item>, Option<ChunkStream>),
    Tool(AgentPath, CallId, ToolReply),
    ToppedUp(AgentPath, Credits),
}

impl Future for Work<'_> {
    type Output = Completion;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Completion> {
        match self.get_mut() {
            Self::Model(path, stream) => Pin::new(stream).poll(cx).map(|(item, rest)| {
                Completion::Model(path.take().unwrap_or_default(), item, Some(rest))
            }),
            Self::Other(future) => future.as_mut().poll(cx),
            Self::Ready(done) => match done.take() {
                Some(done) => Poll::Ready(done),
                None => Poll::Pending,
            },
        }
    }
}

/// Runs a tool within its timeout. A panic is reported as a failure of the tool. If
/// an external call that is not idempotent panics or times out, its outcome is
/// unknown.
pub(super) fn run_tool(
    tool: Arc<dyn Tool>,
    path: AgentPath,
    call: Authorized,
    context: ToolContext,
    external: bool,
) -> BoxFuture<'static, Completion> {
    let span = spans::execute_tool(call.call(), &path);
    let running_in = span.clone();
    async move {
        let &ToolDefinition { timeout, idempotent, max_output, .. } = tool.definition();
        // Inside the block, so that a panic while creating the future is caught as well.
        let running = AssertUnwindSafe(async { tool.call(&call, &context).await }).catch_unwind();
        let unless_unknown =
            |status| if external && !idempotent { OutcomeStatus::OutcomeUnknown } else { status };
        let reply = match tokio::time::timeout(timeout, running).await {
            // Truncated before it is stored.
            Ok(Ok(ToolReply::Done(outcome))) => ToolReply::Done(outcome.truncated(max_output)),
            Ok(Ok(reply)) => reply,
            Ok(Err(_)) => ToolReply::Done(ToolOutcome::new(
                unless_unknown(OutcomeStatus::Failed),
                "The tool failed unexpectedly.",
            )),
            Err(_) => {
                let why = format!("The tool did not answer within {} s.", timeout.as_secs());
                ToolReply::Done(ToolOutcome::new(unless_unknown(OutcomeStatus::TimedOut), why))
            }
        };
        spans::record_reply(&span, &reply);
        Completion::Tool(path, call.call().id.clone(), reply)
    }
    .instrument(running_in)
    .boxed()
}
