//! The OpenAI chat completions API.

use ostler_engine::history::{CallId, CallResult, Content, Item, Media, ToolCall};
use ostler_engine::model::{Chunk, StopReason, Usage};
use ostler_engine::outcome::ToolOutcome;
use serde_json::{Value, json};

use super::dialect::{self, WireRequest, text};
use crate::ScriptedReply;

const ID: &str = "chatcmpl-scripted";

pub(super) fn read(body: &Value) -> Result<WireRequest, String> {
    let mut request = WireRequest {
        model: text(body, "model")?.to_owned(),
        stream: body["stream"].as_bool().unwrap_or_default(),
        include_usage: body["stream_options"]["include_usage"].as_bool().unwrap_or_default(),
        ..WireRequest::default()
    };
    for tool in body["tools"].as_array().into_iter().flatten() {
        request.offer(&tool["function"], "parameters")?;
    }
    let messages = body["messages"].as_array().ok_or("`messages` must be a list")?;
    messages.iter().try_for_each(|message| read_message(message, &mut request))?;
    Ok(request)
}

fn read_message(message: &Value, request: &mut WireRequest) -> Result<(), String> {
    let content = &message["content"];
    match text(message, "role")? {
        "system" | "developer" => {
            if !request.system.is_empty() {
                request.system.push('\n');
            }
            request.system.push_str(&text_of(content));
        }
        "user" => request.history.push(Item::User { content: parts(content)? }),
        "assistant" => {
            let calls = message["tool_calls"].as_array().into_iter().flatten();
            let calls = calls.map(read_call).collect::<Result<_, _>>()?;
            let text = text_of(content);
            request.history.push(Item::Assistant { text, calls, partial: false });
        }
        "tool" => {
            let call = CallId::new(text(message, "tool_call_id")?);
            let result = CallResult { call, outcome: ToolOutcome::ok(text_of(content)) };
            match request.history.last_mut() {
                Some(Item::Results { results }) => results.push(result),
                _ => request.history.push(Item::Results { results: vec![result] }),
            }
        }
        other => return Err(format!("unknown role `{other}`")),
    }
    Ok(())
}

fn read_call(call: &Value) -> Result<ToolCall, String> {
    let function = &call["function"];
    let (id, name) = (CallId::new(text(call, "id")?), text(function, "name")?.to_owned());
    Ok(ToolCall::new(id, &name, text(function, "arguments")?))
}

/// Returns the text of a content, which is a string or a list of parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

fn parts(content: &Value) -> Result<Vec<Content>, String> {
    match content {
        Value::String(text) => Ok(vec![Content::text(text.as_str())]),
        Value::Array(parts) => parts.iter().map(part).collect(),
        _ => Err("`content` must be a string or a list of parts".to_owned()),
    }
}

fn part(part: &Value) -> Result<Content, String> {
    match text(part, "type")? {
        "text" => Ok(Content::text(text(part, "text")?)),
        "image_url" => {
            let url = text(&part["image_url"], "url")?;
            let media_type = url.strip_prefix("data:").and_then(|data| data.split(';').next());
            let media_type = media_type.unwrap_or("image/*").to_owned();
            Ok(Content::Image(Media { media_type, ..Media::default() }))
        }
        "input_audio" => {
            let media_type = format!("audio/{}", text(&part["input_audio"], "format")?);
            Ok(Content::Audio(Media { media_type, ..Media::default() }))
        }
        "file" => {
            let name = Some(text(&part["file"], "filename")?.to_owned());
            let media_type = "application/pdf".to_owned();
            Ok(Content::File(Media { media_type, name, ..Media::default() }))
        }
        other => Err(format!("unknown part type `{other}`")),
    }
}

fn event(request: &WireRequest, choices: &Value, usage: Option<Usage>) -> String {
    let mut json = json!({
        "id": ID, "object": "chat.completion.chunk", "created": 0, "model": request.model,
        "choices": choices,
    });
    if let Some(used) = usage {
        json["usage"] = usage_json(used);
    }
    format!("data: {json}\n\n")
}

fn delta(request: &WireRequest, delta: &Value, finish: Option<&str>) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    event(request, &json!([choice]), None)
}

pub(super) fn stream_start(request: &WireRequest) -> String {
    delta(request, &json!({"role": "assistant", "content": ""}), None)
}

pub(super) fn stream_chunk(request: &WireRequest, chunk: &Chunk) -> String {
    let content = match chunk {
        Chunk::Text(text) => json!({"content": text}),
        Chunk::Call { index, id, name } => {
            let function = json!({"name": name, "arguments": ""});
            let call = json!({"index": index, "id": id, "type": "function", "function": function});
            json!({"tool_calls": [call]})
        }
        Chunk::Arguments { index, json } => {
            json!({"tool_calls": [{"index": index, "function": {"arguments": json}}]})
        }
        Chunk::Usage(_) | Chunk::Restart(_) | Chunk::Done(_) => return String::new(),
    };
    delta(request, &content, None)
}

pub(super) fn stream_end(request: &WireRequest, reply: &ScriptedReply) -> String {
    let mut events = delta(request, &json!({}), Some(finish(reply.stop)));
    if request.include_usage {
        events.push_str(&event(request, &json!([]), Some(reply.usage)));
    }
    if !reply.wire.no_done {
        events.push_str("data: [DONE]\n\n");
    }
    events
}

pub(super) fn complete(request: &WireRequest, reply: &ScriptedReply) -> Value {
    let (text, calls) = dialect::complete(&reply.chunks);
    let mut message = json!({"role": "assistant", "content": text});
    if !calls.is_empty() {
        let call = |(id, name, arguments): &(&str, &str, String)| {
            let function = json!({"name": name, "arguments": arguments});
            json!({"id": id, "type": "function", "function": function})
        };
        message["tool_calls"] = calls.iter().map(call).collect();
        if text.is_empty() {
            message["content"] = Value::Null;
        }
    }
    json!({
        "id": ID, "object": "chat.completion", "created": 0, "model": request.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish(reply.stop)}],
        "usage": usage_json(reply.usage),
    })
}

const fn finish(stop: StopReason) -> &'static str {
    match stop {
        StopReason::End => "stop",
        StopReason::ToolCalls => "tool_calls",
        StopReason::MaxTokens => "length",
        StopReason::Filtered => "content_filter",
    }
}

fn usage_json(usage: Usage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    })
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        401 | 403 => "authentication_error",
        429 => "rate_limit_exceeded",
        400..500 => "invalid_request_error",
        _ => "server_error",
    };
    json!({"error": {"message": message, "type": kind, "param": null, "code": status}})
}
