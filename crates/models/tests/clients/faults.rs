//! Transport faults: each is an error of the right kind, in bounded time and space.

use std::time::Duration;

use ostler_engine::model::{Chunk, ModelError, ModelErrorKind};
use ostler_models::http::{ClientLimits, Http};
use ostler_models::openai::{LimitField, OpenAi, Options};

use crate::ask::{END, PRICE, ask, request, text};
use crate::server::{Reply, Server};

const HI: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\n";
const STOP: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

fn model(url: &str, limits: ClientLimits) -> OpenAi {
    let options = Options {
        name: "test/gpt".into(),
        model: "gpt".into(),
        base_url: url.into(),
        key: None,
        limit: LimitField::MaxTokens,
        price: PRICE,
    };
    OpenAi::new(Http::new(limits).unwrap(), options)
}

async fn outcome(reply: Reply, limits: ClientLimits) -> (Vec<Chunk>, Option<ModelError>) {
    let server = Server::start([reply]).await;
    ask(&model(&server.url, limits), request()).await
}

async fn failure(reply: Reply) -> ModelError {
    outcome(reply, ClientLimits::default()).await.1.expect("it fails")
}

/// C03: the status and the requested wait are reported.
#[tokio::test]
async fn c03_a_status_is_reported_with_its_retry_after() {
    let body = r#"{"error":{"message":"Too many tokens"}}"#;
    let error = failure(Reply::status("429 Too Many", "retry-after: 7\r\n", body)).await;
    let expected = ModelError {
        model: "test/gpt".into(),
        kind: ModelErrorKind::Status(429),
        message: "the provider answered with HTTP 429: Too many tokens".into(),
        retry_after: Some(Duration::from_secs(7)),
    };
    assert_eq!(error, expected);
    let check = async |status: &str, kind, message: &str| {
        let error = failure(Reply::status(status, "", "<html>no</html>")).await;
        assert_eq!((error.kind, error.message.as_str()), (kind, message));
    };
    let answered = "the provider answered with HTTP 500";
    check("500 Internal", ModelErrorKind::Status(500), answered).await;
    let refused = "the provider refused the key (HTTP 401)";
    check("401 Unauthorized", ModelErrorKind::Status(401), refused).await;
    check("404 Not Found", ModelErrorKind::Status(404), "the provider answered with HTTP 404")
        .await;
}

#[tokio::test]
async fn a_broken_connection_is_an_incomplete_answer() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
    for framing in ["content-length: 100000\r\n\r\n", "transfer-encoding: chunked\r\n\r\nfffff\r\n"]
    {
        let (chunks, error) =
            outcome(Reply::raw(format!("{head}{framing}{HI}")), ClientLimits::default()).await;
        assert_eq!((chunks, error.unwrap().kind), (vec![text("hi")], ModelErrorKind::Incomplete));
    }
}

#[tokio::test]
async fn characters_may_be_split_anywhere() {
    let body = HI.replace("hi", "Grüße 🐎") + STOP;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let reply = body.bytes().fold(Reply::raw(head), |reply, byte| reply.then([byte]));
    let (chunks, error) = outcome(reply, ClientLimits::default()).await;
    assert_eq!((chunks, error), (vec![text("Grüße 🐎"), END], None));
}

#[tokio::test]
async fn every_wait_has_a_timeout() {
    let short = Duration::from_millis(50);
    let first = ClientLimits { first_byte: short, ..ClientLimits::default() };
    let between = ClientLimits { between_chunks: short, ..ClientLimits::default() };
    let whole = ClientLimits { total: short, ..ClientLimits::default() };
    let nothing = Reply::raw("").hang();
    let head = Reply::events("").hang();
    let part = Reply::events(HI).hang();
    for (reply, limits, chunks) in [
        (nothing, first, vec![]),
        (head.clone(), first, vec![]),
        (part.clone(), between, vec![text("hi")]),
        (head, whole, vec![]),
    ] {
        let (said, error) = outcome(reply, limits).await;
        assert_eq!((said, error.unwrap().kind), (chunks, ModelErrorKind::TimedOut), "{limits:?}");
    }
}

#[tokio::test]
async fn a_long_error_is_read_in_part_and_in_time() {
    let short = ClientLimits { first_byte: Duration::from_millis(200), ..ClientLimits::default() };
    let head = "HTTP/1.1 500 Oh\r\ncontent-length: 999999999\r\n\r\n";
    let reply = Reply::raw(head).then("word ".repeat(100_000)).hang();
    let error = outcome(reply, short).await.1.unwrap();
    assert_eq!(error.kind, ModelErrorKind::Status(500));
    assert!(error.message.len() < 400, "{}", error.message.len());
}

#[tokio::test]
async fn an_invalid_response_is_reported() {
    let check = async |reply: Reply, limits: ClientLimits, said: &str| {
        let (chunks, error) = outcome(reply, limits).await;
        let error = error.expect("it fails");
        assert_eq!(error.kind, ModelErrorKind::Malformed, "{error}");
        assert!(error.message.contains(said), "{error}");
        assert!(!chunks.contains(&END));
    };
    let usual = ClientLimits::default();
    check(Reply::events("data: {\"choices\": 7}\n\n"), usual, "invalid type").await;
    check(Reply::events("data: {oh\n\ndata: [DONE]\n\n"), usual, "key must be").await;
    let page = Reply::status("200 OK", "content-type: text/html\r\n", "<html>");
    check(page, usual, "it is `text/html` and not an event stream").await;
    let event = ClientLimits { event_bytes: 1000, ..usual };
    check(Reply::events(&format!("data: {}", "x".repeat(2000))), event, "more than 1000").await;
    let bytes = ClientLimits { body_bytes: 1000, ..usual };
    check(Reply::events(&HI.repeat(100)), bytes, "it is too large").await;
}

#[tokio::test]
async fn an_unreachable_server_is_reported() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", free.local_addr().unwrap());
    drop(free);
    let (_, error) = ask(&model(&url, ClientLimits::default()), request()).await;
    let error = error.unwrap();
    assert_eq!(error.kind, ModelErrorKind::Network);
    assert_eq!(error.message, "the provider could not be reached");
    let (_, error) = ask(&model("no address", ClientLimits::default()), request()).await;
    assert!(!error.unwrap().kind.is_retryable());
}
