//! An estimate of tokens, for budgets and windows. What really was used is what
//! the provider says.

use crate::history::{Content, Item};
use crate::tool::ToolSet;

/// Bytes of a token, about; more of them for scripts whose letters take several.
pub const BYTES: u64 = 4;
/// What an entry costs besides its words.
const ENTRY: u64 = 4;
/// What a picture costs, about.
const IMAGE: u64 = 1600;
/// Bytes of a recording, and of a document, that are a token, about.
const SOUND_BYTES: u64 = 1024;
const FILE_BYTES: u64 = 16;
/// The most that is thought of for one of them: not every model takes it, and what
/// it is really charged with is what counts.
const MOST: u64 = 20_000;

/// About how many tokens a text has; never fewer than one for any text.
pub const fn of_text(text: &str) -> u64 {
    (text.len() as u64).div_ceil(BYTES)
}

/// About how many tokens an entry of a conversation has.
pub fn of_item(item: &Item) -> u64 {
    let content = match item {
        Item::User { content } => content
            .iter()
            .map(|content| match content {
                Content::Text { text } => of_text(text),
                Content::Image(_) => IMAGE,
                Content::Audio(media) => (media.size / SOUND_BYTES).clamp(IMAGE, MOST),
                Content::File(media) => (media.size / FILE_BYTES).clamp(IMAGE, MOST),
            })
            .sum(),
        Item::Assistant { text, calls, .. } => {
            let calls = calls.iter().map(|call| of_text(&call.name) + of_json(&call.arguments));
            of_text(text) + calls.sum::<u64>()
        }
        Item::Results { results } => {
            results.iter().map(|result| of_text(&result.outcome.content) + ENTRY).sum()
        }
    };
    content + ENTRY
}

/// About how many tokens a request has.
pub fn of_request(system: &str, history: &[Item], tools: &ToolSet, offered: &[String]) -> u64 {
    let tools = offered.iter().filter_map(|name| tools.tokens(name)).sum::<u64>();
    of_text(system) + history.iter().map(of_item).sum::<u64>() + tools
}

/// About how many tokens a value has, without writing it.
pub fn of_json(value: &serde_json::Value) -> u64 {
    use serde_json::Value;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        Value::String(text) => 1 + of_text(text),
        Value::Array(items) => 1 + items.iter().map(of_json).sum::<u64>(),
        Value::Object(members) => {
            1 + members.iter().map(|(name, member)| of_text(name) + of_json(member)).sum::<u64>()
        }
    }
}
