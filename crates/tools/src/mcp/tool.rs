//! A tool of a server.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ostler_domain::tool::Risk;
use ostler_engine::gate::Authorized;
use ostler_engine::outcome::{Outcome, Status};
use ostler_engine::tool::{Definition, Reply, Tool, ToolContext};
use serde_json::Value;

use super::offer::Offer;
use super::server::Server;
use super::wire::{Answer, CallFailure};

/// A tool of a server. It stays usable while the server is started again: calls
/// meanwhile are told so.
pub(super) struct McpTool {
    server: Arc<Server>,
    offer: Offer,
}

impl McpTool {
    pub(super) const fn new(server: Arc<Server>, offer: Offer) -> Self {
        Self { server, offer }
    }

    async fn run(&self, call: &Authorized) -> Outcome {
        let caller = match self.server.caller() {
            Ok(caller) => caller,
            Err(why) => return Outcome::failed(why),
        };
        let Value::Object(arguments) = call.call().arguments.clone() else {
            return Outcome::of(Status::Invalid, "The arguments are not a JSON object.");
        };
        match caller.call(&self.offer.remote, arguments).await {
            Ok(Answer { text, is_error: false }) => Outcome::ok(text),
            Ok(Answer { text, is_error: true }) => Outcome::failed(text),
            Err(failure) => self.failed(failure),
        }
    }

    fn failed(&self, failure: CallFailure) -> Outcome {
        let server = self.server.name();
        match failure {
            CallFailure::NotTaken(why) => {
                Outcome::failed(format!("The MCP server {server} did not take the call: {why}."))
            }
            CallFailure::Refused(why) => {
                Outcome::failed(format!("The MCP server {server} refused the call: {why}"))
            }
            CallFailure::NotSupported(what) => {
                Outcome::failed(format!("The MCP server {server} cannot be used for this: {what}."))
            }
            CallFailure::Lost(why) => {
                let why = format!("There is no answer from the MCP server {server}: {why}.");
                self.unanswered(Status::Failed, why)
            }
            CallFailure::TooLarge(most) => {
                let why = format!(
                    "The MCP server {server} answered with more than {most} bytes, which was \
                     thrown away. Ask for less."
                );
                self.unanswered(Status::Failed, why)
            }
            CallFailure::TimedOut(time) => {
                let why = format!("The MCP server {server} did not answer within {time:?}.");
                self.unanswered(Status::TimedOut, why)
            }
        }
    }

    /// A call that was begun and has no answer may have been done all the same.
    /// That matters unless it only reads or may be repeated.
    fn unanswered(&self, status: Status, why: String) -> Outcome {
        let Definition { spec, idempotent, .. } = &self.offer.definition;
        if spec.risk == Risk::Read || *idempotent {
            return Outcome::of(status, why);
        }
        let why = format!("{why} Nobody knows whether it was done.");
        Outcome::of(Status::OutcomeUnknown, why)
    }
}

impl Tool for McpTool {
    fn definition(&self) -> &Definition {
        &self.offer.definition
    }

    fn call<'a>(&'a self, call: &'a Authorized, _: &'a ToolContext) -> BoxFuture<'a, Reply> {
        Box::pin(async move {
            let outcome = self.run(call).await.untrusted();
            Reply::Done(outcome.capped(self.offer.definition.max_output))
        })
    }
}
