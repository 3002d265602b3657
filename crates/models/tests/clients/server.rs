//! A server with canned responses that records its requests.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// The response to one request, and whether the connection then hangs.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    parts: Vec<Vec<u8>>,
    hang: bool,
}

impl Reply {
    /// Creates a response of raw bytes, including the head.
    pub(crate) fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self { parts: vec![bytes.into()], hang: false }
    }

    /// Creates an event stream that ends with the connection.
    pub(crate) fn events(body: &str) -> Self {
        Self::raw(format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
             connection: close\r\n\r\n{body}"
        ))
    }

    /// Creates a response with a status, further header lines and a body.
    pub(crate) fn status(status: &str, headers: &str, body: &str) -> Self {
        let length = body.len();
        Self::raw(format!(
            "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\
             {headers}\r\n{body}"
        ))
    }

    /// Adds bytes in a separate write.
    pub(crate) fn then(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.parts.push(bytes.into());
        self
    }

    /// Keeps the connection open afterwards.
    pub(crate) fn hang(self) -> Self {
        Self { hang: true, ..self }
    }
}

/// A recorded request.
#[derive(Debug, Clone)]
pub(crate) struct RecordedRequest {
    pub(crate) head: String,
    pub(crate) body: Value,
}

pub(crate) struct Server {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<RecordedRequest>>>,
}

impl Server {
    /// Answers requests in order; the last response is repeated.
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: Vec<Reply> = replies.into_iter().collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let keep = seen.clone();
        tokio::spawn(async move {
            for number in 0.. {
                let (socket, _) = listener.accept().await.unwrap();
                let reply = replies.get(number).or(replies.last()).unwrap().clone();
                tokio::spawn(answer(socket, reply, keep.clone()));
            }
        });
        Self { url, seen }
    }

    pub(crate) fn seen(&self) -> Vec<RecordedRequest> {
        self.seen.lock().unwrap().clone()
    }
}

async fn answer(mut socket: TcpStream, reply: Reply, seen: Arc<Mutex<Vec<RecordedRequest>>>) {
    let Some(asked) = read(&mut socket).await else { return };
    seen.lock().unwrap().push(asked);
    socket.set_nodelay(true).unwrap();
    for part in reply.parts {
        // The client may close the connection early.
        if socket.write_all(&part).await.is_err() {
            return;
        }
        tokio::task::yield_now().await;
    }
    if reply.hang {
        let mut nothing = [0; 1];
        let _ = socket.read(&mut nothing).await;
    }
}

async fn read(socket: &mut TcpStream) -> Option<RecordedRequest> {
    let mut bytes = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let read = socket.read(&mut buffer).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
            let body = serde_json::from_str(body).unwrap_or_default();
            return Some(RecordedRequest { head: head.to_owned(), body });
        }
    }
}
