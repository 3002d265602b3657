//! A gateway that takes replies, and tells the customer who waits for one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::http::MessageReader;
use crate::BenchError;

/// What a gateway does with replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GatewayMode {
    Answering,
    /// It reads and never answers.
    Hanging,
}

type Waiting = Arc<Mutex<HashMap<String, oneshot::Sender<()>>>>;

/// A running gateway. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Gateway {
    pub(crate) url: String,
    waiting: Waiting,
}

/// What is read of a reply.
#[derive(Deserialize)]
struct Reply {
    to: String,
}

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

impl Gateway {
    pub(crate) async fn start(mode: GatewayMode) -> Result<Self, BenchError> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/", listener.local_addr()?);
        let waiting = Waiting::default();
        let replies = waiting.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let replies = replies.clone();
                tokio::spawn(async move {
                    // The connection ends with the suite.
                    let _ended = take_replies(socket, mode, &replies).await;
                });
            }
        });
        Ok(Self { url, waiting })
    }

    /// Returns what resolves when the next reply to this customer arrives.
    pub(crate) fn next_reply(&self, who: &str) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.insert(who.to_owned(), sender);
        receiver
    }
}

async fn take_replies(
    mut socket: TcpStream,
    mode: GatewayMode,
    waiting: &Waiting,
) -> Result<(), BenchError> {
    socket.set_nodelay(true)?;
    let mut reader = MessageReader::default();
    while let Some(message) = reader.next(&mut socket).await? {
        if mode == GatewayMode::Hanging {
            continue;
        }
        let reply: Reply = serde_json::from_slice(&message.body)?;
        socket.write_all(ANSWER).await?;
        let sender = waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&reply.to);
        if let Some(sender) = sender {
            let _nobody_waits = sender.send(());
        }
    }
    Ok(())
}
