//! Simulated customers who write through a gateway.

use std::time::Duration;

use ostler_channels::secret::ChannelSecret;
use ostler_channels::signature::SigningKeys;
use ostler_runtime::deps::Clock;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::installation::{BINDING, KEY};

/// The pause between two messages of a customer.
const PAUSE: Duration = Duration::from_millis(300);
/// How long the gateway waits for a response.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Tasks that write the messages of customers.
pub(crate) struct Customers(JoinSet<()>);

impl Customers {
    /// Starts customers who write to any of these addresses, one message after another.
    /// The gateway repeats a message until it is accepted.
    pub(crate) fn write(addresses: &[String], customers: usize, messages: usize) -> Self {
        let mut writing = JoinSet::new();
        for customer in 0..customers {
            let addresses = addresses.to_owned();
            writing.spawn(async move {
                for (n, word) in Self::words(customer, messages).into_iter().enumerate() {
                    let text = if n % 3 == 0 { format!("note {word}") } else { word.clone() };
                    let mut targets = addresses.iter().cycle().skip(customer + n);
                    while !deliver(targets.next().unwrap(), customer, &word, &text).await {
                        tokio::time::sleep(Duration::from_millis(200)).await;
                    }
                    tokio::time::sleep(PAUSE).await;
                }
            });
        }
        Self(writing)
    }

    /// Waits until all messages are accepted.
    pub(crate) async fn finish(self) {
        self.0.join_all().await;
    }

    /// Returns the unique words in the messages of a customer, in order.
    pub(crate) fn words(customer: usize, messages: usize) -> Vec<String> {
        (0..messages).map(|n| format!("w{customer:03}x{n:03}")).collect()
    }
}

/// Returns the unique words of messages that an answer repeats.
pub(crate) fn words_in(text: &str) -> Vec<String> {
    let pieces = text.split(|c: char| !c.is_alphanumeric());
    let word = |piece: &&str| piece.len() == 8 && piece.starts_with('w') && &piece[4..5] == "x";
    pieces.filter(word).map(str::to_owned).collect()
}

/// Posts a message, and returns whether it was accepted.
async fn deliver(address: &str, customer: usize, id: &str, text: &str) -> bool {
    let from = format!("+39333{customer:06}");
    let body = json!({"type": "message", "from": {"id": from}, "text": text}).to_string();
    let response = post(address, id, &body);
    matches!(tokio::time::timeout(TIMEOUT, response).await, Ok(Ok(status)) if status / 100 == 2)
}

async fn post(address: &str, id: &str, body: &str) -> std::io::Result<u16> {
    let keys = SigningKeys::parse(&ChannelSecret::new(KEY)).unwrap();
    let signed = keys.sign(id, Clock::system().now(), body.as_bytes());
    let signed: String =
        signed.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let request = format!(
        "POST /v1/webhooks/{BINDING} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n{signed}\r\n{body}"
    );
    let mut socket = TcpStream::connect(address).await?;
    socket.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await?;
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    status.ok_or_else(|| std::io::ErrorKind::InvalidData.into())
}
