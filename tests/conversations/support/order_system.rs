//! A shop's order system: an HTTP server on a port of its own, with all the faults that such
//! a system can have.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// A request that the system got.
#[derive(Debug, Clone, Default)]
pub(crate) struct OrderRequest {
    /// Method and path: `GET /orders/1001`.
    pub(crate) line: String,
    /// By lower-case name.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
}

impl OrderRequest {
    /// Returns the idempotency key.
    pub(crate) fn key(&self) -> Option<&str> {
        self.headers.get("idempotency-key").map(String::as_str)
    }
}

/// A running order system.
#[derive(Clone)]
pub(crate) struct OrderSystem {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<OrderRequest>>>,
    /// Signals that a request arrived.
    pub(crate) arrived: Arc<Notify>,
}

impl OrderSystem {
    /// Starts a system. It answers by path: `/orders/1001` is known and others are not,
    /// `/fail` is an internal error, `/hang` answers only when it is asked again with the
    /// same key, `/twice` answers twice, `/locked` refuses, `/away` redirects, and everything
    /// that is posted elsewhere succeeds.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let system = Self { url, requests: Arc::default(), arrived: Arc::default() };
        let server = system.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let server = server.clone();
                tokio::spawn(async move { server.answer(stream).await });
            }
        });
        system
    }

    /// Returns the requests so far.
    pub(crate) fn requests(&self) -> Vec<OrderRequest> {
        self.requests.lock().unwrap().clone()
    }

    async fn answer(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let request = read_request(&mut stream).await?;
        let repeated = {
            let mut requests = self.requests.lock().unwrap();
            let repeated =
                request.key().is_some() && requests.iter().any(|old| old.key() == request.key());
            requests.push(request.clone());
            repeated
        };
        self.arrived.notify_one();
        let path = request.line.split(' ').nth(1).unwrap_or_default();
        let (status, body) = match path.split('?').next().unwrap_or_default() {
            "/orders/1001" => ("200 OK", json!({"order": {"status": "on its way", "days": 2}})),
            "/hang" if !repeated => return std::future::pending().await,
            "/fail" => ("500 Internal Server Error", json!({"error": "the pump broke"})),
            "/locked" => ("409 Conflict", json!({"error": "the order is locked"})),
            "/away" => ("307 Temporary Redirect", json!({})),
            "/echo" => ("200 OK", json!(request.headers)),
            path if path.starts_with("/orders/") => ("404 Not Found", json!({"error": "no order"})),
            _ => ("200 OK", json!({"refund": "re_1"})),
        };
        let text = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nlocation: http://10.0.0.1/\r\n\
             content-length: {}\r\n\r\n{body}",
            body.to_string().len()
        );
        stream.write_all(text.as_bytes()).await?;
        if path == "/twice" {
            stream.write_all(text.as_bytes()).await?;
        }
        stream.flush().await
    }
}

async fn read_request(stream: &mut TcpStream) -> std::io::Result<OrderRequest> {
    let mut reader = BufReader::new(stream);
    let mut request = OrderRequest::default();
    reader.read_line(&mut request.line).await?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        request.headers.insert(name.to_lowercase(), value.to_owned());
    }
    let length = request.headers.get("content-length").and_then(|text| text.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).await?;
    request.body = serde_json::from_slice(&body).unwrap_or_default();
    Ok(request)
}
