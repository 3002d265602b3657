//! A minimal HTTP client that shows how a response arrives.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
    pub(crate) complete: bool,
    /// How many chunks it arrived in.
    pub(crate) pieces: usize,
}

impl Response {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the data of its events.
    pub(crate) fn events(&self) -> Vec<&str> {
        self.body.lines().filter_map(|line| line.strip_prefix("data: ")).collect()
    }
}

/// Sends a request; `None` if the connection was closed without a response.
pub(crate) async fn send(address: SocketAddr, request: &str) -> Option<Response> {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(request.as_bytes()).await.expect("the request is sent");
    let mut all = Vec::new();
    // A connection that is closed early may be an error here.
    let _ = stream.read_to_end(&mut all).await;
    let at = all.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8(all[..at].to_vec()).expect("a head").to_lowercase();
    let rest = &all[at + 4..];
    let status = head.split(' ').nth(1)?.parse().expect("a status");
    let (body, complete, pieces) = if head.contains("transfer-encoding: chunked") {
        chunks(rest)
    } else {
        (rest.to_vec(), true, 1)
    };
    let body = String::from_utf8_lossy(&body).into_owned();
    Some(Response { status, head, body, complete, pieces })
}

pub(crate) async fn post(address: SocketAddr, path: &str, body: &Value) -> Option<Response> {
    let body = body.to_string();
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer hush\r\nconnection: close\r\n"
    );
    send(address, &format!("{head}content-length: {length}\r\n\r\n{body}")).await
}

fn chunks(mut rest: &[u8]) -> (Vec<u8>, bool, usize) {
    let (mut body, mut pieces) = (Vec::new(), 0);
    while let Some(at) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&rest[..at]).expect("a size");
        let size = usize::from_str_radix(size, 16).expect("a size");
        rest = &rest[at + 2..];
        if size == 0 {
            return (body, true, pieces);
        }
        let Some(piece) = rest.get(..size) else { break };
        body.extend_from_slice(piece);
        rest = rest.get(size + 2..).unwrap_or_default();
        pieces += 1;
    }
    (body, false, pieces)
}
