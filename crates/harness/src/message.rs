//! Messages of a thread, as user interfaces show them.

use ostler_domain::id::RunId;
pub use ostler_domain::memory::MessageOrigin;
use ostler_domain::time::Timestamp;
use ostler_engine::history::{CallArguments, Content, Item, Media};
use ostler_engine::outcome::OutcomeStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A message of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HarnessMessage {
    /// The same while the message streams and when it is stored.
    pub id: String,
    pub role: MessageRole,
    pub content: Vec<HarnessMessageContent>,
    pub created_at: Timestamp,
    /// Whether the message was stopped before it was complete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    User,
    Assistant,
    /// Results of tool calls.
    Tool,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum HarnessMessageContent {
    Text { text: String },
    ToolCall { tool_call_id: String, tool_name: String, args: CallArguments },
    ToolResult { tool_call_id: String, result: String, is_error: bool },
    Image(Media),
    Audio(Media),
    File(Media),
}

/// A message as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredItem {
    pub(crate) item: Item,
    pub(crate) at: Timestamp,
    #[serde(default, skip_serializing_if = "is_conversation")]
    pub(crate) origin: MessageOrigin,
}

fn is_conversation(origin: &MessageOrigin) -> bool {
    *origin == MessageOrigin::Conversation
}

impl StoredItem {
    /// Returns the message that user interfaces show.
    pub(crate) fn message(&self, turn: RunId, seq: i64) -> HarnessMessage {
        message(message_id(turn, seq), &self.item, self.at)
    }
}

/// Returns the id of a message.
pub(crate) fn message_id(turn: RunId, seq: i64) -> String {
    format!("{turn}-{seq}")
}

/// Returns an entry of the conversation as a message.
pub(crate) fn message(id: String, item: &Item, created_at: Timestamp) -> HarnessMessage {
    let (role, content, partial) = match item {
        Item::User { content } => {
            (MessageRole::User, content.iter().map(content_part).collect(), false)
        }
        Item::Assistant { text, calls, partial } => {
            let text = (!text.is_empty()).then(|| text_part(text));
            let calls = calls.iter().map(|call| HarnessMessageContent::ToolCall {
                tool_call_id: call.id.to_string(),
                tool_name: call.name.clone(),
                args: call.arguments.clone(),
            });
            (MessageRole::Assistant, text.into_iter().chain(calls).collect(), *partial)
        }
        Item::Results { results } => {
            let results = results.iter().map(|result| HarnessMessageContent::ToolResult {
                tool_call_id: result.call.to_string(),
                result: result.outcome.content.clone(),
                is_error: result.outcome.status != OutcomeStatus::Ok,
            });
            (MessageRole::Tool, results.collect(), false)
        }
    };
    HarnessMessage { id, role, content, created_at, partial }
}

/// Returns what stands in place of a stored message that cannot be read.
pub(crate) fn unreadable_message(id: String) -> HarnessMessage {
    let content = vec![text_part("[This message cannot be read.]")];
    let created_at = Timestamp::from_millis(0);
    HarnessMessage { id, role: MessageRole::Assistant, content, created_at, partial: true }
}

pub(crate) fn text_part(text: &str) -> HarnessMessageContent {
    HarnessMessageContent::Text { text: text.to_owned() }
}

fn content_part(part: &Content) -> HarnessMessageContent {
    match part {
        Content::Text { text } => text_part(text),
        Content::Image(media) => HarnessMessageContent::Image(media.clone()),
        Content::Audio(media) => HarnessMessageContent::Audio(media.clone()),
        Content::File(media) => HarnessMessageContent::File(media.clone()),
    }
}
