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
    body: Body,
    parser: SseParser,
}

enum Body {
    Local(LocalStream),
    Network(Response),
}

impl EventStream {
    pub(super) const fn of_local(stream: LocalStream) -> Self {
        Self { body: Body::Local(stream), parser: SseParser::new(MAX_EVENT_BYTES) }
    }

    pub(super) const fn of_response(response: Response) -> Self {
        Self { body: Body::Network(response), parser: SseParser::new(MAX_EVENT_BYTES) }
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
            let chunk = tokio::time::timeout(IDLE_TIMEOUT, self.body.chunk()).await;
            match chunk.map_err(|_| anyhow!("nothing has come for {} s", IDLE_TIMEOUT.as_secs()))? {
                Some(chunk) => self.parser.feed(&chunk?),
                None => return Ok(None),
            }
        }
    }
}

impl Body {
    async fn chunk(&mut self) -> Option<anyhow::Result<Vec<u8>>> {
        match self {
            Self::Local(stream) => {
                let chunk = stream.next().await?;
                Some(chunk.map(Vec::from).context("the events cannot be read"))
            }
            Self::Network(response) => {
                let chunk = response.chunk().await.transpose()?;
                Some(chunk.map(Vec::from).context("the connection broke off"))
            }
        }
    }
}
