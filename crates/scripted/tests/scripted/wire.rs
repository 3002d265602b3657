//! A small client for both wire formats.

use ostler_engine::history::{CallId, Content, Item, ToolCall};
use ostler_engine::outcome::OutcomeStatus;
use ostler_scripted::mock::MockServer;
use serde_json::{Value, json};

use crate::http::{Response, post};
use crate::transcript::ParsedAnswer;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    OpenAi,
    Anthropic,
}

impl Dialect {
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::OpenAi => "/v1/chat/completions",
            Self::Anthropic => "/v1/messages",
        }
    }

    /// Returns the body of a request.
    pub(crate) fn body(self, stream: bool, history: &[Item], tools: &[&str]) -> Value {
        let schema = json!({"type": "object"});
        let said = "It is there.";
        match self {
            Self::OpenAi => {
                let tool = |name: &&str| json!({"type": "function", "function": {"name": name, "description": said, "parameters": schema}});
                let system = json!({"role": "system", "content": "You are Gia."});
                let messages = history.iter().flat_map(openai);
                json!({
                    "model": "scripted", "stream": stream,
                    "stream_options": {"include_usage": true},
                    "messages": std::iter::once(system).chain(messages).collect::<Value>(),
                    "tools": tools.iter().map(tool).collect::<Value>(),
                })
            }
            Self::Anthropic => {
                let tool = |name: &&str| json!({"name": name, "description": said, "input_schema": schema});
                json!({
                    "model": "scripted", "max_tokens": 100, "stream": stream,
                    "system": "You are Gia.",
                    "messages": history.iter().map(anthropic).collect::<Value>(),
                    "tools": tools.iter().map(tool).collect::<Value>(),
                })
            }
        }
    }
}

fn words(content: &[Content]) -> &str {
    match content {
        [Content::Text { text }] => text,
        other => panic!("{other:?}"),
    }
}

fn openai(item: &Item) -> Vec<Value> {
    match item {
        Item::User { content } => vec![json!({"role": "user", "content": words(content)})],
        Item::Assistant { text, calls, .. } => {
            let call = |call: &ToolCall| {
                let function = json!({"name": call.name, "arguments": call.arguments.to_string()});
                json!({"id": call.id, "type": "function", "function": function})
            };
            let calls: Vec<Value> = calls.iter().map(call).collect();
            vec![json!({"role": "assistant", "content": text, "tool_calls": calls})]
        }
        Item::Results { results } => results
            .iter()
            .map(|result| json!({"role": "tool", "tool_call_id": result.call, "content": result.outcome.content}))
            .collect(),
    }
}

fn anthropic(item: &Item) -> Value {
    match item {
        Item::User { content } => {
            json!({"role": "user", "content": [{"type": "text", "text": words(content)}]})
        }
        Item::Assistant { text, calls, .. } => {
            let said = json!({"type": "text", "text": text});
            let call = |call: &ToolCall| json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments});
            let blocks = std::iter::once(said).chain(calls.iter().map(call));
            json!({"role": "assistant", "content": blocks.collect::<Value>()})
        }
        Item::Results { results } => {
            let block = |result: &ostler_engine::history::CallResult| {
                let failed = result.outcome.status != OutcomeStatus::Ok;
                json!({"type": "tool_result", "tool_use_id": result.call, "content": result.outcome.content, "is_error": failed})
            };
            json!({"role": "user", "content": results.iter().map(block).collect::<Value>()})
        }
    }
}

pub(crate) async fn ask(
    server: &MockServer,
    dialect: Dialect,
    stream: bool,
    history: &[Item],
    tools: &[&str],
) -> ParsedAnswer {
    let body = dialect.body(stream, history, tools);
    let Some(response) = post(server.address(), dialect.path(), &body).await else {
        return ParsedAnswer::failed("network");
    };
    match read(dialect, stream, &response) {
        Ok((text, calls)) => {
            let call = |(id, name, json): (String, String, String)| {
                ToolCall::new(CallId::new(&id), &name, &json)
            };
            ParsedAnswer::new(text, calls.into_iter().map(call).collect())
        }
        Err(how) => ParsedAnswer::failed(&how),
    }
}

type Calls = Vec<(String, String, String)>;

fn read(dialect: Dialect, stream: bool, response: &Response) -> Result<(String, Calls), String> {
    if response.status != 200 {
        return Err(response.status.to_string());
    }
    if !response.complete {
        return Err("cut".into());
    }
    let (mut text, mut calls) = (String::new(), Calls::new());
    if !stream {
        let json: Value =
            serde_json::from_str(&response.body).map_err(|_| "malformed".to_owned())?;
        match dialect {
            Dialect::OpenAi => read_message(&json, &mut text, &mut calls),
            Dialect::Anthropic => {
                for block in json["content"].as_array().expect("blocks") {
                    read_block(block, &mut text, &mut calls);
                }
            }
        }
        return Ok((text, calls));
    }
    for event in response.events().into_iter().filter(|event| *event != "[DONE]") {
        let json: Value = serde_json::from_str(event).map_err(|_| "malformed".to_owned())?;
        if !json["error"].is_null() {
            // Both report status 529 in the middle of a stream.
            assert_eq!(json["error"]["message"], "Overloaded.");
            return Err("529".into());
        }
        match dialect {
            Dialect::OpenAi => read_delta(&json["choices"][0]["delta"], &mut text, &mut calls),
            Dialect::Anthropic => read_event(&json, &mut text, &mut calls),
        }
    }
    Ok((text, calls))
}

fn read_message(json: &Value, text: &mut String, calls: &mut Calls) {
    let message = &json["choices"][0]["message"];
    text.push_str(message["content"].as_str().unwrap_or_default());
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let part = |value: &Value| value.as_str().expect("a text").to_owned();
        let function = &call["function"];
        calls.push((part(&call["id"]), part(&function["name"]), part(&function["arguments"])));
    }
}

fn read_block(block: &Value, text: &mut String, calls: &mut Calls) {
    let part = |name: &str| block[name].as_str().expect("a text").to_owned();
    match block["type"].as_str() {
        Some("text") => text.push_str(&part("text")),
        Some("tool_use") => calls.push((part("id"), part("name"), block["input"].to_string())),
        other => panic!("{other:?}"),
    }
}

fn read_delta(delta: &Value, text: &mut String, calls: &mut Calls) {
    text.push_str(delta["content"].as_str().unwrap_or_default());
    for call in delta["tool_calls"].as_array().into_iter().flatten() {
        let part = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let function = &call["function"];
        if !call["id"].is_null() {
            calls.push((part(&call["id"]), part(&function["name"]), String::new()));
        }
        let at = usize::try_from(call["index"].as_u64().expect("an index")).expect("an index");
        calls[at].2.push_str(&part(&function["arguments"]));
    }
}

fn read_event(json: &Value, text: &mut String, calls: &mut Calls) {
    let part = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let block = &json["content_block"];
    if block["type"] == "tool_use" {
        calls.push((part(&block["id"]), part(&block["name"]), String::new()));
    }
    text.push_str(&part(&json["delta"]["text"]));
    if let Some(json) = json["delta"]["partial_json"].as_str() {
        calls.last_mut().expect("a call").2.push_str(json);
    }
}
