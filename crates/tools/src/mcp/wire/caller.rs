//! Calling the tools of a server.

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

use super::answer;
use super::http::HttpFailure;
use crate::mcp::config::McpLimits;

/// What a server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::mcp) struct Answer {
    pub(in crate::mcp) text: String,
    pub(in crate::mcp) is_error: bool,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::mcp) enum CallFailure {
    /// The call did not reach it, or not in a form that it takes.
    NotTaken(String),
    /// It said no.
    Refused(String),
    /// The connection broke; whether it did anything, nobody knows.
    Lost(String),
    /// It took too long.
    TimedOut(Duration),
    /// Its answer is too large.
    TooLarge(usize),
    /// It asked for something that is not done here.
    NotSupported(&'static str),
}

/// What calls the tools of a server, for as long as the connection lasts.
#[derive(Clone)]
pub(in crate::mcp) struct Caller {
    pub(super) peer: Peer<RoleClient>,
    /// How many messages were cut because they were too long.
    cut: watch::Receiver<u64>,
    calls: Arc<AtomicUsize>,
    most_bytes: usize,
    most_output: usize,
    time: Duration,
}

impl Caller {
    pub(super) fn new(
        peer: Peer<RoleClient>,
        cut: watch::Receiver<u64>,
        limits: &McpLimits,
    ) -> Self {
        Self {
            peer,
            cut,
            calls: Arc::default(),
            most_bytes: limits.message,
            most_output: limits.output,
            time: limits.call,
        }
    }

    /// Calls a tool. Dropping the future tells the server that nobody waits any
    /// more.
    pub(in crate::mcp) async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
    ) -> Result<Answer, CallFailure> {
        if self.peer.is_transport_closed() {
            return Err(CallFailure::NotTaken("the connection is closed".to_owned()));
        }
        let _counted = Counted::new(&self.calls);
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let mut cut = self.cut.clone();
        cut.mark_unchanged();
        let answered = async {
            tokio::select! {
                answered = self.peer.call_tool_once(params) => answered.map_err(|e| failure(&e)),
                () = self.cut_short(cut) => Err(CallFailure::TooLarge(self.most_bytes)),
            }
        };
        match timeout(self.time, answered).await {
            Ok(Ok(CallToolResponse::Complete(result))) => {
                Ok(answer::read(result, self.most_output))
            }
            Ok(Ok(CallToolResponse::InputRequired(_))) => {
                Err(CallFailure::NotSupported("it asks for more input in the middle of a call"))
            }
            Ok(Ok(_)) => Err(CallFailure::NotSupported("it would answer later, as a task")),
            Ok(Err(failure)) => Err(failure),
            Err(_) => Err(CallFailure::TimedOut(self.time)),
        }
    }

    /// Waits until a message was cut which can only have been for this call. If
    /// several are under way, nobody knows for which one it was, and the one waits
    /// until its time is over.
    async fn cut_short(&self, mut cut: watch::Receiver<u64>) {
        while cut.changed().await.is_ok() {
            if self.calls.load(Ordering::Relaxed) == 1 {
                return;
            }
        }
        pending::<()>().await;
    }
}

/// A call that is under way.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn failure(error: &ServiceError) -> CallFailure {
    match error {
        ServiceError::McpError(error) => CallFailure::Refused(shown(&error.message)),
        ServiceError::TransportSend(error) => {
            let text = transport_text(error);
            if http(error).is_some_and(HttpFailure::was_not_taken) {
                CallFailure::NotTaken(text)
            } else {
                CallFailure::Lost(text)
            }
        }
        ServiceError::UnexpectedResponse => {
            CallFailure::Lost("it answered in a form that is not understood".to_owned())
        }
        _ => CallFailure::Lost("it ended in the middle of the call".to_owned()),
    }
}

fn http(error: &DynamicTransportError) -> Option<&HttpFailure> {
    match error.error.downcast_ref::<StreamableHttpError<HttpFailure>>() {
        Some(StreamableHttpError::Client(failure)) => Some(failure),
        _ => None,
    }
}

/// What went wrong on the way, in words without addresses or secrets.
pub(super) fn transport_text(error: &DynamicTransportError) -> String {
    match error.error.downcast_ref::<StreamableHttpError<HttpFailure>>() {
        Some(StreamableHttpError::Client(failure)) => failure.to_string(),
        Some(StreamableHttpError::SessionExpired) => "it forgot our session".to_owned(),
        Some(_) => "it did not answer as a streamable HTTP server does".to_owned(),
        None => shown(&error.error.to_string()),
    }
}

/// A text of a server that is fit for a message.
pub(super) fn shown(text: &str) -> String {
    text.chars().filter(|c| *c == '\n' || !c.is_control()).take(2000).collect()
}
