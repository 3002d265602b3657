//! The Messages client: stream events and requests.

use std::sync::Arc;

use ostler_engine::history::{CallId, CallResult, Content, Item, Media, ToolCall};
use ostler_engine::model::{Chunk, ModelErrorKind, StopReason, Usage};
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_models::anthropic::{Anthropic, Options};
use serde_json::{Value, json};

use crate::ask::{CALLS, END, PRICE, arguments, ask, call, http, request, request_after, text};
use crate::server::{Reply, Server};

pub(crate) fn model(url: &str) -> Anthropic {
    let options = Options {
        name: "test/claude".into(),
        model: "claude".into(),
        base_url: url.into(),
        key: None,
        price: PRICE,
    };
    Anthropic::new(http(), options)
}

fn events(pieces: &[Value]) -> String {
    let event =
        |piece: &Value| format!("event: {}\ndata: {piece}\n\n", piece["type"].as_str().unwrap());
    pieces.iter().map(event).collect()
}

fn start() -> Value {
    json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [],
        "usage": {"input_tokens": 10, "cache_creation_input_tokens": 5,
            "cache_read_input_tokens": 100, "output_tokens": 1}}})
}

fn begin(index: u32, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u32, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn said(index: u32, text: &str) -> Value {
    delta(index, &json!({"type": "text_delta", "text": text}))
}

fn input(index: u32, text: &str) -> Value {
    delta(index, &json!({"type": "input_json_delta", "partial_json": text}))
}

fn finish(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 7}})
}

fn stop() -> Value {
    json!({"type": "message_stop"})
}

fn usage(output: u64) -> Chunk {
    Chunk::Usage(Usage { input: 115, output, cached: 100, written: 5 })
}

async fn check(what: &str, body: &str, expected: &[Chunk]) {
    let server = Server::start([Reply::events(body)]).await;
    let (chunks, error) = ask(&model(&server.url), request()).await;
    assert_eq!((chunks.as_slice(), error), (expected, None), "{what}");
}

#[tokio::test]
async fn text_and_calls_are_decoded_from_blocks() {
    let body = events(&[
        start(),
        begin(0, &json!({"type": "thinking", "thinking": ""})),
        delta(0, &json!({"type": "thinking_delta", "thinking": "hm"})),
        begin(1, &json!({"type": "text", "text": ""})),
        json!({"type": "ping"}),
        said(1, "Let me "),
        said(1, "look."),
        json!({"type": "content_block_stop", "index": 1}),
        begin(2, &json!({"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {}})),
        input(2, ""),
        input(2, "{\"city\": \"Ro"),
        input(2, "me\"}"),
        json!({"type": "content_block_stop", "index": 2}),
        begin(3, &json!({"type": "tool_use", "id": "toolu_2", "name": "f", "input": {"x": 1}})),
        json!({"type": "something_new", "index": 3}),
        finish("tool_use"),
        stop(),
    ]);
    let expected = [
        usage(1),
        text("Let me "),
        text("look."),
        call(2, "toolu_1", "get_weather"),
        arguments(2, "{\"city\": \"Ro"),
        arguments(2, "me\"}"),
        call(3, "toolu_2", "f"),
        arguments(3, "{\"x\":1}"),
        usage(7),
        CALLS,
    ];
    check("an answer with calls", &body, &expected).await;
}

#[tokio::test]
async fn stop_reasons_are_mapped() {
    let table = [
        ("end_turn", StopReason::End),
        ("stop_sequence", StopReason::End),
        ("max_tokens", StopReason::MaxTokens),
        ("tool_use", StopReason::ToolCalls),
        ("refusal", StopReason::Filtered),
    ];
    for (reason, expected) in table {
        let body = events(&[start(), said(0, "hi"), finish(reason), stop()]);
        check(reason, &body, &[usage(1), text("hi"), usage(7), Chunk::Done(expected)]).await;
    }
    let body = events(&[start(), said(0, "hi"), finish("end_turn")]);
    check("the last event is missing", &body, &[usage(1), text("hi"), usage(7), END]).await;
}

/// C04: an incomplete answer is a retryable error, and never a call.
#[tokio::test]
async fn c04_an_incomplete_answer_is_a_retryable_error() {
    let tool = json!({"type": "tool_use", "id": "t", "name": "f", "input": {}});
    for body in [
        events(&[]),
        events(&[start(), begin(0, &tool), input(0, "{\"x\":")]),
        events(&[start(), begin(0, &tool)]) + "event: message_delta\ndata: {\"type\":\"mess",
        events(&[start(), begin(0, &tool), stop()]),
    ] {
        let server = Server::start([Reply::events(&body)]).await;
        let (chunks, error) = ask(&model(&server.url), request()).await;
        assert_eq!(error.map(|error| error.kind), Some(ModelErrorKind::Incomplete), "{body}");
        assert!(!chunks.iter().any(|chunk| matches!(chunk, Chunk::Done(_))), "{body}");
    }
}

#[tokio::test]
async fn an_error_inside_the_stream_is_reported() {
    let check = async |kind: &str, status: u16, retryable: bool| {
        let error = json!({"type": "error", "error": {"type": kind, "message": "Oh"}});
        let server = Server::start([Reply::events(&events(&[start(), error]))]).await;
        let (_, error) = ask(&model(&server.url), request()).await;
        let found = error.unwrap().kind;
        assert_eq!((found, found.is_retryable()), (ModelErrorKind::Status(status), retryable));
    };
    check("overloaded_error", 529, true).await;
    check("rate_limit_error", 429, true).await;
    check("api_error", 500, true).await;
    check("invalid_request_error", 400, false).await;
    check("authentication_error", 401, false).await;
}

fn menu() -> Content {
    let (media_type, name) = ("application/pdf".into(), Some("menu.pdf".into()));
    Content::File(Media { media_type, name, data: Some("JVBERg==".into()), ..Media::default() })
}

fn conversation() -> Vec<Item> {
    let picture = |data: Option<Arc<str>>| {
        Content::Image(Media { media_type: "image/png".into(), data, ..Media::default() })
    };
    let call = |id: &str, name: &str, text| ToolCall::new(CallId::new(id), name, text);
    let result = |id: &str, outcome| CallResult { call: CallId::new(id), outcome };
    vec![
        Item::assistant("Welcome. "),
        Item::user("Hello"),
        Item::User { content: vec![Content::text("  "), picture(Some("QUJD".into()))] },
        Item::Assistant {
            text: " ".into(),
            calls: vec![
                call("a", "get_weather", "{\"city\":\"Rome\"}"),
                call("b:1", "no such", "{"),
            ],
            partial: false,
        },
        Item::Results {
            results: vec![
                result("a", ToolOutcome::ok("")),
                result("b:1", ToolOutcome::new(OutcomeStatus::UnknownTool, "there is none")),
            ],
        },
        Item::user("Well?"),
        Item::Assistant { text: "It is ".into(), calls: vec![], partial: true },
        Item::Assistant { text: String::new(), calls: vec![], partial: true },
        Item::User { content: vec![picture(None), menu()] },
        Item::user("Now."),
    ]
}

#[tokio::test]
async fn a_request_follows_the_rules_of_the_api() {
    let server = Server::start([Reply::events(&events(&[finish("end_turn")]))]).await;
    ask(&model(&server.url), request_after(conversation())).await;
    let seen = &server.seen()[0];
    assert!(seen.head.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{}", seen.head);
    assert!(seen.head.contains("anthropic-version: 2023-06-01"), "{}", seen.head);
    let kept = json!({"type": "ephemeral"});
    let words = |text: &str| json!({"type": "text", "text": text});
    let expected = json!({
        "model": "claude",
        "max_tokens": 4096,
        "stream": true,
        "system": [{"type": "text", "text": "You are kind.", "cache_control": kept}],
        "tools": [{
            "name": "get_weather",
            "description": "Tells the weather.",
            "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
        }],
        "messages": [
            {"role": "user", "content": [words("[the conversation begins with your words]")]},
            {"role": "assistant", "content": [words("Welcome.")]},
            {"role": "user", "content": [
                words("Hello"),
                {"type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}},
            ]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "name": "get_weather", "input": {"city": "Rome"}},
                {"type": "tool_use", "id": "call-b_3a_1", "name": "no_such", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a"},
                {"type": "tool_result", "tool_use_id": "call-b_3a_1", "content": "there is none",
                    "is_error": true},
                words("Well?"),
            ]},
            {"role": "assistant", "content": [words("It is")]},
            {"role": "user", "content": [
                words("[something that is no longer available]"),
                {"type": "document", "title": "menu.pdf", "source":
                    {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}},
                {"type": "text", "text": "Now.", "cache_control": kept},
            ]},
        ],
    });
    assert_eq!(seen.body, expected);
}

/// A subagent that was forked without tools has a history with calls.
#[tokio::test]
async fn earlier_calls_are_sent_with_their_tools() {
    let server = Server::start([Reply::events(&events(&[finish("end_turn")]))]).await;
    let mut request = request_after(conversation());
    request.offered = Arc::default();
    ask(&model(&server.url), request).await;
    let body = &server.seen()[0].body;
    assert_eq!(body["tools"][0]["name"], "get_weather");
    assert_eq!(body["tool_choice"], json!({"type": "none"}));
}
