//! Puts an answer on the wire, with all that the script wants to go wrong.

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

use super::dialect::{Blocks, Dialect, Wanted};
use super::route::{Body, json_response, response};
use crate::scripted::{Fault, Reply, Wire};

/// The connection ends here, because the script says so or the time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the connection is closed in the middle")]
pub(super) struct Broken;

/// Something to send, and what comes before it.
#[derive(Debug)]
struct Write {
    wait: Duration,
    bytes: Bytes,
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Complete,
    /// The connection is closed.
    Cut,
    /// Nothing comes any more.
    Silence,
}

pub(super) async fn answer(
    dialect: Dialect,
    wanted: &Wanted,
    reply: Reply,
    most: Duration,
) -> Result<Response<Body>, Broken> {
    let deadline = Instant::now() + most;
    if reply.chunks.is_empty()
        && let Some(fault) = &reply.fault
    {
        // Nothing of the answer is sent, so the failure takes its place.
        pass(reply.pace.delay, deadline).await?;
        match fault.kind {
            ModelErrorKind::Status(status) => return Ok(refused(dialect, status, fault)),
            ModelErrorKind::TimedOut => return silence(deadline).await,
            ModelErrorKind::Network => return Err(Broken),
            _ => {}
        }
    }
    if wanted.stream {
        let (writes, ending) = streamed(dialect, wanted, &reply);
        let body = body(split(writes, reply.wire), ending, deadline);
        return Ok(response(StatusCode::OK, "text/event-stream", body));
    }
    at_once(dialect, wanted, &reply, deadline).await
}

/// An answer in one piece.
async fn at_once(
    dialect: Dialect,
    wanted: &Wanted,
    reply: &Reply,
    deadline: Instant,
) -> Result<Response<Body>, Broken> {
    pass(reply.pace.delay, deadline).await?;
    let json = dialect.whole(wanted, reply);
    let Some(fault) = &reply.fault else { return Ok(json_response(StatusCode::OK, &json)) };
    let mut half = json.to_string();
    half.truncate(half.floor_char_boundary(half.len() / 2));
    let ending = match fault.kind {
        ModelErrorKind::Status(status) => return Ok(refused(dialect, status, fault)),
        ModelErrorKind::Malformed => Ending::Complete,
        ModelErrorKind::TimedOut => Ending::Silence,
        _ => Ending::Cut,
    };
    let writes = vec![Write { wait: Duration::ZERO, bytes: half.into() }];
    let body = body(split(writes, reply.wire), ending, deadline);
    Ok(response(StatusCode::OK, "application/json", body))
}

fn refused(dialect: Dialect, status: u16, fault: &Fault) -> Response<Body> {
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

/// The events of a stream, and how it ends.
fn streamed(dialect: Dialect, wanted: &Wanted, reply: &Reply) -> (Vec<Write>, Ending) {
    let mut blocks = Blocks::default();
    let mut writes = Vec::with_capacity(reply.chunks.len() + 3);
    let write = |wait, text: String| Write { wait, bytes: text.into() };
    writes.push(write(reply.pace.delay, dialect.head(wanted, reply)));
    let is_piece = |chunk: &&Chunk| !matches!(chunk, Chunk::Usage(_) | Chunk::Done(_));
    for (at, chunk) in reply.chunks.iter().filter(is_piece).enumerate() {
        if reply.wire.keep_alive {
            writes.push(write(Duration::ZERO, dialect.keep_alive().to_owned()));
        }
        let wait = if at == 0 { Duration::ZERO } else { reply.pace.pause };
        writes.push(write(wait, dialect.piece(wanted, &mut blocks, chunk)));
    }
    let Some(fault) = &reply.fault else {
        writes.push(write(Duration::ZERO, dialect.tail(wanted, &mut blocks, reply)));
        return (writes, Ending::Complete);
    };
    let ending = match fault.kind {
        ModelErrorKind::Status(status) => {
            let event = dialect.error_event(status, &fault.message());
            writes.push(write(Duration::ZERO, event));
            Ending::Complete
        }
        ModelErrorKind::Malformed => {
            let tail = dialect.tail(wanted, &mut blocks, reply);
            writes.push(write(Duration::ZERO, dialect.malformed().to_owned()));
            writes.push(write(Duration::ZERO, tail));
            Ending::Complete
        }
        ModelErrorKind::TimedOut => Ending::Silence,
        _ => Ending::Cut,
    };
    (writes, ending)
}

/// Breaks writes into smaller ones, in the middle of characters, too.
fn split(writes: Vec<Write>, wire: Wire) -> Vec<Write> {
    let Some(size) = wire.split else { return writes };
    let mut split = Vec::new();
    for Write { mut wait, mut bytes } in writes {
        while !bytes.is_empty() {
            let piece = bytes.split_to(size.min(bytes.len()));
            split.push(Write { wait: std::mem::take(&mut wait), bytes: piece });
        }
    }
    split
}

fn body(writes: Vec<Write>, ending: Ending, deadline: Instant) -> Body {
    let writes = stream::iter(writes).then(move |Write { wait, bytes }| async move {
        pass(wait, deadline).await?;
        // A body that has to be waited for is flushed, so each write is one.
        tokio::task::yield_now().await;
        Ok(Frame::data(bytes))
    });
    BoxBody::new(StreamBody::new(writes.chain(end(ending, deadline))))
}

fn end(ending: Ending, deadline: Instant) -> impl Stream<Item = Result<Frame<Bytes>, Broken>> {
    stream::once(async move {
        tokio::task::yield_now().await;
        match ending {
            Ending::Complete => None,
            Ending::Cut => Some(Err(Broken)),
            Ending::Silence => Some(silence(deadline).await),
        }
    })
    .filter_map(std::future::ready)
}

/// Says nothing until the time is over.
async fn silence<T>(deadline: Instant) -> Result<T, Broken> {
    tokio::time::sleep_until(deadline).await;
    Err(Broken)
}

/// Waits, but not beyond the time.
async fn pass(wait: Duration, deadline: Instant) -> Result<(), Broken> {
    if wait.is_zero() {
        return Ok(());
    }
    tokio::time::timeout_at(deadline, tokio::time::sleep(wait)).await.map_err(|_| Broken)
}
