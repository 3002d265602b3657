//! The `recall` tool: searches the messages that are no longer in the prompt.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_domain::tool::{ToolGroup, ToolName, ToolSpec, Trust};
use ostler_engine::gate::Authorized;
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::tool::{Tool, ToolContext, ToolDefinition, ToolReply};
use ostler_store::RecalledMessage;
use serde::Deserialize;
use serde_json::json;

use super::thread::Shared;

/// The tool that searches messages.
pub const RECALL: ToolName = ToolName::from_static("recall");

const DESCRIPTION: &str = "Searches the earlier messages of this conversation, which you are no \
    longer shown, by words and returns the best matches. Use it before you say that you do not \
    remember.";
/// What an answer of the tool begins with.
const MARK: &str = "[recall]";
const DEFAULT_HITS: u32 = 5;
const MAX_HITS: u32 = 20;
/// The most bytes of a message that is shown in full; of a longer one, an excerpt is shown.
const MAX_FULL_TEXT: usize = 1500;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: String,
    #[serde(default)]
    limit: Option<u32>,
}

pub(super) struct RecallTool {
    shared: Arc<Shared>,
    definition: ToolDefinition,
}

impl RecallTool {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "query": {
                    "type": "string", "minLength": 1, "maxLength": 500,
                    "description": "Words that the message contains."
                },
                "limit": {
                    "type": "integer", "minimum": 1, "maximum": MAX_HITS,
                    "description": "How many messages at most; 5 if left out."
                }
            },
            "required": ["query"],
            "additionalProperties": false
        });
        let spec = ToolSpec::read(RECALL, ToolGroup::Knowledge);
        Self { shared, definition: ToolDefinition::new(spec, DESCRIPTION, schema) }
    }

    async fn search(&self, call: &Authorized) -> ToolOutcome {
        let Arguments { query, limit } = match call.arguments() {
            Ok(arguments) => arguments,
            Err(outcome) => return outcome,
        };
        let limit = limit.unwrap_or(DEFAULT_HITS).clamp(1, MAX_HITS);
        match self.shared.recall(&query, limit).await {
            Ok(hits) => outcome(&hits),
            Err(error) => ToolOutcome::failed(format!("The messages cannot be searched: {error}")),
        }
    }
}

impl Tool for RecallTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call<'a>(&'a self, call: &'a Authorized, _: &'a ToolContext) -> BoxFuture<'a, ToolReply> {
        async move { ToolReply::Done(self.search(call).await) }.boxed()
    }
}

fn outcome(hits: &[RecalledMessage]) -> ToolOutcome {
    let mut text = format!("{MARK} {} earlier messages found\n", hits.len());
    for RecalledMessage { message, excerpt, .. } in hits {
        let is_short = message.text.len() <= MAX_FULL_TEXT;
        let shown = if is_short { &message.text } else { excerpt };
        text.push_str(&format!("#{} {}: {shown}\n", message.seq, message.speaker.as_str()));
    }
    let trust = hits.iter().map(|hit| hit.message.trust);
    let trust = trust.fold(Trust::Trusted, Trust::after_reading);
    ToolOutcome { trust, ..ToolOutcome::ok(text) }
}

/// Returns the result of a tool without recalled messages, which are neither observed nor
/// found a second time.
pub(super) fn without_recalled(content: &str) -> &str {
    if content.starts_with(MARK) { content.lines().next().unwrap_or_default() } else { content }
}
