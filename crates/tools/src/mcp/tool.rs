//! The engine tool for a tool of an MCP server.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ostler_domain::tool::Risk;
use ostler_engine::gate::Authorized;
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_engine::tool::{Tool, ToolContext, ToolDefinition, ToolReply};
use serde_json::Value;

use super::listing::RemoteTool;
use super::server::McpServer;
use super::wire::{McpCallError, McpCallResult};

/// A tool of an MCP server. It survives restarts of the server; calls during a restart
/// fail with an explanation.
pub(super) struct McpTool {
    server: Arc<McpServer>,
    remote: RemoteTool,
}

impl McpTool {
    pub(super) const fn new(server: Arc<McpServer>, remote: RemoteTool) -> Self {
        Self { server, remote }
    }

    async fn run(&self, call: &Authorized) -> ToolOutcome {
        let client = match self.server.client() {
            Ok(client) => client,
            Err(reason) => return ToolOutcome::failed(reason),
        };
        let Value::Object(arguments) = Value::clone(&call.call().arguments) else {
            return ToolOutcome::new(
                OutcomeStatus::Invalid,
                "The arguments are not a JSON object.",
            );
        };
        match client.call(&self.remote.remote_name, arguments).await {
            Ok(McpCallResult { text, is_error: false }) => ToolOutcome::ok(text),
            Ok(McpCallResult { text, is_error: true }) => ToolOutcome::failed(text),
            Err(error) => self.error_outcome(error),
        }
    }

    fn error_outcome(&self, error: McpCallError) -> ToolOutcome {
        let server = self.server.name();
        match error {
            McpCallError::NotDelivered(reason) => ToolOutcome::failed(format!(
                "The MCP server {server} did not get the call: {reason}."
            )),
            McpCallError::Rejected(reason) => {
                ToolOutcome::failed(format!("The MCP server {server} refused the call: {reason}"))
            }
            McpCallError::NotSupported(reason) => ToolOutcome::failed(format!(
                "The MCP server {server} cannot be used for this: {reason}."
            )),
            McpCallError::ConnectionLost(reason) => {
                let text = format!("There is no answer from the MCP server {server}: {reason}.");
                self.unanswered(OutcomeStatus::Failed, text)
            }
            McpCallError::TooLarge(max_bytes) => {
                let text = format!(
                    "The MCP server {server} answered with more than {max_bytes} bytes. The answer \
                     was discarded. Ask for less."
                );
                self.unanswered(OutcomeStatus::Failed, text)
            }
            McpCallError::TimedOut(limit) => {
                let text = format!("The MCP server {server} did not answer within {limit:?}.");
                self.unanswered(OutcomeStatus::TimedOut, text)
            }
        }
    }

    /// Returns the outcome of a call without an answer: unknown, unless the tool only
    /// reads or is idempotent.
    fn unanswered(&self, status: OutcomeStatus, text: String) -> ToolOutcome {
        let ToolDefinition { spec, idempotent, .. } = &self.remote.definition;
        if spec.risk == Risk::Read || *idempotent {
            return ToolOutcome::new(status, text);
        }
        let text = format!("{text} It is not known whether the call took effect.");
        ToolOutcome::new(OutcomeStatus::OutcomeUnknown, text)
    }
}

impl Tool for McpTool {
    fn definition(&self) -> &ToolDefinition {
        &self.remote.definition
    }

    fn call<'a>(&'a self, call: &'a Authorized, _: &'a ToolContext) -> BoxFuture<'a, ToolReply> {
        Box::pin(async move {
            let mut outcome = self.run(call).await.untrusted();
            outcome.content = self.server.redact(outcome.content);
            ToolReply::Done(outcome.truncated(self.remote.definition.max_output))
        })
    }
}
