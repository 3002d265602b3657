//! Reads HTTP responses with a limited size.

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

use super::http::McpHttpError;
use super::task_tools::TaskTools;

/// A stream of server-sent events.
pub(super) type EventStream = BoxStream<'static, Result<Sse, SseError>>;

/// Reads the response to a posted message. Without `expects_answer` the content is
/// ignored.
pub(super) async fn read_response(
    response: Response,
    expects_answer: bool,
    max_bytes: usize,
    task_tools: &TaskTools,
) -> Result<StreamableHttpPostResponse, McpHttpError> {
    let status = response.status();
    let session = response.headers().get(HEADER_SESSION_ID);
    let session = session.and_then(|id| id.to_str().ok()).map(str::to_owned);
    if status.is_success() && !expects_answer {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    if status.is_success() && has_content_type(&response, EVENT_STREAM_MIME_TYPE) {
        let events = event_stream(response, max_bytes, task_tools.clone());
        return Ok(StreamableHttpPostResponse::Sse(events, session));
    }
    if !has_content_type(&response, JSON_MIME_TYPE) {
        let status_error = McpHttpError::Status(status.as_u16());
        return Err(if status.is_success() { McpHttpError::InvalidMessage } else { status_error });
    }
    let body = read_body(response, max_bytes).await?;
    task_tools.observe(&body);
    match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
        Ok(message) if status.is_success() => {
            Ok(StreamableHttpPostResponse::Json(message, session))
        }
        // A protocol error says more than the status.
        Ok(message @ JsonRpcMessage::Error(_)) => {
            Ok(StreamableHttpPostResponse::Json(message, session))
        }
        _ if status.is_success() => Err(McpHttpError::InvalidMessage),
        _ => Err(McpHttpError::Status(status.as_u16())),
    }
}

pub(super) fn has_content_type(response: &Response, kind: &str) -> bool {
    let header = response.headers().get(CONTENT_TYPE);
    header.is_some_and(|value| value.as_bytes().starts_with(kind.as_bytes()))
}

async fn read_body(response: Response, max_bytes: usize) -> Result<Vec<u8>, McpHttpError> {
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(McpHttpError::from)?;
        if body.len() + chunk.len() > max_bytes {
            return Err(McpHttpError::TooLarge(max_bytes));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Returns the events of a response. The stream fails at an event that is too large.
pub(super) fn event_stream(
    response: Response,
    max_bytes: usize,
    task_tools: TaskTools,
) -> EventStream {
    let mut size = EventSize { max_bytes, size: 0, empty_line: true };
    let chunks = response.bytes_stream().map(move |chunk| {
        let chunk = chunk.map_err(McpHttpError::from)?;
        size.count(&chunk)?;
        Ok::<_, McpHttpError>(chunk)
    });
    let events = SseStream::from_bytes_stream(chunks);
    events
        .inspect(move |event| {
            if let Ok(Sse { data: Some(data), .. }) = event {
                task_tools.observe(data.as_bytes());
            }
        })
        .boxed()
}

/// Counts the bytes of an event. An empty line ends an event.
struct EventSize {
    max_bytes: usize,
    size: usize,
    empty_line: bool,
}

impl EventSize {
    fn count(&mut self, chunk: &[u8]) -> Result<(), McpHttpError> {
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
            if self.size > self.max_bytes {
                return Err(McpHttpError::TooLarge(self.max_bytes));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{EventSize, McpHttpError};

    #[test]
    fn each_event_has_a_size_limit() {
        let check = |chunks: &[&str], expected: Result<(), McpHttpError>| {
            let mut size = EventSize { max_bytes: 10, size: 0, empty_line: true };
            let counted = chunks.iter().try_for_each(|chunk| size.count(chunk.as_bytes()));
            assert_eq!(counted, expected, "{chunks:?}");
        };
        check(&["data: 1234\n\n", "data: 1234\n\n", ": ping\n\n"], Ok(()));
        check(&["data: 1234\r\n", "\r\ndata: 12", "34\r\n\r\n"], Ok(()));
        check(&["data: 12345\n\n"], Err(McpHttpError::TooLarge(10)));
        check(&["data: 1\n", "data: 1\n"], Err(McpHttpError::TooLarge(10)));
        check(&["xxxxxxxx", "xxxxxxxx"], Err(McpHttpError::TooLarge(10)));
    }
}
