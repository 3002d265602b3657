//! Customers who write through a gateway, each one message after the other.

use std::time::Duration;

use ostler_channels::secret::Secret;
use ostler_channels::signature::Keys;
use ostler_runtime::parts::Clock;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::world::{BINDING, KEY};

/// The wait between the messages of one person.
const PAUSE: Duration = Duration::from_millis(300);
/// How long the gateway waits for a receipt.
const PATIENCE: Duration = Duration::from_secs(10);

/// Customers who write.
pub(crate) struct Customers(JoinSet<()>);

impl Customers {
    /// Has so many people write so many messages each, to any of these doors. The
    /// gateway brings a message until it has a receipt for it.
    pub(crate) fn write(doors: &[String], people: usize, messages: usize) -> Self {
        let mut writing = JoinSet::new();
        for who in 0..people {
            let doors = doors.to_owned();
            writing.spawn(async move {
                for (n, word) in Self::words(who, messages).into_iter().enumerate() {
                    let text = if n % 3 == 0 { format!("note {word}") } else { word.clone() };
                    let mut door = doors.iter().cycle().skip(who + n);
                    while !bring(door.next().unwrap(), who, &word, &text).await {
                        tokio::time::sleep(Duration::from_millis(200)).await;
                    }
                    tokio::time::sleep(PAUSE).await;
                }
            });
        }
        Self(writing)
    }

    /// Returns when everything is written and accepted.
    pub(crate) async fn done(self) {
        self.0.join_all().await;
    }

    /// The words of somebody's messages, in order; no other message has them.
    pub(crate) fn words(who: usize, messages: usize) -> Vec<String> {
        (0..messages).map(|n| format!("w{who:03}x{n:03}")).collect()
    }
}

/// The words of messages in an answer.
pub(crate) fn words_in(text: &str) -> Vec<String> {
    let pieces = text.split(|c: char| !c.is_alphanumeric());
    let word = |piece: &&str| piece.len() == 8 && piece.starts_with('w') && &piece[4..5] == "x";
    pieces.filter(word).map(str::to_owned).collect()
}

/// The gateway brings a message; says whether it has a receipt.
async fn bring(door: &str, who: usize, id: &str, text: &str) -> bool {
    let from = format!("+39333{who:06}");
    let body = json!({"type": "message", "from": {"id": from}, "text": text}).to_string();
    let posting = post(door, id, &body);
    matches!(tokio::time::timeout(PATIENCE, posting).await, Ok(Ok(status)) if status / 100 == 2)
}

async fn post(door: &str, id: &str, body: &str) -> std::io::Result<u16> {
    let keys = Keys::read(&Secret::new(KEY)).unwrap();
    let signed = keys.sign(id, Clock::system().now(), body.as_bytes());
    let signed: String =
        signed.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let request = format!(
        "POST /v1/webhooks/{BINDING} HTTP/1.1\r\nhost: {door}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n{signed}\r\n{body}"
    );
    let mut socket = TcpStream::connect(door).await?;
    socket.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await?;
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    status.ok_or_else(|| std::io::ErrorKind::InvalidData.into())
}
