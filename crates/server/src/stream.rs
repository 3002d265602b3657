//! Server-sent events with back-pressure, heartbeats and a maximum age.
//!
//! A reader that is too slow is disconnected and resumes at its cursor. Every
//! stream ends after an hour, and when its key or log-in ends.

use std::convert::Infallible;
use std::net::IpAddr;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use ostler_api::problem::ProblemCode;
use ostler_domain::id::{BindingId, OrgId};
use tokio::sync::mpsc;

use crate::client_address::counted_address;
use crate::error::{ApiError, Result};
use crate::server::{ClientAddress, Server, ServerLimits};

/// Events buffered for a reader.
const BUFFER: usize = 64;
/// How long a full buffer is waited for.
const SEND_TIMEOUT: Duration = Duration::from_secs(20);
const MAX_AGE: Duration = Duration::from_secs(60 * 60);
/// Interval of comments while there are no events.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Whose streams are counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum StreamHolder {
    Address(IpAddr),
    Visitor(BindingId, String),
    Org(OrgId),
}

impl StreamHolder {
    pub(crate) fn address(client: ClientAddress) -> Self {
        Self::Address(counted_address(client.0))
    }

    fn max(&self, limits: &ServerLimits) -> usize {
        match self {
            Self::Address(_) => limits.streams_per_address,
            Self::Visitor(..) => limits.streams_per_visitor,
            Self::Org(_) => limits.streams_per_org,
        }
    }
}

/// The reader disconnected or is too slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Disconnected;

/// Sends events to one reader.
pub(crate) struct EventSink(mpsc::Sender<Event>);

impl EventSink {
    pub(crate) async fn send(&self, event: Event) -> std::result::Result<(), Disconnected> {
        match tokio::time::timeout(SEND_TIMEOUT, self.0.send(event)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Disconnected),
        }
    }
}

/// Opens a stream that `write` fills until it returns, the reader disconnects or is
/// revoked, or the server stops. Fails if one of the holders has too many of them.
pub(crate) fn open<R, W, F>(
    server: &Server,
    holders: impl IntoIterator<Item = StreamHolder>,
    revoked: R,
    write: W,
) -> Result<Response>
where
    R: Future<Output = ()> + Send + 'static,
    W: FnOnce(EventSink) -> F,
    F: Future<Output = std::result::Result<(), Disconnected>> + Send + 'static,
{
    let Ok(permit) = server.streams.clone().try_acquire_owned() else {
        return Err(ApiError::new(
            ProblemCode::Unavailable,
            "too many open streams; try again later",
        ));
    };
    let count = |holder: StreamHolder| {
        let max = holder.max(&server.limits);
        server.open_streams.open(holder, max).ok_or_else(|| {
            ApiError::new(ProblemCode::TooMany, "too many open streams; close one first")
        })
    };
    let counted = holders.into_iter().map(count).collect::<Result<Vec<_>>>()?;
    let (sender, events) = mpsc::channel(BUFFER);
    let reader = sender.clone();
    let written = write(EventSink(sender));
    let mut stop = server.stop.subscribe();
    tokio::spawn(async move {
        let _open = (permit, counted);
        tokio::select! {
            _ = written => {}
            () = reader.closed() => {}
            () = revoked => {}
            _ = stop.wait_for(|stop| *stop) => {}
            () = tokio::time::sleep(MAX_AGE) => {}
        }
    });
    let events = stream::unfold(events, async |mut events| {
        events.recv().await.map(|event| (Ok::<_, Infallible>(event), events))
    });
    let alive = KeepAlive::new().interval(HEARTBEAT);
    Ok(Sse::new(events).keep_alive(alive).into_response())
}
