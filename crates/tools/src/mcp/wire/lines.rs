//! Lines of a bounded length. The rest of a line that is longer is swallowed,
//! and what is left of it is no message any more.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

/// A reader that lets no line pass which is longer than allowed.
pub(super) struct Lines<R> {
    inner: R,
    most: usize,
    length: usize,
    skipping: bool,
    /// How many lines were cut.
    cut: watch::Sender<u64>,
}

impl<R> Lines<R> {
    pub(super) const fn new(inner: R, most: usize, cut: watch::Sender<u64>) -> Self {
        Self { inner, most, length: 0, skipping: false, cut }
    }

    /// Moves what passes to the front, and says how much that is.
    fn keep(&mut self, bytes: &mut [u8]) -> usize {
        let mut kept = 0;
        for at in 0..bytes.len() {
            let byte = bytes[at];
            if byte == b'\n' {
                (self.length, self.skipping) = (0, false);
            } else if self.skipping {
                continue;
            } else if self.length == self.most {
                self.skipping = true;
                self.cut.send_modify(|count| *count += 1);
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

impl<R: AsyncRead + Unpin> AsyncRead for Lines<R> {
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
            let kept = self.keep(new);
            buffer.set_filled(before + kept);
            if kept > 0 {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;
    use tokio::io::AsyncReadExt;
    use tokio::sync::watch;

    #[tokio::test]
    async fn long_lines_are_cut_and_counted() {
        let table = [
            ("", "", 0),
            ("abc\nde\n", "abc\nde\n", 0),
            ("abcd\nde\n", "abc\nde\n", 1),
            ("abcdefgh\nabcdefgh\nx", "abc\nabc\nx", 2),
            ("\n\nabcdefgh", "\n\nabc", 1),
        ];
        for (text, expected, expected_cut) in table {
            let (sender, cut) = watch::channel(0);
            let mut read = String::new();
            let mut lines = Lines::new(text.as_bytes(), 3, sender);
            lines.read_to_string(&mut read).await.unwrap();
            assert_eq!((read.as_str(), *cut.borrow()), (expected, expected_cut), "{text:?}");
        }
    }
}
