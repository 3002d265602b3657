//! A long response that is read line by line.

use std::collections::VecDeque;

use anyhow::anyhow;

use super::events::BodyStream;

/// The longest line.
const MAX_LINE_BYTES: usize = 64 << 20;

/// The lines of a response that is open.
pub(crate) struct LineStream {
    body: BodyStream,
    buffer: VecDeque<u8>,
    /// The beginning of the buffer that has no end of a line.
    searched: usize,
}

impl LineStream {
    pub(super) const fn new(body: BodyStream) -> Self {
        Self { body, buffer: VecDeque::new(), searched: 0 }
    }

    /// Returns the next line; none at the end. Fails if the response ends within a line.
    pub(crate) async fn next(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        loop {
            let unread = self.buffer.range(self.searched..);
            if let Some(end) = unread.into_iter().position(|byte| *byte == b'\n') {
                let end = self.searched + end;
                self.searched = 0;
                let line = self.buffer.drain(..=end).take(end).collect();
                return Ok(Some(line));
            }
            self.searched = self.buffer.len();
            anyhow::ensure!(self.searched <= MAX_LINE_BYTES, "a line of the answer is too long");
            match self.body.next_chunk().await? {
                Some(chunk) => self.buffer.extend(chunk),
                None if self.buffer.is_empty() => return Ok(None),
                None => return Err(anyhow!("the answer was cut off; try again")),
            }
        }
    }
}
