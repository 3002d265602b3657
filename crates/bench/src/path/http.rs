//! As little of HTTP/1.1 as both sides of the suite need: messages with a length.

use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::BenchError;

/// A message: its first line and its body.
pub(crate) struct HttpMessage {
    pub(crate) first_line: String,
    pub(crate) body: Vec<u8>,
}

/// Reads messages from a connection that stays open.
#[derive(Default)]
pub(crate) struct MessageReader {
    buffer: Vec<u8>,
}

impl MessageReader {
    /// Reads the next message; `None` if the connection has ended.
    pub(crate) async fn next(
        &mut self,
        socket: &mut (impl AsyncRead + Unpin),
    ) -> Result<Option<HttpMessage>, BenchError> {
        loop {
            if let Some(message) = self.take()? {
                return Ok(Some(message));
            }
            if socket.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        }
    }

    /// Takes a whole message from what was read.
    fn take(&mut self) -> Result<Option<HttpMessage>, BenchError> {
        let Some(end) = memchr::memmem::find(&self.buffer, b"\r\n\r\n") else { return Ok(None) };
        let head = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        let mut lines = head.lines();
        let first_line = lines.next().unwrap_or_default().to_owned();
        let length = lines.find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.trim().parse::<usize>().ok())?
        });
        let length = length.ok_or_else(|| BenchError::Http(format!("no length: {first_line}")))?;
        let whole = end + 4 + length;
        if self.buffer.len() < whole {
            return Ok(None);
        }
        let body = self.buffer[end + 4..whole].to_vec();
        self.buffer.drain(..whole);
        Ok(Some(HttpMessage { first_line, body }))
    }
}
