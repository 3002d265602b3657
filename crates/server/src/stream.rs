//! Server-sent events: bounded, with heartbeats, and an end.
//!
//! Whoever reads too slowly is cut off, and comes again where they were. So is
//! everybody after an hour: a key may have been revoked meanwhile.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use ostler_api::problem::Code;
use tokio::sync::mpsc;

use crate::refused::{Refused, Result};
use crate::server::Server;

/// How many events wait for a reader.
const WAITING: usize = 64;
/// How long the oldest of them waits.
const SLOW: Duration = Duration::from_secs(20);
/// How long a stream lasts.
const LASTS: Duration = Duration::from_secs(60 * 60);
/// How often something is said when there is nothing to say.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The reader is gone, or too slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gone;

/// The way to a reader.
pub(crate) struct Pipe(mpsc::Sender<Event>);

impl Pipe {
    pub(crate) async fn send(&self, event: Event) -> std::result::Result<(), Gone> {
        match tokio::time::timeout(SLOW, self.0.send(event)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Gone),
        }
    }
}

/// A stream that somebody writes until they are done, nobody reads any more, or
/// the server stops.
pub(crate) fn open<W, F>(server: &Server, write: W) -> Result<Response>
where
    W: FnOnce(Pipe) -> F,
    F: Future<Output = std::result::Result<(), Gone>> + Send + 'static,
{
    let Ok(permit) = server.streams.clone().try_acquire_owned() else {
        return Err(Refused::new(Code::Unavailable, "there are too many streams; try again later"));
    };
    let (pipe, events) = mpsc::channel(WAITING);
    let reader = pipe.clone();
    let written = write(Pipe(pipe));
    let mut stop = server.stop.subscribe();
    tokio::spawn(async move {
        let _permit = permit;
        tokio::select! {
            _ = written => {}
            () = reader.closed() => {}
            _ = stop.wait_for(|stop| *stop) => {}
            () = tokio::time::sleep(LASTS) => {}
        }
    });
    let events = stream::unfold(events, async |mut events| {
        events.recv().await.map(|event| (Ok::<_, Infallible>(event), events))
    });
    let alive = KeepAlive::new().interval(HEARTBEAT);
    Ok(Sse::new(events).keep_alive(alive).into_response())
}
