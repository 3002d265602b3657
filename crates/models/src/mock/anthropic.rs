//! Anthropic's messages.

use ostler_engine::history::{CallId, CallResult, Content, Item, Media, ToolCall};
use ostler_engine::model::{Chunk, StopReason, Usage};
use ostler_engine::outcome::{Outcome, Status};
use serde_json::{Value, json};

use super::dialect::{self, Block, Blocks, Wanted, text};
use crate::scripted::Reply;

const ID: &str = "msg_scripted";

pub(super) fn read(body: &Value) -> Result<Wanted, String> {
    if body["max_tokens"].as_u64().is_none_or(|tokens| tokens == 0) {
        return Err("`max_tokens` has to be a number from 1 on".to_owned());
    }
    let mut wanted = Wanted {
        model: text(body, "model")?.to_owned(),
        system: words(&body["system"]),
        stream: body["stream"].as_bool().unwrap_or_default(),
        include_usage: true,
        ..Wanted::default()
    };
    for tool in body["tools"].as_array().into_iter().flatten() {
        wanted.offer(tool, "input_schema")?;
    }
    let messages = body["messages"].as_array().ok_or("`messages` has to be a list")?;
    messages.iter().try_for_each(|message| read_message(message, &mut wanted.history))?;
    Ok(wanted)
}

fn read_message(message: &Value, history: &mut Vec<Item>) -> Result<(), String> {
    let content = &message["content"];
    let blocks = match content {
        Value::String(_) => &[][..],
        Value::Array(blocks) => blocks,
        _ => return Err("`content` has to be a text or a list of blocks".to_owned()),
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
            history.push(Item::Assistant { text: words(content), calls, partial: false });
            Ok(())
        }
        other => Err(format!("nobody has the role `{other}`")),
    }
}

/// A block of what somebody wrote: their words, or a result.
fn read_block(block: &Value, history: &mut Vec<Item>) -> Result<(), String> {
    let said = match text(block, "type")? {
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
            let status = if failed { Status::Failed } else { Status::Ok };
            let outcome = Outcome::of(status, words(&block["content"]));
            let result = CallResult { call, outcome };
            match history.last_mut() {
                Some(Item::Results { results }) => results.push(result),
                _ => history.push(Item::Results { results: vec![result] }),
            }
            return Ok(());
        }
        other => return Err(format!("there are no blocks of type `{other}`")),
    };
    match history.last_mut() {
        Some(Item::User { content }) => content.push(said),
        _ => history.push(Item::User { content: vec![said] }),
    }
    Ok(())
}

fn read_call(block: &Value) -> Result<ToolCall, String> {
    let input = block["input"].clone();
    if !input.is_object() {
        return Err("`input` has to be an object".to_owned());
    }
    let (id, name) = (CallId::new(text(block, "id")?), text(block, "name")?.to_owned());
    Ok(ToolCall { id, name, arguments: input, unreadable: None })
}

fn words(content: &Value) -> String {
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

pub(super) fn head(wanted: &Wanted, reply: &Reply) -> String {
    let begun = Usage { output: 1, ..reply.usage };
    let message = json!({
        "id": ID, "type": "message", "role": "assistant", "model": wanted.model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": used_json(begun),
    });
    event(&json!({"type": "message_start", "message": message}))
}

pub(super) fn piece(blocks: &mut Blocks, chunk: &Chunk) -> String {
    match chunk {
        Chunk::Text(text) => {
            let begin = json!({"type": "text", "text": ""});
            let mut said = blocks.enter(Block::Text, &begin);
            said.push_str(&blocks.delta(&json!({"type": "text_delta", "text": text})));
            said
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
        let mut said = self.close();
        self.open = Some(block);
        let index = self.next;
        said.push_str(&event(&json!({
            "type": "content_block_start", "index": index, "content_block": begin,
        })));
        said
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

pub(super) fn tail(blocks: &mut Blocks, reply: &Reply) -> String {
    let mut said = blocks.close();
    said.push_str(&event(&json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop_name(reply.stop), "stop_sequence": null},
        "usage": {"output_tokens": reply.usage.output},
    })));
    said.push_str(&event(&json!({"type": "message_stop"})));
    said
}

pub(super) fn whole(wanted: &Wanted, reply: &Reply) -> Value {
    let (text, calls) = dialect::whole(&reply.chunks);
    let mut content = Vec::new();
    if !text.is_empty() {
        content.push(json!({"type": "text", "text": text}));
    }
    content.extend(calls.iter().map(|(id, name, arguments)| {
        // What is no JSON cannot be said in this form.
        let input = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
        json!({"type": "tool_use", "id": id, "name": name, "input": input})
    }));
    json!({
        "id": ID, "type": "message", "role": "assistant", "model": wanted.model,
        "content": content, "stop_reason": stop_name(reply.stop), "stop_sequence": null,
        "usage": used_json(reply.usage),
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

/// Here what came from a cache, or went to it, is counted apart.
fn used_json(usage: Usage) -> Value {
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
