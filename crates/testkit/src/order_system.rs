//! A shop's order system: a program of its own with an HTTP server, and with all the faults
//! that such a system can have.
//!
//! The program is the test binary itself. A binary that starts order systems has this test at
//! its root, which does nothing when it runs as a test:
//!
//! ```ignore
//! #[test]
//! fn order_system() {
//!     ostler_testkit::serve_order_system();
//! }
//! ```

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::sync::Notify;

/// Tells a process of the test binary that it is an order system.
const VARIABLE: &str = "OSTLER_TEST_ORDER_SYSTEM";

/// A request that the system got.
#[derive(Debug, Clone, Default)]
pub struct OrderRequest {
    /// Method and path: `GET /orders/1001`.
    pub line: String,
    /// By lower-case name.
    pub headers: BTreeMap<String, String>,
    /// `null` if there was none.
    pub body: Value,
}

impl OrderRequest {
    /// Returns the idempotency key.
    pub fn key(&self) -> Option<&str> {
        self.headers.get("idempotency-key").map(String::as_str)
    }

    fn path(&self) -> &str {
        let path = self.line.split(' ').nth(1).unwrap_or_default();
        path.split('?').next().unwrap_or_default()
    }
}

/// A running order system. It ends when this is dropped.
pub struct OrderSystem {
    /// `http://127.0.0.1:PORT`.
    pub url: String,
    process: Child,
    arrived: Arc<Notify>,
}

impl OrderSystem {
    /// Starts a system. It answers by path: `/orders/1001` is known and others are not,
    /// `/api/orders/1001` needs the token `canary-shop-token`, `/fail` is an internal error,
    /// `/hang` answers only when it is asked again with the same key, `/twice` answers twice,
    /// `/locked` refuses, `/away` redirects, `/echo` returns the headers, and everything that
    /// is posted elsewhere succeeds. Below `/api/orders`, 1002 hangs, 1003 fails, and 1004
    /// answers twice.
    pub fn start() -> Self {
        let mut process = Command::new(std::env::current_exe().expect("a test binary"))
            .args(["--exact", "order_system", "--nocapture"])
            .env(VARIABLE, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a process");
        let mut lines = BufReader::new(process.stderr.take().expect("its output")).lines();
        let url = lines.next().expect("its address").expect("a line");
        let arrived = Arc::new(Notify::new());
        let notify = Arc::clone(&arrived);
        std::thread::spawn(move || lines.for_each(|_| notify.notify_one()));
        Self { url, process, arrived }
    }

    /// Returns host and port.
    pub fn address(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<OrderRequest> {
        let mut stream = TcpStream::connect(self.address()).expect("the system runs");
        stream.write_all(b"GET /requests HTTP/1.1\r\n\r\n").expect("it is asked");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        let requests: Vec<Value> = serde_json::from_str(body).expect("a list");
        requests.iter().map(request_of).collect()
    }

    /// Waits for a request that arrives, or takes one that has arrived since the last wait.
    pub async fn arrived(&self) {
        self.arrived.notified().await;
    }
}

impl Drop for OrderSystem {
    fn drop(&mut self) {
        let _dead = self.process.kill();
        let _status = self.process.wait();
    }
}

fn request_of(stored: &Value) -> OrderRequest {
    OrderRequest {
        line: stored["line"].as_str().unwrap_or_default().to_owned(),
        headers: serde_json::from_value(stored["headers"].clone()).expect("headers"),
        body: stored["body"].clone(),
    }
}

/// Runs an order system in this process, if it was started as one, until its parent is gone.
pub fn serve_order_system() {
    if std::env::var_os(VARIABLE).is_none() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    eprintln!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(|| {
        let _read = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let log: Arc<Mutex<Vec<OrderRequest>>> = Arc::default();
    for stream in listener.incoming().flatten() {
        let log = Arc::clone(&log);
        std::thread::spawn(move || answer(&stream, &log));
    }
}

/// Answers one request, and closes the connection.
fn answer(mut stream: &TcpStream, log: &Mutex<Vec<OrderRequest>>) -> std::io::Result<()> {
    let request = read_request(stream)?;
    let mut requests = log.lock().unwrap_or_else(PoisonError::into_inner);
    if request.path() == "/requests" {
        let all = requests
            .iter()
            .map(|one| json!({"line": one.line, "headers": one.headers, "body": one.body}));
        let text = response("200 OK", &all.collect());
        drop(requests);
        return stream.write_all(text.as_bytes());
    }
    let repeated = request.key().is_some() && requests.iter().any(|old| old.key() == request.key());
    requests.push(request.clone());
    drop(requests);
    eprintln!("{}", request.line.trim_end());
    let path = request.path();
    let (status, body) = match path {
        "/hang" | "/api/orders/1002" if !repeated => loop {
            std::thread::park();
        },
        "/orders/1001" => ("200 OK", json!({"order": {"status": "on its way", "days": 2}})),
        "/api/orders/1001" | "/api/orders/1004" if has_token(&request) => {
            ("200 OK", json!({"status": "in the workshop", "expected": "Friday"}))
        }
        "/fail" | "/api/orders/1003" => {
            ("500 Internal Server Error", json!({"error": "the pump broke"}))
        }
        "/locked" => ("409 Conflict", json!({"error": "the order is locked"})),
        "/away" => ("307 Temporary Redirect", json!({})),
        "/echo" => ("200 OK", json!(request.headers)),
        path if path.starts_with("/orders/") || path.starts_with("/api/") => {
            ("404 Not Found", json!({"error": "no order"}))
        }
        _ => ("200 OK", json!({"refund": "re_1"})),
    };
    let text = response(status, &body);
    stream.write_all(text.as_bytes())?;
    if matches!(path, "/twice" | "/api/orders/1004") {
        stream.write_all(text.as_bytes())?;
    }
    stream.flush()
}

fn has_token(request: &OrderRequest) -> bool {
    request.headers.get("authorization").is_some_and(|value| value == "Bearer canary-shop-token")
}

fn response(status: &str, body: &Value) -> String {
    let body = body.to_string();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nlocation: http://10.0.0.1/\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn read_request(stream: &TcpStream) -> std::io::Result<OrderRequest> {
    let mut reader = BufReader::new(stream);
    let mut request = OrderRequest::default();
    reader.read_line(&mut request.line)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        request.headers.insert(name.to_lowercase(), value.to_owned());
    }
    let length = request.headers.get("content-length").and_then(|text| text.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    request.body = serde_json::from_slice(&body).unwrap_or_default();
    Ok(request)
}
