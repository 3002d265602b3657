//! A stream of events of the API.

use std::time::Duration;

use anyhow::{Context as _, anyhow};
use futures_util::StreamExt as _;
use ostler_models::sse::SseParser;
use ostler_server::local::LocalStream;
use reqwest::Response;

/// The largest event.
const MAX_EVENT_BYTES: usize = 8 << 20;
/// A server says something every 15 seconds.
const IDLE_TIMEOUT: Duration = Duration::from_secs(45);

/// An event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerEvent {
    /// Where the stream is continued; ephemeral events have none.
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) data: String,
}

/// A stream of events that is open.
pub(crate) struct EventStream {
    body: BodyStream,
    parser: SseParser,
}

/// The body of a response that is read as it comes.
pub(super) enum BodyStream {
    Local(LocalStream),
    Network(Response),
}

impl EventStream {
    pub(super) const fn new(body: BodyStream) -> Self {
        Self { body, parser: SseParser::new(MAX_EVENT_BYTES) }
    }

    /// Returns the next event; none at the end of the stream. Fails if nothing comes for long.
    pub(crate) async fn next(&mut self) -> anyhow::Result<Option<ServerEvent>> {
        loop {
            if let Some(event) = self.parser.next_event()? {
                return Ok(Some(ServerEvent {
                    id: event.id.map(String::from),
                    name: event.name.into(),
                    data: event.data.into(),
                }));
            }
            match self.body.next_chunk().await? {
                Some(chunk) => self.parser.feed(&chunk),
                None => return Ok(None),
            }
        }
    }
}

impl BodyStream {
    /// Returns the next bytes; none at the end. Fails if nothing comes for long.
    pub(super) async fn next_chunk(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        let chunk = tokio::time::timeout(IDLE_TIMEOUT, self.chunk()).await;
        let late = |_| anyhow!("nothing has come for {} s", IDLE_TIMEOUT.as_secs());
        chunk.map_err(late)?.transpose()
    }

    async fn chunk(&mut self) -> Option<anyhow::Result<Vec<u8>>> {
        match self {
            Self::Local(stream) => {
                let chunk = stream.next().await?;
                Some(chunk.map(Vec::from).context("the answer cannot be read"))
            }
            Self::Network(response) => {
                let chunk = response.chunk().await.transpose()?;
                Some(chunk.map(Vec::from).context("the connection broke off"))
            }
        }
    }
}
