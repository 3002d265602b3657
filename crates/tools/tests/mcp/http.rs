//! HTTP servers that misbehave.

use std::sync::{Arc, Mutex};

use ostler_domain::secret::SecretRef;
use ostler_domain::tool::SecretText;
use ostler_engine::outcome::OutcomeStatus;
use ostler_tools::mcp::{McpHttpServer, McpServerConfig, McpServers, McpTransport};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{call, names, problems, start, within};

/// A received request.
#[derive(Debug, Clone, Default)]
struct Request {
    line: String,
    head: String,
    body: Value,
}

type Requests = Arc<Mutex<Vec<Request>>>;
type Handler = dyn Fn(&Request) -> String + Send + Sync;

/// Starts an HTTP server that records its requests.
async fn serve(handler: impl Fn(&Request) -> String + Send + Sync + 'static) -> (String, Requests) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let requests = Requests::default();
    let (seen, handler): (_, Arc<Handler>) = (requests.clone(), Arc::new(handler));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(handle(stream, handler.clone(), seen.clone()));
        }
    });
    (address, requests)
}

async fn handle(stream: TcpStream, handler: Arc<Handler>, seen: Requests) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut request = Request::default();
    stream.read_line(&mut request.line).await?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? <= 2 {
            break;
        }
        let line = line.to_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        request.head.push_str(&line);
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    request.body = serde_json::from_slice(&body).unwrap_or_default();
    let answer = handler(&request);
    seen.lock().unwrap().push(request);
    stream.write_all(answer.as_bytes()).await
}

fn status_only(line: &str, headers: &str) -> String {
    format!("HTTP/1.1 {line}\r\n{headers}content-length: 0\r\nconnection: close\r\n\r\n")
}

fn json_body(body: &Value) -> String {
    let body = body.to_string();
    let length = body.len();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
    format!("{head}content-length: {length}\r\n\r\n{body}")
}

/// Answers like a correct server. Its only tool returns as many bytes as requested, as
/// JSON or as an event.
fn correct_server(request: &Request) -> String {
    let id = &request.body["id"];
    let result = match request.body["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": request.body["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "net", "version": "1"},
        }),
        Some("tools/list") => {
            json!({"tools": [{"name": "long", "inputSchema": {"type": "object"}}]})
        }
        Some("tools/call") => {
            let bytes = request.body["params"]["arguments"]["bytes"].as_u64().unwrap();
            let text = "x".repeat(bytes.try_into().unwrap());
            json!({"content": [{"type": "text", "text": text}]})
        }
        Some(_) => return status_only("202 Accepted", ""),
        None => return status_only("405 Method Not Allowed", ""),
    };
    let message = json!({"jsonrpc": "2.0", "id": id, "result": result});
    if request.body["params"]["arguments"]["events"] == true {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
        return format!("{head}\r\nevent: message\ndata: {message}\n\n");
    }
    json_body(&message)
}

fn http_config(url: String, bearer: Option<SecretRef>) -> McpServerConfig {
    let header = |secret| SecretText::Secret { prefix: "Bearer ".to_owned(), secret };
    let bearer = bearer.map(|secret| ("Authorization".to_owned(), header(secret)));
    let server = McpHttpServer { headers: bearer.into_iter().collect(), ..McpHttpServer::new(url) };
    let transport = McpTransport::Http(server);
    let mut config = McpServerConfig::new("net".parse().unwrap(), transport);
    config.limits.max_restarts = 0;
    config
}

/// Writes a token to a file.
fn token_file() -> (tempfile::TempDir, SecretRef) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    std::fs::write(&path, "hunter2\n").unwrap();
    let secret = SecretRef::File(path.to_str().unwrap().to_owned());
    (folder, secret)
}

async fn stop(servers: McpServers) {
    within(servers.shutdown()).await;
}

#[tokio::test]
async fn the_token_is_sent_and_redirects_to_the_same_origin_are_followed() {
    let redirecting = |request: &Request| {
        if request.line.contains(" /mcp ") {
            status_only("307 Temporary Redirect", "location: /mcp/\r\n")
        } else {
            correct_server(request)
        }
    };
    let (address, requests) = serve(redirecting).await;
    let (_folder, secret) = token_file();
    let servers = start(http_config(format!("{address}/mcp"), Some(secret))).await;
    assert_eq!(problems(&servers), [""; 0]);
    assert_eq!(names(&servers), ["mcp__net__long"]);
    let outcome = call(&servers, "mcp__net__long", json!({"bytes": 3})).await;
    assert_eq!(outcome.content, "xxx");
    stop(servers).await;
    for request in requests.lock().unwrap().iter() {
        assert!(request.head.contains("authorization: bearer hunter2"), "{request:?}");
    }
}

#[tokio::test]
async fn the_token_is_not_sent_to_another_origin() {
    let (other_origin, received) = serve(correct_server).await;
    for line in ["307 Temporary Redirect", "308 Permanent Redirect", "302 Found"] {
        let location = format!("location: {other_origin}/mcp\r\n");
        let (address, requests) = serve(move |_| status_only(line, &location)).await;
        let (_folder, secret) = token_file();
        let servers = start(http_config(format!("{address}/mcp"), Some(secret))).await;
        let reported = problems(&servers).join("\n");
        assert!(reported.contains("redirects to another address"), "{line}: {reported}");
        assert!(!reported.contains("hunter2"), "{reported}");
        assert_eq!(requests.lock().unwrap().len(), 1, "{line}");
        stop(servers).await;
    }
    assert_eq!(received.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn an_answer_over_the_size_limit_is_discarded() {
    let (address, _) = serve(correct_server).await;
    let mut config = http_config(address, None);
    config.limits.max_message_bytes = 10_000;
    let servers = start(config).await;
    for events in [false, true] {
        let long = json!({"bytes": 20_000, "events": events});
        let large = call(&servers, "mcp__net__long", long).await;
        assert_eq!(large.status, OutcomeStatus::OutcomeUnknown);
        assert!(large.content.contains("There is no answer"), "{large:?}");
        let short = call(&servers, "mcp__net__long", json!({"bytes": 1, "events": events})).await;
        assert_eq!(short.content, "x");
    }
    stop(servers).await;
}

#[tokio::test]
async fn servers_with_invalid_answers_are_problems() {
    let check = async |answer: String, expected: &str| {
        let (address, _) = serve(move |_| answer.clone()).await;
        let servers = start(http_config(address, None)).await;
        let reported = problems(&servers).join("\n");
        assert!(reported.contains(expected), "{reported}");
        stop(servers).await;
    };
    check(status_only("401 Unauthorized", ""), "HTTP status 401").await;
    check(status_only("500 Internal Server Error", ""), "HTTP status 500").await;
    check(status_only("200 OK", "content-type: text/html\r\n"), "not a valid protocol message")
        .await;
    check(json_body(&json!("hello")), "not a valid protocol message").await;

    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    for (url, expected) in [
        (format!("http://{closed}/"), "it cannot be reached"),
        ("nonsense".to_owned(), "it is not a URL"),
        ("ftp://127.0.0.1/".to_owned(), "neither HTTP nor HTTPS"),
    ] {
        let servers = start(http_config(url, None)).await;
        let reported = problems(&servers).join("\n");
        assert!(reported.contains(expected), "{reported}");
        stop(servers).await;
    }
}
