//! Sends a reply over HTTP, with the faults and delays of the script.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt as _};
use http_body_util::StreamBody;
use http_body_util::combinators::BoxBody;
use hyper::body::Frame;
use hyper::header::{HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use ostler_engine::model::{Chunk, ModelErrorKind};
use tokio::time::Instant;

use super::dialect::{Blocks, Dialect, WireRequest};
use super::route::{Body, json_response, response};
use crate::{Fault, ScriptedReply, WireQuirks};

/// The connection is closed before the response is complete, because of the script
/// or a time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the connection is closed before the response is complete")]
pub(super) struct ConnectionClosed;

/// Bytes to send after a wait.
#[derive(Debug)]
struct TimedWrite {
    wait: Duration,
    bytes: Bytes,
}

/// How a response ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Complete,
    /// The connection is closed.
    Cut,
    /// Nothing more is sent.
    Hang,
}

pub(super) async fn answer(
    dialect: Dialect,
    request: &WireRequest,
    reply: ScriptedReply,
    time_limit: Duration,
) -> Result<Response<Body>, ConnectionClosed> {
    let deadline = Instant::now() + time_limit;
    if reply.chunks.is_empty()
        && let Some(fault) = &reply.fault
    {
        // Nothing of the answer is sent; the fault replaces it.
        wait_until(reply.timing.delay, deadline).await?;
        match fault.kind {
            ModelErrorKind::Status(status) => return Ok(error_response(dialect, status, fault)),
            ModelErrorKind::TimedOut => return hang(deadline).await,
            ModelErrorKind::Network => return Err(ConnectionClosed),
            _ => {}
        }
    }
    if request.stream {
        let (writes, ending) = streamed(dialect, request, &reply);
        let body = body(split(writes, reply.wire), ending, deadline);
        return Ok(response(StatusCode::OK, "text/event-stream", body));
    }
    unstreamed(dialect, request, &reply, deadline).await
}

/// Sends an answer that is not streamed.
async fn unstreamed(
    dialect: Dialect,
    request: &WireRequest,
    reply: &ScriptedReply,
    deadline: Instant,
) -> Result<Response<Body>, ConnectionClosed> {
    wait_until(reply.timing.delay, deadline).await?;
    let json = dialect.complete(request, reply);
    let Some(fault) = &reply.fault else { return Ok(json_response(StatusCode::OK, &json)) };
    let mut half = json.to_string();
    half.truncate(half.floor_char_boundary(half.len() / 2));
    let ending = match fault.kind {
        ModelErrorKind::Status(status) => return Ok(error_response(dialect, status, fault)),
        ModelErrorKind::Malformed => Ending::Complete,
        ModelErrorKind::TimedOut => Ending::Hang,
        _ => Ending::Cut,
    };
    let writes = vec![TimedWrite { wait: Duration::ZERO, bytes: half.into() }];
    let body = body(split(writes, reply.wire), ending, deadline);
    Ok(response(StatusCode::OK, "application/json", body))
}

fn error_response(dialect: Dialect, status: u16, fault: &Fault) -> Response<Body> {
    let json = dialect.error(status, &fault.message());
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json_response(status, &json);
    if let Some(wait) = fault.retry_after {
        // The header counts whole seconds.
        let secs = wait.as_millis().div_ceil(1000).to_string();
        if let Ok(secs) = HeaderValue::from_str(&secs) {
            response.headers_mut().insert(RETRY_AFTER, secs);
        }
    }
    response
}

/// Returns the events of a stream, and how it ends.
fn streamed(
    dialect: Dialect,
    request: &WireRequest,
    reply: &ScriptedReply,
) -> (Vec<TimedWrite>, Ending) {
    let mut blocks = Blocks::default();
    let mut writes = Vec::with_capacity(reply.chunks.len() + 3);
    let write = |wait, text: String| TimedWrite { wait, bytes: text.into() };
    writes.push(write(reply.timing.delay, dialect.stream_start(request, reply)));
    let is_piece = |chunk: &&Chunk| !matches!(chunk, Chunk::Usage(_) | Chunk::Done(_));
    for (at, chunk) in reply.chunks.iter().filter(is_piece).enumerate() {
        if reply.wire.keep_alive {
            writes.push(write(Duration::ZERO, dialect.keep_alive().to_owned()));
        }
        let wait = if at == 0 { Duration::ZERO } else { reply.timing.pause };
        writes.push(write(wait, dialect.stream_chunk(request, &mut blocks, chunk)));
    }
    let Some(fault) = &reply.fault else {
        writes.push(write(Duration::ZERO, dialect.stream_end(request, &mut blocks, reply)));
        return (writes, Ending::Complete);
    };
    let ending = match fault.kind {
        ModelErrorKind::Status(status) => {
            let event = dialect.error_event(status, &fault.message());
            writes.push(write(Duration::ZERO, event));
            Ending::Complete
        }
        ModelErrorKind::Malformed => {
            let tail = dialect.stream_end(request, &mut blocks, reply);
            writes.push(write(Duration::ZERO, dialect.malformed().to_owned()));
            writes.push(write(Duration::ZERO, tail));
            Ending::Complete
        }
        ModelErrorKind::TimedOut => Ending::Hang,
        _ => Ending::Cut,
    };
    (writes, ending)
}

/// Splits writes into smaller ones, even inside characters.
fn split(writes: Vec<TimedWrite>, wire: WireQuirks) -> Vec<TimedWrite> {
    let Some(size) = wire.split else { return writes };
    let mut split = Vec::new();
    for TimedWrite { mut wait, mut bytes } in writes {
        while !bytes.is_empty() {
            let piece = bytes.split_to(size.min(bytes.len()));
            split.push(TimedWrite { wait: std::mem::take(&mut wait), bytes: piece });
        }
    }
    split
}

fn body(writes: Vec<TimedWrite>, ending: Ending, deadline: Instant) -> Body {
    let writes = stream::iter(writes).then(move |TimedWrite { wait, bytes }| async move {
        wait_until(wait, deadline).await?;
        // Waiting flushes the body, so that each write is sent on its own.
        tokio::task::yield_now().await;
        Ok(Frame::data(bytes))
    });
    BoxBody::new(StreamBody::new(writes.chain(end(ending, deadline))))
}

fn end(
    ending: Ending,
    deadline: Instant,
) -> impl Stream<Item = Result<Frame<Bytes>, ConnectionClosed>> {
    stream::once(async move {
        tokio::task::yield_now().await;
        match ending {
            Ending::Complete => None,
            Ending::Cut => Some(Err(ConnectionClosed)),
            Ending::Hang => Some(hang(deadline).await),
        }
    })
    .filter_map(std::future::ready)
}

/// Waits until the deadline, then closes the connection.
async fn hang<T>(deadline: Instant) -> Result<T, ConnectionClosed> {
    tokio::time::sleep_until(deadline).await;
    Err(ConnectionClosed)
}

/// Waits, but not beyond the deadline.
async fn wait_until(wait: Duration, deadline: Instant) -> Result<(), ConnectionClosed> {
    if wait.is_zero() {
        return Ok(());
    }
    tokio::time::timeout_at(deadline, tokio::time::sleep(wait)).await.map_err(|_| ConnectionClosed)
}
