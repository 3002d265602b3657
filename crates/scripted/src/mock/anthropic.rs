//! The Anthropic Messages API.

use ostler_engine::history::{CallId, CallResult, Content, Item, Media, ToolCall};
use ostler_engine::model::{Chunk, StopReason, Usage};
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use serde_json::{Value, json};

use super::dialect::{self, Block, Blocks, WireRequest, text};
use crate::ScriptedReply;

const ID: &str = "msg_scripted";

pub(super) fn read(body: &Value) -> Result<WireRequest, String> {
    if body["max_tokens"].as_u64().is_none_or(|tokens| tokens == 0) {
        return Err("`max_tokens` must be a positive number".to_owned());
    }
    let mut request = WireRequest {
        model: text(body, "model")?.to_owned(),
        system: text_of(&body["system"]),
        stream: body["stream"].as_bool().unwrap_or_default(),
        include_usage: true,
        ..WireRequest::default()
    };
    for tool in body["tools"].as_array().into_iter().flatten() {
        request.offer(tool, "input_schema")?;
    }
    let messages = body["messages"].as_array().ok_or("`messages` must be a list")?;
    messages.iter().try_for_each(|message| read_message(message, &mut request.history))?;
    Ok(request)
}

fn read_message(message: &Value, history: &mut Vec<Item>) -> Result<(), String> {
    let content = &message["content"];
    let blocks = match content {
        Value::String(_) => &[][..],
        Value::Array(blocks) => blocks,
        _ => return Err("`content` must be a string or a list of blocks".to_owned()),
    };
    match text(message, "role")? {
        "user" => {
            if let Some(text) = content.as_str() {
                history.push(Item::user(text));
            }
            blocks.iter().try_for_each(|block| read_block(block, history))
        }
        "assistant" => {
            let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
            let calls = calls.map(read_call).collect::<Result<_, _>>()?;
            history.push(Item::Assistant { text: text_of(content), calls, partial: false });
            Ok(())
        }
        other => Err(format!("unknown role `{other}`")),
    }
}

/// Reads a block of a user message: content, or a result.
fn read_block(block: &Value, history: &mut Vec<Item>) -> Result<(), String> {
    let part = match text(block, "type")? {
        "text" => Content::text(text(block, "text")?),
        "image" => {
            let media_type = block["source"]["media_type"].as_str().unwrap_or("image/*").to_owned();
            Content::Image(Media { media_type, ..Media::default() })
        }
        "document" => {
            let media_type = block["source"]["media_type"].as_str().unwrap_or_default().to_owned();
            let name = block["title"].as_str().map(str::to_owned);
            Content::File(Media { media_type, name, ..Media::default() })
        }
        "tool_result" => {
            let call = CallId::new(text(block, "tool_use_id")?);
            let failed = block["is_error"].as_bool().unwrap_or_default();
            let status = if failed { OutcomeStatus::Failed } else { OutcomeStatus::Ok };
            let outcome = ToolOutcome::new(status, text_of(&block["content"]));
            let result = CallResult { call, outcome };
            match history.last_mut() {
                Some(Item::Results { results }) => results.push(result),
                _ => history.push(Item::Results { results: vec![result] }),
            }
            return Ok(());
        }
        other => return Err(format!("unknown block type `{other}`")),
    };
    match history.last_mut() {
        Some(Item::User { content }) => content.push(part),
        _ => history.push(Item::User { content: vec![part] }),
    }
    Ok(())
}

fn read_call(block: &Value) -> Result<ToolCall, String> {
    let input = block["input"].clone();
    if !input.is_object() {
        return Err("`input` must be an object".to_owned());
    }
    let (id, name) = (CallId::new(text(block, "id")?), text(block, "name")?.to_owned());
    Ok(ToolCall { id, name, arguments: input.into(), unreadable: None })
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> =
                blocks.iter().filter_map(|block| block["text"].as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

fn event(json: &Value) -> String {
    let kind = json["type"].as_str().unwrap_or_default();
    format!("event: {kind}\ndata: {json}\n\n")
}

pub(super) fn stream_start(request: &WireRequest, reply: &ScriptedReply) -> String {
    let begun = Usage { output: 1, ..reply.usage };
    let message = json!({
        "id": ID, "type": "message", "role": "assistant", "model": request.model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage_json(begun),
    });
    event(&json!({"type": "message_start", "message": message}))
}

pub(super) fn stream_chunk(blocks: &mut Blocks, chunk: &Chunk) -> String {
    match chunk {
        Chunk::Text(text) => {
            let begin = json!({"type": "text", "text": ""});
            let mut events = blocks.enter(Block::Text, &begin);
            events.push_str(&blocks.delta(&json!({"type": "text_delta", "text": text})));
            events
        }
        Chunk::Call { index, id, name } => {
            let begin = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
            blocks.enter(Block::Call(*index), &begin)
        }
        Chunk::Arguments { json, .. } => {
            blocks.delta(&json!({"type": "input_json_delta", "partial_json": json}))
        }
        Chunk::Usage(_) | Chunk::Restart(_) | Chunk::Done(_) => String::new(),
    }
}

impl Blocks {
    /// Opens a block, unless it is open already.
    fn enter(&mut self, block: Block, begin: &Value) -> String {
        if self.open == Some(block) {
            return String::new();
        }
        let mut events = self.close();
        self.open = Some(block);
        let index = self.next;
        events.push_str(&event(&json!({
            "type": "content_block_start", "index": index, "content_block": begin,
        })));
        events
    }

    fn delta(&self, delta: &Value) -> String {
        event(&json!({"type": "content_block_delta", "index": self.next, "delta": delta}))
    }

    fn close(&mut self) -> String {
        if self.open.take().is_none() {
            return String::new();
        }
        let index = self.next;
        self.next += 1;
        event(&json!({"type": "content_block_stop", "index": index}))
    }
}

pub(super) fn stream_end(blocks: &mut Blocks, reply: &ScriptedReply) -> String {
    let mut events = blocks.close();
    events.push_str(&event(&json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop_name(reply.stop), "stop_sequence": null},
        "usage": {"output_tokens": reply.usage.output},
    })));
    events.push_str(&event(&json!({"type": "message_stop"})));
    events
}

pub(super) fn complete(request: &WireRequest, reply: &ScriptedReply) -> Value {
    let (text, calls) = dialect::complete(&reply.chunks);
    let mut content = Vec::new();
    if !text.is_empty() {
        content.push(json!({"type": "text", "text": text}));
    }
    content.extend(calls.iter().map(|(id, name, arguments)| {
        // Arguments that are no JSON cannot be represented here.
        let input = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
        json!({"type": "tool_use", "id": id, "name": name, "input": input})
    }));
    json!({
        "id": ID, "type": "message", "role": "assistant", "model": request.model,
        "content": content, "stop_reason": stop_name(reply.stop), "stop_sequence": null,
        "usage": usage_json(reply.usage),
    })
}

const fn stop_name(stop: StopReason) -> &'static str {
    match stop {
        StopReason::End => "end_turn",
        StopReason::ToolCalls => "tool_use",
        StopReason::MaxTokens => "max_tokens",
        StopReason::Filtered => "refusal",
    }
}

/// Returns the token counts, with cached input counted separately.
fn usage_json(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input.saturating_sub(usage.cached).saturating_sub(usage.written),
        "cache_creation_input_tokens": usage.written,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.output,
    })
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        400..500 => "invalid_request_error",
        _ => "api_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": message}})
}
