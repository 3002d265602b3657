//! The stored messages of a session as updates, for a client that loads it.

use std::path::Path;

use agent_client_protocol::v1::schema::{SessionUpdate, ToolCallUpdate};
use ostler_harness::{HarnessMessage, HarnessMessageContent, MessageRole};

use super::tool_call::{is_hidden, tool_call};
use super::updates::{chunk, content_chunk, ended_fields, text_of};

/// Returns what a message tells the client.
pub(super) fn updates(message: &HarnessMessage, root: &Path) -> Vec<SessionUpdate> {
    // The id of a message begins with its turn.
    let turn = message.id.rsplit_once('-').map_or("", |(turn, _)| turn);
    let id = |call: &str| format!("{turn}/{call}");
    let mut updates = Vec::new();
    let text = text_of(message);
    match message.role {
        MessageRole::User => {
            updates.push(SessionUpdate::UserMessageChunk(content_chunk(&text, &message.id)));
        }
        MessageRole::Assistant if !text.is_empty() => updates.push(chunk(&text, &message.id)),
        MessageRole::Assistant | MessageRole::Tool => {}
    }
    for part in &message.content {
        match part {
            HarnessMessageContent::ToolCall { tool_call_id, tool_name, args }
                if !is_hidden(tool_name) =>
            {
                let call = tool_call(&id(tool_call_id), tool_name, args, root, None);
                updates.push(SessionUpdate::ToolCall(call));
            }
            HarnessMessageContent::ToolResult { tool_call_id, result, is_error } => {
                let fields = ended_fields(None, result, *is_error);
                let ended = ToolCallUpdate::new(id(tool_call_id), fields);
                updates.push(SessionUpdate::ToolCallUpdate(ended));
            }
            _ => {}
        }
    }
    updates
}
