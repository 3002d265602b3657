//! What a server on the network answers, of a bounded size.

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use http::header::CONTENT_TYPE;
use reqwest::Response;
use rmcp::model::{JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{SseError, StreamableHttpPostResponse};
use sse_stream::{Sse, SseStream};

use super::http::HttpFailure;

/// Events as they come.
pub(super) type Events = BoxStream<'static, Result<Sse, SseError>>;

/// What a response to a message says.
pub(super) async fn answer(
    response: Response,
    awaited: bool,
    most: usize,
) -> Result<StreamableHttpPostResponse, HttpFailure> {
    let status = response.status();
    let session = response.headers().get(HEADER_SESSION_ID);
    let session = session.and_then(|id| id.to_str().ok()).map(str::to_owned);
    if status.is_success() && !awaited {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    if status.is_success() && is(&response, EVENT_STREAM_MIME_TYPE) {
        return Ok(StreamableHttpPostResponse::Sse(events(response, most), session));
    }
    if !is(&response, JSON_MIME_TYPE) {
        let status_says = HttpFailure::Status(status.as_u16());
        return Err(if status.is_success() { HttpFailure::NotAMessage } else { status_says });
    }
    let body = bounded_body(response, most).await?;
    match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
        Ok(message) if status.is_success() => {
            Ok(StreamableHttpPostResponse::Json(message, session))
        }
        // An error of the protocol says more than the status.
        Ok(message @ JsonRpcMessage::Error(_)) => {
            Ok(StreamableHttpPostResponse::Json(message, session))
        }
        _ if status.is_success() => Err(HttpFailure::NotAMessage),
        _ => Err(HttpFailure::Status(status.as_u16())),
    }
}

pub(super) fn is(response: &Response, kind: &str) -> bool {
    let header = response.headers().get(CONTENT_TYPE);
    header.is_some_and(|value| value.as_bytes().starts_with(kind.as_bytes()))
}

async fn bounded_body(response: Response, most: usize) -> Result<Vec<u8>, HttpFailure> {
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(HttpFailure::from)?;
        if body.len() + chunk.len() > most {
            return Err(HttpFailure::TooLarge(most));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Events of a bounded size each.
pub(super) fn events(response: Response, most: usize) -> Events {
    let mut size = EventSize { most, size: 0, empty_line: true };
    let chunks = response.bytes_stream().map(move |chunk| {
        let chunk = chunk.map_err(HttpFailure::from)?;
        size.count(&chunk)?;
        Ok::<_, HttpFailure>(chunk)
    });
    SseStream::from_bytes_stream(chunks).boxed()
}

/// Counts the bytes of an event, which ends with an empty line.
struct EventSize {
    most: usize,
    size: usize,
    empty_line: bool,
}

impl EventSize {
    fn count(&mut self, chunk: &[u8]) -> Result<(), HttpFailure> {
        for byte in chunk {
            match byte {
                b'\r' => {}
                b'\n' if self.empty_line => self.size = 0,
                b'\n' => self.empty_line = true,
                _ => {
                    self.empty_line = false;
                    self.size += 1;
                }
            }
            if self.size > self.most {
                return Err(HttpFailure::TooLarge(self.most));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{EventSize, HttpFailure};

    #[test]
    fn events_have_a_limit_each() {
        let check = |chunks: &[&str], expected: Result<(), HttpFailure>| {
            let mut size = EventSize { most: 10, size: 0, empty_line: true };
            let counted = chunks.iter().try_for_each(|chunk| size.count(chunk.as_bytes()));
            assert_eq!(counted, expected, "{chunks:?}");
        };
        check(&["data: 1234\n\n", "data: 1234\n\n", ": ping\n\n"], Ok(()));
        check(&["data: 1234\r\n", "\r\ndata: 12", "34\r\n\r\n"], Ok(()));
        check(&["data: 12345\n\n"], Err(HttpFailure::TooLarge(10)));
        check(&["data: 1\n", "data: 1\n"], Err(HttpFailure::TooLarge(10)));
        check(&["xxxxxxxx", "xxxxxxxx"], Err(HttpFailure::TooLarge(10)));
    }
}
