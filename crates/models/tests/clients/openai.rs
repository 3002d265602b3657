//! The chat completions client: streams in the forms of various servers, and
//! requests.

use std::sync::Arc;

use ostler_domain::tool::Trust;
use ostler_engine::history::{CallId, CallResult, Content, Item, Media, ToolCall};
use ostler_engine::model::{Chunk, ModelErrorKind, Request, StopReason, Usage};
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_models::openai::{LimitField, OpenAi, Options};
use serde_json::{Value, json};

use crate::ask::{CALLS, END, PRICE, arguments, ask, call, http, request, request_after, text};
use crate::server::{Reply, Server};

pub(crate) fn model(url: &str) -> OpenAi {
    let options = Options {
        name: "test/gpt".into(),
        model: "gpt".into(),
        base_url: url.into(),
        key: None,
        limit: LimitField::MaxTokens,
        price: PRICE,
    };
    OpenAi::new(http(), options)
}

fn delta(delta: &Value) -> String {
    let piece = json!({"id": "c", "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    format!("data: {piece}\n\n")
}

fn finish(reason: &str) -> String {
    let piece = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    format!("data: {piece}\n\n")
}

fn args(index: u32, text: &str) -> String {
    delta(&json!({"tool_calls": [{"index": index, "function": {"arguments": text}}]}))
}

const DONE: &str = "data: [DONE]\n\n";

async fn check(what: &str, body: &str, expected: &[Chunk]) {
    let server = Server::start([Reply::events(body)]).await;
    let (chunks, error) = ask(&model(&server.url), request()).await;
    assert_eq!((chunks.as_slice(), error), (expected, None), "{what}");
}

#[tokio::test]
async fn text_is_streamed_as_it_arrives() {
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 16}}});
    let body = [
        ": OPENROUTER PROCESSING\n\n".to_owned(),
        delta(&json!({"role": "assistant", "content": "", "refusal": null})),
        delta(&json!({"content": "Grüß"})),
        delta(&json!({})),
        ": ping\n\n".into(),
        delta(&json!({"content": null, "reasoning_content": "hm"})),
        delta(&json!({"content": " dich 🐎"})),
        finish("stop"),
        format!("data: {usage}\r\n\r\n"),
        DONE.into(),
    ]
    .concat();
    let usage = Chunk::Usage(Usage { input: 20, output: 5, cached: 16, written: 0 });
    check("a usual answer", &body, &[text("Grüß"), text(" dich 🐎"), usage, END]).await;
}

#[tokio::test]
async fn an_answer_with_a_finish_reason_is_complete() {
    let hi = delta(&json!({"content": "hi"}));
    let check = async |reason, stop| {
        let body = hi.clone() + &finish(reason);
        check(reason, &body, &[text("hi"), Chunk::Done(stop)]).await;
        let cut = body.trim_end();
        self::check("without the last blank line", cut, &[text("hi"), Chunk::Done(stop)]).await;
    };
    check("stop", StopReason::End).await;
    check("length", StopReason::MaxTokens).await;
    check("content_filter", StopReason::Filtered).await;
    check("eos", StopReason::End).await;
}

#[tokio::test]
async fn calls_are_decoded_in_every_known_form() {
    let begin = |index: u32, id: &str, name: &str| {
        delta(&json!({"tool_calls": [{"index": index, "id": id, "type": "function",
            "function": {"name": name, "arguments": ""}}]}))
    };
    let pieces = [
        begin(0, "a", "get_weather"),
        args(0, "{\"ci"),
        begin(1, "b", "get_weather"),
        args(1, "{}"),
        args(0, "ty\":1}"),
        finish("tool_calls"),
        DONE.into(),
    ];
    let expected = [
        call(0, "a", "get_weather"),
        arguments(0, "{\"ci"),
        call(1, "b", "get_weather"),
        arguments(1, "{}"),
        arguments(0, "ty\":1}"),
        CALLS,
    ];
    check("two calls at once, mixed", &pieces.concat(), &expected).await;

    let whole = |call: &Value| delta(&json!({"tool_calls": [call]}));
    let f = |arguments: Value| json!({"name": "f", "arguments": arguments});
    let one = |piece: &Value| whole(piece) + &finish("stop") + DONE;
    let said = [call(0, "a", "f"), arguments(0, "{\"x\":1}"), CALLS];
    let piece = json!({"index": 0, "id": "a", "function": f(json!("{\"x\":1}"))});
    check("arguments at once, and `stop`", &one(&piece), &said).await;
    let piece = json!({"id": "a", "function": f(json!({"x": 1}))});
    check("arguments as an object, no number", &one(&piece), &said).await;
    let piece = json!({"index": 0, "id": null, "function": f(json!("{\"x\":1}"))});
    let said = [call(0, "", "f"), arguments(0, "{\"x\":1}"), CALLS];
    check("no id", &one(&piece), &said).await;

    let body = [
        whole(&json!({"index": 0, "id": "a", "function": f(json!("{}"))})),
        whole(&json!({"index": 0, "id": "b", "function": f(json!("{}"))})),
        finish("tool_calls"),
    ];
    let two = [call(0, "a", "f"), arguments(0, "{}"), call(1, "b", "f"), arguments(1, "{}"), CALLS];
    check("every call is number 0", &body.concat(), &two).await;
    let body = [
        whole(&json!({"id": "a", "function": f(json!("{}"))})),
        whole(&json!({"id": "b", "function": {"name": "f"}})),
        whole(&json!({"function": {"arguments": "{}"}})),
        finish("tool_calls"),
    ];
    check("no numbers at all", &body.concat(), &two).await;
}

/// C04: an incomplete answer is a retryable error, and never a call.
#[tokio::test]
async fn c04_an_incomplete_answer_is_a_retryable_error() {
    let begin = delta(&json!({"tool_calls": [{"index": 0, "id": "a",
        "function": {"name": "f", "arguments": "{\"x\":"}}]}));
    for body in [
        String::new(),
        delta(&json!({"content": "hi"})),
        begin.clone(),
        begin.clone() + "data: {\"choi",
        begin.clone() + DONE,
    ] {
        let server = Server::start([Reply::events(&body)]).await;
        let (chunks, error) = ask(&model(&server.url), request()).await;
        let error = error.expect("the answer was cut");
        assert_eq!(
            (error.kind, error.model.as_str()),
            (ModelErrorKind::Incomplete, "test/gpt"),
            "{body}"
        );
        assert!(error.kind.is_retryable());
        assert!(!chunks.iter().any(|chunk| matches!(chunk, Chunk::Done(_))), "{body}");
    }
}

#[tokio::test]
async fn an_error_inside_the_stream_is_reported() {
    let check = async |error: Value, status: u16, said: &str| {
        let body = delta(&json!({"content": "hi"})) + &format!("data: {error}\n\n");
        let server = Server::start([Reply::events(&body)]).await;
        let (_, found) = ask(&model(&server.url), request()).await;
        let found = found.expect("the stream has an error");
        assert_eq!(found.kind, ModelErrorKind::Status(status), "{error}");
        assert!(found.message.ends_with(said), "{}", found.message);
    };
    check(json!({"error": {"message": "busy", "code": 502}}), 502, ": busy").await;
    check(json!({"error": {"message": "slow down", "code": "429"}}), 429, ": slow down").await;
    let typed = json!({"error": {"message": "no", "type": "invalid_request_error", "code": null}});
    check(typed, 400, ": no").await;
    check(json!({"error": {"message": "hm", "type": "server_error"}}), 500, ": hm").await;
    check(json!({"error": "out of memory"}), 500, ": out of memory").await;
    check(json!({"object": "error", "message": "bad", "code": 400}), 400, ": bad").await;
    let choice = json!({"choices": [{"delta": {}, "error": {"code": 503, "message": "away"},
        "finish_reason": "error"}]});
    check(choice, 503, ": away").await;
}

fn conversation() -> Request {
    let picture = |data: Option<Arc<str>>| {
        Content::Image(Media { media_type: "image/png".into(), data, ..Media::default() })
    };
    let call = |id: &str, name: &str, text| ToolCall::new(CallId::new(id), name, text);
    let result = |id: &str, outcome| CallResult { call: CallId::new(id), outcome };
    let failed = ToolOutcome {
        trust: Trust::Untrusted,
        ..ToolOutcome::new(OutcomeStatus::Failed, "it broke")
    };
    request_after(vec![
        Item::User { content: vec![Content::text("What is this?"), picture(Some("QUJD".into()))] },
        Item::Assistant {
            text: String::new(),
            calls: vec![
                call("a", "get_weather", "{\"city\":\"Rome\"}"),
                call("b:1", "no such", "{"),
            ],
            partial: false,
        },
        Item::Results {
            results: vec![result("a", ToolOutcome::ok("sunny")), result("b:1", failed)],
        },
        Item::Assistant { text: "It is ".into(), calls: vec![], partial: true },
        Item::Assistant { text: String::new(), calls: vec![], partial: true },
        Item::User { content: vec![Content::text("And"), Content::text("now?")] },
        Item::User { content: vec![picture(None)] },
        Item::User { content: vec![sound(), menu()] },
    ])
}

fn sound() -> Content {
    let (media_type, data) = ("audio/mpeg".into(), Some("SUQz".into()));
    Content::Audio(Media { media_type, data, ..Media::default() })
}

fn menu() -> Content {
    let (media_type, name) = ("application/pdf".into(), Some("menu.pdf".into()));
    Content::File(Media { media_type, name, data: Some("JVBERg==".into()), ..Media::default() })
}

#[tokio::test]
async fn a_request_contains_the_whole_history() {
    let body = finish("stop");
    let server = Server::start([Reply::events(&body)]).await;
    ask(&model(&server.url), conversation()).await;
    let seen = &server.seen()[0];
    assert!(seen.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", seen.head);
    assert!(!seen.head.contains("authorization"));
    let function = |id, name, arguments| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let expected = json!({
        "model": "gpt",
        "stream": true,
        "stream_options": {"include_usage": true},
        "max_tokens": 4096,
        "tools": [{"type": "function", "function": {
            "name": "get_weather",
            "description": "Tells the weather.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        }}],
        "messages": [
            {"role": "system", "content": "You are kind."},
            {"role": "user", "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
            ]},
            {"role": "assistant", "content": null, "tool_calls": [
                function("a", "get_weather", "{\"city\":\"Rome\"}"),
                function("call-b_3a_1", "no_such", "{}"),
            ]},
            {"role": "tool", "tool_call_id": "a", "content": "sunny"},
            {"role": "tool", "tool_call_id": "call-b_3a_1", "content": "it broke"},
            {"role": "assistant", "content": "It is "},
            {"role": "user", "content": "And\nnow?"},
            {"role": "user", "content": [
                {"type": "text", "text": "[something that is no longer available]"},
            ]},
            {"role": "user", "content": [
                {"type": "input_audio", "input_audio": {"data": "SUQz", "format": "mp3"}},
                {"type": "file", "file": {"filename": "menu.pdf",
                    "file_data": "data:application/pdf;base64,JVBERg=="}},
            ]},
        ],
    });
    assert_eq!(seen.body, expected);
}
