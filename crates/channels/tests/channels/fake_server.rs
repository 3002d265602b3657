//! A fake HTTP server that returns scripted replies and records requests.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// How the server replies to one request.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// With a status, additional headers and a body.
    Status(u16, &'static str, Vec<u8>),
    /// By closing the connection.
    Cut,
    /// Not at all.
    Hang,
}

impl Reply {
    pub(crate) fn json(status: u16, body: &serde_json::Value) -> Self {
        Self::Status(status, "", body.to_string().into_bytes())
    }
}

/// A recorded request.
#[derive(Debug, Clone)]
pub(crate) struct SeenRequest {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl SeenRequest {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }

    pub(crate) fn headers(&self) -> http::HeaderMap {
        let pair = |line: &str| {
            let (name, value) = line.split_once(": ")?;
            Some((name.parse::<http::HeaderName>().ok()?, value.parse().ok()?))
        };
        self.head.lines().skip(1).filter_map(pair).collect()
    }
}

pub(crate) struct Server {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<SeenRequest>>>,
}

impl Server {
    /// Starts a server with one reply per request. The last reply is repeated.
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: Vec<Reply> = replies.into_iter().collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let recorded = seen.clone();
        tokio::spawn(async move {
            for number in 0.. {
                let (socket, _) = listener.accept().await.unwrap();
                let reply = replies.get(number).or(replies.last()).unwrap().clone();
                tokio::spawn(handle(socket, reply, recorded.clone()));
            }
        });
        Self { url, seen }
    }

    pub(crate) fn seen(&self) -> Vec<SeenRequest> {
        self.seen.lock().unwrap().clone()
    }
}

async fn handle(mut socket: TcpStream, reply: Reply, seen: Arc<Mutex<Vec<SeenRequest>>>) {
    let Some(request) = read_request(&mut socket).await else { return };
    seen.lock().unwrap().push(request);
    match reply {
        Reply::Status(status, headers, body) => {
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n"
            );
            // The client may close the connection before it has read everything.
            if socket.write_all(head.as_bytes()).await.is_ok() {
                let _ = socket.write_all(&body).await;
            }
        }
        Reply::Cut => {}
        Reply::Hang => {
            let _ = socket.read(&mut [0; 1]).await;
        }
    }
}

async fn read_request(socket: &mut TcpStream) -> Option<SeenRequest> {
    let mut bytes = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let read = socket.read(&mut buffer).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&buffer[..read]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let body = &bytes[end + 4..];
        let chunked = head.contains("transfer-encoding: chunked");
        let complete = match length {
            Some(length) => body.len() >= length.parse().unwrap(),
            None => !chunked || body.ends_with(b"0\r\n\r\n"),
        };
        if complete {
            return Some(SeenRequest { head, body: body.to_vec() });
        }
    }
}
