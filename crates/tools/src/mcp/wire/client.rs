//! Calls the tools of a server.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::model::{CallToolRequestParams, CallToolResponse, JsonObject};
use rmcp::service::{Peer, RoleClient, ServiceError};
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use tokio::sync::watch;
use tokio::time::timeout;

use super::call_result;
use super::http::McpHttpError;
use super::task_tools::TaskTools;
use crate::mcp::config::McpLimits;

/// The answer of a server to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::mcp) struct McpCallResult {
    pub(in crate::mcp) text: String,
    pub(in crate::mcp) is_error: bool,
}

/// Why a call has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::mcp) enum McpCallError {
    /// The server did not get the call, or says that the request is wrong.
    NotDelivered(String),
    /// The server answered with a protocol error.
    Rejected(String),
    /// The connection was lost; the call may have taken effect.
    ConnectionLost(String),
    /// After this time.
    TimedOut(Duration),
    /// The answer has more than this many bytes.
    TooLarge(usize),
    /// The server needs a protocol feature that is not supported.
    NotSupported(&'static str),
}

/// A client of a connected server.
#[derive(Clone)]
pub(in crate::mcp) struct McpClient {
    pub(super) peer: Peer<RoleClient>,
    /// Counts the messages that were truncated because they were too long.
    truncated: watch::Receiver<u64>,
    pub(super) task_tools: TaskTools,
    calls_in_flight: Arc<AtomicUsize>,
    max_message_bytes: usize,
    max_output_bytes: usize,
    timeout: Duration,
}

impl McpClient {
    pub(super) fn new(
        peer: Peer<RoleClient>,
        truncated: watch::Receiver<u64>,
        task_tools: TaskTools,
        limits: &McpLimits,
    ) -> Self {
        Self {
            peer,
            truncated,
            task_tools,
            calls_in_flight: Arc::default(),
            max_message_bytes: limits.max_message_bytes,
            max_output_bytes: limits.max_output_bytes,
            timeout: limits.call_timeout,
        }
    }

    /// Calls a tool. Dropping the future cancels the call at the server.
    pub(in crate::mcp) async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
    ) -> Result<McpCallResult, McpCallError> {
        if self.peer.is_transport_closed() {
            return Err(McpCallError::NotDelivered("the connection is closed".to_owned()));
        }
        let _in_flight = InFlightGuard::new(&self.calls_in_flight);
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let mut truncated = self.truncated.clone();
        truncated.mark_unchanged();
        let call = async {
            tokio::select! {
                result = self.peer.call_tool_once(params) => result.map_err(|e| call_error(&e)),
                () = self.answer_truncated(truncated) => {
                    Err(McpCallError::TooLarge(self.max_message_bytes))
                }
            }
        };
        match timeout(self.timeout, call).await {
            Ok(Ok(CallToolResponse::Complete(result))) => {
                Ok(call_result::to_text(result, self.max_output_bytes))
            }
            Ok(Ok(CallToolResponse::InputRequired(_))) => {
                Err(McpCallError::NotSupported("it asks for more input during a call"))
            }
            Ok(Ok(_)) => Err(McpCallError::NotSupported("it answers later with a task")),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(McpCallError::TimedOut(self.timeout)),
        }
    }

    /// Waits until a message was truncated that can only be the answer to this call. With
    /// several calls in flight it is unclear which one it was for, so the call waits for
    /// its timeout.
    async fn answer_truncated(&self, mut truncated: watch::Receiver<u64>) {
        while truncated.changed().await.is_ok() {
            if self.calls_in_flight.load(Ordering::Relaxed) == 1 {
                return;
            }
        }
        pending::<()>().await;
    }
}

/// Counts a call while it is in flight.
struct InFlightGuard<'a>(&'a AtomicUsize);

impl<'a> InFlightGuard<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn call_error(error: &ServiceError) -> McpCallError {
    match error {
        ServiceError::McpError(error) => McpCallError::Rejected(printable(&error.message)),
        ServiceError::TransportSend(error) => {
            let text = transport_error_text(error);
            if http_error(error).is_some_and(McpHttpError::was_not_processed) {
                McpCallError::NotDelivered(text)
            } else {
                McpCallError::ConnectionLost(text)
            }
        }
        ServiceError::UnexpectedResponse => {
            McpCallError::ConnectionLost("its answer is not a valid response".to_owned())
        }
        _ => McpCallError::ConnectionLost("it closed the connection during the call".to_owned()),
    }
}

fn http_error(error: &DynamicTransportError) -> Option<&McpHttpError> {
    match error.error.downcast_ref::<StreamableHttpError<McpHttpError>>() {
        Some(StreamableHttpError::Client(error)) => Some(error),
        _ => None,
    }
}

/// Describes a transport error without addresses or secrets.
pub(super) fn transport_error_text(error: &DynamicTransportError) -> String {
    match error.error.downcast_ref::<StreamableHttpError<McpHttpError>>() {
        Some(StreamableHttpError::Client(error)) => error.to_string(),
        Some(StreamableHttpError::SessionExpired) => "the session has expired".to_owned(),
        Some(_) => "it does not follow the streamable HTTP protocol".to_owned(),
        None => printable(&error.error.to_string()),
    }
}

/// Returns a text of a server that is safe to show in a message.
pub(super) fn printable(text: &str) -> String {
    text.chars().filter(|c| *c == '\n' || !c.is_control()).take(2000).collect()
}
