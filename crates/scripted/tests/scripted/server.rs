//! The mock provider: wire formats, limits and shutdown.

use std::time::Duration;

use ostler_engine::history::Item;
use ostler_scripted::Script;
use ostler_scripted::mock::{LOOPBACK, MockLimits, MockServer};
use serde_json::{Value, json};

use crate::http::{post, send};
use crate::wire::Dialect;

const SCRIPT: &str = "
model: gia
usage: { input: 100, cached: 60, output: 7 }
default: { text: Hi., call: look, with: { at: 1 }, chunk: 2 }
";

async fn server(limits: MockLimits) -> MockServer {
    let script = Script::parse("test.yaml", SCRIPT).expect("a script");
    MockServer::start_with(LOOPBACK, script, limits).await.expect("a server")
}

async fn events(dialect: Dialect) -> Vec<Value> {
    let server = server(MockLimits::default()).await;
    let body = dialect.body(true, &[Item::user("hi")], &[]);
    let response = post(server.address(), dialect.path(), &body).await.expect("a response");
    assert!(response.head.contains("content-type: text/event-stream"), "{}", response.head);
    let read = |event: &str| serde_json::from_str(event).unwrap_or_else(|_| json!(event));
    response.events().into_iter().map(read).collect()
}

#[tokio::test]
async fn a_stream_of_chat_completions() {
    let events = events(Dialect::OpenAi).await;
    let deltas: Vec<&Value> = events.iter().map(|event| &event["choices"][0]["delta"]).collect();
    assert_eq!(deltas[0], &json!({"role": "assistant", "content": ""}));
    assert_eq!(deltas[1..3], [&json!({"content": "Hi"}), &json!({"content": "."})]);
    let call = &deltas[3]["tool_calls"][0];
    assert_eq!((&call["index"], &call["type"]), (&json!(0), &json!("function")));
    assert_eq!(call["function"], json!({"name": "look", "arguments": ""}));
    assert_eq!(deltas[4]["tool_calls"][0], json!({"index": 0, "function": {"arguments": "{\""}}));
    let [.., finish, usage, done] = &events[..] else { panic!("{events:?}") };
    assert_eq!(finish["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(usage["choices"], json!([]));
    assert_eq!(
        usage["usage"],
        json!({"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107, "prompt_tokens_details": {"cached_tokens": 60}})
    );
    assert_eq!(done, "[DONE]");
}

#[tokio::test]
async fn a_stream_of_messages() {
    let events = events(Dialect::Anthropic).await;
    let kinds: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    let (delta, stop) = ("content_block_delta", "content_block_stop");
    let start = "content_block_start";
    assert_eq!(
        kinds,
        [
            "message_start",
            start,
            delta,
            delta,
            stop,
            start,
            delta,
            delta,
            delta,
            delta,
            stop,
            "message_delta",
            "message_stop",
        ]
    );
    let begun = &events[0]["message"]["usage"];
    assert_eq!(
        (&begun["input_tokens"], &begun["cache_read_input_tokens"]),
        (&json!(40), &json!(60))
    );
    assert_eq!(events[5]["content_block"]["name"], "look");
    assert_eq!(events[6]["delta"], json!({"type": "input_json_delta", "partial_json": "{\""}));
    assert_eq!(events[6]["index"], 1);
    assert_eq!(events[11]["delta"]["stop_reason"], "tool_use");
    assert_eq!(events[11]["usage"]["output_tokens"], 7);
}

#[tokio::test]
async fn models_are_listed_and_other_paths_are_not_found() {
    let server = server(MockLimits::default()).await;
    let get = async |path: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n");
        send(server.address(), &request).await.expect("a response")
    };
    assert_eq!(get("/v1/models").await.json()["data"][0]["id"], "gia");
    let elsewhere = get("/").await;
    assert_eq!(elsewhere.status, 404);
    let said = elsewhere.json()["error"]["message"].to_string();
    assert!(said.contains("POST /v1/messages"), "{said}");
}

#[tokio::test]
async fn invalid_requests_are_rejected_like_by_a_provider() {
    let server = server(MockLimits { body: 1000, ..MockLimits::default() }).await;
    let openai = "/v1/chat/completions";
    let message = json!({"role": "user", "content": "hi"});
    let result = json!({"role": "tool", "tool_call_id": "a", "content": "x"});
    let table = [
        (openai, json!({"model": "m"}), 400, "`messages` must be a list"),
        (openai, json!({"messages": [message]}), 400, "`model` must be a string"),
        (
            openai,
            json!({"model": "m", "messages": [result]}),
            400,
            "the result of `a` follows no such call",
        ),
        (
            openai,
            json!({"model": "m", "messages": [{"role": "pope", "content": "x"}]}),
            400,
            "unknown role `pope`",
        ),
        (
            "/v1/messages",
            json!({"model": "m", "messages": [message]}),
            400,
            "`max_tokens` must be a positive number",
        ),
        (
            openai,
            json!({"model": "m".repeat(1000)}),
            413,
            "the request is incomplete or larger than 1000 bytes",
        ),
        (openai, json!("x"), 400, "`model` must be a string"),
    ];
    for (path, body, status, what) in table {
        let response = post(server.address(), path, &body).await.expect("a response");
        let said = (response.status, response.json()["error"]["message"].clone());
        assert_eq!(said, (status, json!(what)), "{body}");
    }
}

#[tokio::test]
async fn requests_are_recorded_and_debug_output_hides_keys() {
    let server = server(MockLimits { recorded: 2, ..MockLimits::default() }).await;
    for model in ["a", "b", "c"] {
        let body = json!({"model": model, "messages": []});
        post(server.address(), "/v1/chat/completions", &body).await.expect("a response");
    }
    let requests = server.requests();
    let models: Vec<Value> = requests.iter().map(|one| one.json()["model"].clone()).collect();
    assert_eq!(models, ["b", "c"]);
    assert_eq!(requests[0].path(), "/v1/chat/completions");
    assert_eq!(requests[0].header("authorization"), Some("Bearer hush"));
    assert!(!format!("{requests:?}").contains("hush"));
}

#[tokio::test]
async fn connections_beyond_the_limit_wait() {
    let server = server(MockLimits { connections: 1, ..MockLimits::default() }).await;
    let body = Dialect::OpenAi.body(false, &[Item::user("hi")], &[]);
    let ask = || post(server.address(), "/v1/chat/completions", &body);
    let all = futures_util::future::join_all([ask(), ask(), ask(), ask()]).await;
    assert!(all.iter().flatten().all(|response| response.status == 200));
    assert_eq!((all.len(), server.requests().len()), (4, 4));
}

#[tokio::test]
async fn stopping_drains_running_answers() {
    let script = "
rules:
  - { when: { user: slow }, answer: { text: abc, chunk: 1, delay: 100ms, pause: 100ms } }
  - { when: { user: never }, answer: { text: abc, delay: 600s } }
";
    for (word, expected) in [("slow", true), ("never", false)] {
        let script = Script::parse("test.yaml", script).expect("a script");
        // Far more, or far less, than the answer takes on any machine.
        let drain = Duration::from_millis(if expected { 60_000 } else { 100 });
        let limits = MockLimits { drain, ..MockLimits::default() };
        let server = MockServer::start_with(LOOPBACK, script, limits).await.expect("a server");
        let address = server.address();
        let body = Dialect::OpenAi.body(true, &[Item::user(word)], &[]);
        let asked = tokio::spawn(async move { post(address, "/v1/chat/completions", &body).await });
        while server.requests().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        server.stop().await;
        let response = asked.await.expect("no panic");
        assert_eq!(response.is_some_and(|response| response.complete), expected, "{word}");
        assert!(tokio::net::TcpStream::connect(address).await.is_err());
    }
}
