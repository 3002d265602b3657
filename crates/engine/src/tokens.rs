//! Token estimates, for budgets and history windows. Charges use the counts that
//! providers report.

use crate::history::{Content, Item};
use crate::tool::ToolSet;

/// An estimate; texts in scripts with multi-byte characters have more.
pub const BYTES_PER_TOKEN: u64 = 4;
/// The overhead of an entry.
const ENTRY_TOKENS: u64 = 4;
/// An estimate for one image.
const IMAGE_TOKENS: u64 = 1600;
/// Estimates for recordings and documents.
const AUDIO_BYTES_PER_TOKEN: u64 = 1024;
const FILE_BYTES_PER_TOKEN: u64 = 16;
/// The upper bound of the estimate for one attachment: not every model accepts it,
/// and only reported usage is charged.
const MAX_MEDIA_TOKENS: u64 = 20_000;

/// Estimates the tokens of a text; at least one unless the text is empty.
pub const fn of_text(text: &str) -> u64 {
    (text.len() as u64).div_ceil(BYTES_PER_TOKEN)
}

/// Estimates the tokens of a conversation entry.
pub fn of_item(item: &Item) -> u64 {
    let content = match item {
        Item::User { content } => content
            .iter()
            .map(|content| match content {
                Content::Text { text } => of_text(text),
                Content::Image(_) => IMAGE_TOKENS,
                Content::Audio(media) => {
                    (media.size / AUDIO_BYTES_PER_TOKEN).clamp(IMAGE_TOKENS, MAX_MEDIA_TOKENS)
                }
                Content::File(media) => {
                    (media.size / FILE_BYTES_PER_TOKEN).clamp(IMAGE_TOKENS, MAX_MEDIA_TOKENS)
                }
            })
            .sum(),
        Item::Assistant { text, calls, .. } => {
            let calls = calls.iter().map(|call| of_text(&call.name) + of_json(&call.arguments));
            of_text(text) + calls.sum::<u64>()
        }
        Item::Results { results } => {
            results.iter().map(|result| of_text(&result.outcome.content) + ENTRY_TOKENS).sum()
        }
    };
    content + ENTRY_TOKENS
}

/// Estimates the tokens of a request.
pub fn of_request(system: &str, history: &[Item], tools: &ToolSet, offered: &[String]) -> u64 {
    let tools = offered.iter().filter_map(|name| tools.tokens(name)).sum::<u64>();
    of_text(system) + history.iter().map(of_item).sum::<u64>() + tools
}

/// Estimates the tokens of a JSON value without serializing it.
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
