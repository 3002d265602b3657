//! A server that writes canned bytes, and keeps what it was asked.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What the server writes to one request, and whether it then hangs.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    parts: Vec<Vec<u8>>,
    hang: bool,
}

impl Reply {
    /// These bytes, head included.
    pub(crate) fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self { parts: vec![bytes.into()], hang: false }
    }

    /// A stream of events that ends with the connection.
    pub(crate) fn events(body: &str) -> Self {
        Self::raw(format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
             connection: close\r\n\r\n{body}"
        ))
    }

    /// A status with a body and other headers, each with its line end.
    pub(crate) fn status(status: &str, headers: &str, body: &str) -> Self {
        let length = body.len();
        Self::raw(format!(
            "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\
             {headers}\r\n{body}"
        ))
    }

    /// More bytes, written after the others.
    pub(crate) fn then(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.parts.push(bytes.into());
        self
    }

    /// The same, and then nothing: the connection stays open.
    pub(crate) fn hang(self) -> Self {
        Self { hang: true, ..self }
    }
}

/// What was asked.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) head: String,
    pub(crate) body: Value,
}

pub(crate) struct Server {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Answers one request after the other; the last answer stands for all later.
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

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

async fn answer(mut socket: TcpStream, reply: Reply, seen: Arc<Mutex<Vec<Seen>>>) {
    let Some(asked) = read(&mut socket).await else { return };
    seen.lock().unwrap().push(asked);
    socket.set_nodelay(true).unwrap();
    for part in reply.parts {
        // A client that has seen enough closes; that is its right.
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

async fn read(socket: &mut TcpStream) -> Option<Seen> {
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
            return Some(Seen { head: head.to_owned(), body });
        }
    }
}
