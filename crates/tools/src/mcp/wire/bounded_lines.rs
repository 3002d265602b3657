//! A reader that limits the length of lines. The rest of a longer line is dropped, and
//! what is left of it is not a valid message. Whole lines are shown to an observer before
//! their end is read.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

/// A reader that truncates long lines.
pub(super) struct BoundedLines<R> {
    inner: R,
    max_bytes: usize,
    length: usize,
    skipping: bool,
    /// Counts truncated lines.
    truncated: watch::Sender<u64>,
    /// The start of the current line, for the observer.
    line: Vec<u8>,
    observer: Option<LineObserver>,
}

type LineObserver = Box<dyn Fn(&[u8]) + Send + Sync>;

impl<R> BoundedLines<R> {
    pub(super) const fn new(inner: R, max_bytes: usize, truncated: watch::Sender<u64>) -> Self {
        Self {
            inner,
            max_bytes,
            length: 0,
            skipping: false,
            truncated,
            line: Vec::new(),
            observer: None,
        }
    }

    /// Calls a function with each line, before the last byte of it is read.
    pub(super) fn observed(self, observer: impl Fn(&[u8]) + Send + Sync + 'static) -> Self {
        Self { observer: Some(Box::new(observer)), ..self }
    }

    /// Shows the observer the lines that end in these bytes.
    fn observe(&mut self, bytes: &[u8]) {
        let Some(observer) = &self.observer else { return };
        let mut parts = bytes.split(|byte| *byte == b'\n');
        // What follows the last line break is the start of the next line.
        let rest = parts.next_back().unwrap_or_default();
        for part in parts {
            self.line.extend_from_slice(part);
            observer(&self.line);
            self.line.clear();
        }
        self.line.extend_from_slice(rest);
    }

    /// Moves the bytes to keep to the front and returns their number.
    fn compact(&mut self, bytes: &mut [u8]) -> usize {
        let mut kept = 0;
        for at in 0..bytes.len() {
            let byte = bytes[at];
            if byte == b'\n' {
                (self.length, self.skipping) = (0, false);
            } else if self.skipping {
                continue;
            } else if self.length == self.max_bytes {
                self.skipping = true;
                self.truncated.send_modify(|count| *count += 1);
                continue;
            } else {
                self.length += 1;
            }
            bytes[kept] = byte;
            kept += 1;
        }
        kept
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let before = buffer.filled().len();
            ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
            let Some(new) = buffer.filled_mut().get_mut(before..).filter(|new| !new.is_empty())
            else {
                return Poll::Ready(Ok(()));
            };
            let kept = self.compact(new);
            buffer.set_filled(before + kept);
            let new = buffer.filled().get(before..).unwrap_or_default();
            self.observe(new);
            if kept > 0 {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::BoundedLines;
    use std::sync::{Arc, Mutex};
    use tokio::io::AsyncReadExt;
    use tokio::sync::watch;

    #[tokio::test]
    async fn an_observer_sees_whole_lines() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let observed = seen.clone();
        let (first, second) = ("one\ntw".as_bytes(), "o\nabcdefgh\nrest".as_bytes());
        let mut lines = BoundedLines::new(first.chain(second), 3, watch::channel(0).0)
            .observed(move |line| observed.lock().unwrap().push(line.to_vec()));
        let mut read = String::new();
        lines.read_to_string(&mut read).await.unwrap();
        assert_eq!(read, "one\ntwo\nabc\nres");
        assert_eq!(*seen.lock().unwrap(), [b"one", b"two", b"abc"]);
    }

    #[tokio::test]
    async fn long_lines_are_truncated_and_counted() {
        let table = [
            ("", "", 0),
            ("abc\nde\n", "abc\nde\n", 0),
            ("abcd\nde\n", "abc\nde\n", 1),
            ("abcdefgh\nabcdefgh\nx", "abc\nabc\nx", 2),
            ("\n\nabcdefgh", "\n\nabc", 1),
        ];
        for (text, expected, expected_truncated) in table {
            let (sender, truncated) = watch::channel(0);
            let mut read = String::new();
            let mut lines = BoundedLines::new(text.as_bytes(), 3, sender);
            lines.read_to_string(&mut read).await.unwrap();
            assert_eq!(
                (read.as_str(), *truncated.borrow()),
                (expected, expected_truncated),
                "{text:?}"
            );
        }
    }
}
