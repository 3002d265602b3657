//! Servers on the network that misbehave.

use std::sync::{Arc, Mutex};

use ostler_domain::secret::SecretRef;
use ostler_engine::outcome::Status;
use ostler_tools::mcp::{HttpServer, McpServerConfig, McpServers, McpTransport};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{call, names, problems, start, within};

/// A request as it came.
#[derive(Debug, Clone, Default)]
struct Request {
    line: String,
    head: String,
    body: Value,
}

type Requests = Arc<Mutex<Vec<Request>>>;
type Handler = dyn Fn(&Request) -> String + Send + Sync;

/// Answers HTTP requests, and remembers them.
async fn serve(handler: impl Fn(&Request) -> String + Send + Sync + 'static) -> (String, Requests) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let requests = Requests::default();
    let (seen, handler): (_, Arc<Handler>) = (requests.clone(), Arc::new(handler));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, handler.clone(), seen.clone()));
        }
    });
    (address, requests)
}

async fn answer(stream: TcpStream, handler: Arc<Handler>, seen: Requests) -> std::io::Result<()> {
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

fn status(line: &str, headers: &str) -> String {
    format!("HTTP/1.1 {line}\r\n{headers}content-length: 0\r\nconnection: close\r\n\r\n")
}

fn json_body(body: &Value) -> String {
    let body = body.to_string();
    let length = body.len();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
    format!("{head}content-length: {length}\r\n\r\n{body}")
}

/// What a proper server without events answers; its one tool says how long its
/// answer is to be.
fn proper(request: &Request) -> String {
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
        Some(_) => return status("202 Accepted", ""),
        None => return status("405 Method Not Allowed", ""),
    };
    let message = json!({"jsonrpc": "2.0", "id": id, "result": result});
    if request.body["params"]["arguments"]["events"] == true {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
        return format!("{head}\r\nevent: message\ndata: {message}\n\n");
    }
    json_body(&message)
}

fn net(url: String, bearer: Option<SecretRef>) -> McpServerConfig {
    let transport = McpTransport::Http(HttpServer { url, bearer });
    let mut config = McpServerConfig::new("net".parse().unwrap(), transport);
    config.limits.restarts = 0;
    config
}

/// A token in a file, and where that is.
fn token() -> (tempfile::TempDir, SecretRef) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    std::fs::write(&path, "hunter2\n").unwrap();
    let at = SecretRef::File(path.to_str().unwrap().to_owned());
    (folder, at)
}

async fn stop(servers: McpServers) {
    within(servers.shutdown()).await;
}

#[tokio::test]
async fn a_token_goes_with_every_request_and_a_redirect_in_the_same_place_is_followed() {
    let moved = |request: &Request| {
        if request.line.contains(" /mcp ") {
            status("307 Temporary Redirect", "location: /mcp/\r\n")
        } else {
            proper(request)
        }
    };
    let (address, requests) = serve(moved).await;
    let (_folder, at) = token();
    let servers = start(net(format!("{address}/mcp"), Some(at))).await;
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
async fn a_redirect_carries_no_token_elsewhere() {
    let (elsewhere, stolen) = serve(proper).await;
    for line in ["307 Temporary Redirect", "308 Permanent Redirect", "302 Found"] {
        let location = format!("location: {elsewhere}/mcp\r\n");
        let (address, asked) = serve(move |_| status(line, &location)).await;
        let (_folder, at) = token();
        let servers = start(net(format!("{address}/mcp"), Some(at))).await;
        let said = problems(&servers).join("\n");
        assert!(said.contains("sends us to another address"), "{line}: {said}");
        assert!(!said.contains("hunter2"), "{said}");
        assert_eq!(asked.lock().unwrap().len(), 1, "{line}");
        stop(servers).await;
    }
    assert_eq!(stolen.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_not_read() {
    let (address, _) = serve(proper).await;
    let mut config = net(address, None);
    config.limits.message = 10_000;
    let servers = start(config).await;
    for events in [false, true] {
        let long = json!({"bytes": 20_000, "events": events});
        let large = call(&servers, "mcp__net__long", long).await;
        assert_eq!(large.status, Status::OutcomeUnknown);
        assert!(large.content.contains("There is no answer"), "{large:?}");
        let short = call(&servers, "mcp__net__long", json!({"bytes": 1, "events": events})).await;
        assert_eq!(short.content, "x");
    }
    stop(servers).await;
}

#[tokio::test]
async fn servers_that_do_not_answer_properly_are_problems() {
    let check = async |answer: String, expected: &str| {
        let (address, _) = serve(move |_| answer.clone()).await;
        let servers = start(net(address, None)).await;
        let said = problems(&servers).join("\n");
        assert!(said.contains(expected), "{said}");
        stop(servers).await;
    };
    check(status("401 Unauthorized", ""), "HTTP status 401").await;
    check(status("500 Internal Server Error", ""), "HTTP status 500").await;
    check(status("200 OK", "content-type: text/html\r\n"), "no message of the protocol").await;
    check(json_body(&json!("hello")), "no message of the protocol").await;

    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    for (url, expected) in [
        (format!("http://{closed}/"), "it cannot be reached"),
        ("nonsense".to_owned(), "it is no URL"),
        ("ftp://127.0.0.1/".to_owned(), "neither HTTP nor HTTPS"),
    ] {
        let servers = start(net(url, None)).await;
        let said = problems(&servers).join("\n");
        assert!(said.contains(expected), "{said}");
        stop(servers).await;
    }
}
