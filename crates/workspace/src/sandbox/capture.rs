//! The output of a command: passed on as it comes, and kept within a limit.

use std::collections::VecDeque;

/// Where a piece of output was written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    Stdout,
    Stderr,
}

/// Receives the output of a command while it runs.
pub trait CommandOutput: Send + Sync {
    /// Takes the next piece. It is called in order and must not block; a piece may end in the
    /// middle of a character.
    fn write(&self, stream: OutputStream, bytes: &[u8]);
}

/// Ignores the output; the result of the command has it.
#[derive(Debug, Clone, Copy)]
pub struct DiscardOutput;

impl CommandOutput for DiscardOutput {
    fn write(&self, _: OutputStream, _: &[u8]) {}
}

/// The beginning and the end of the output, with both streams in the order in which they
/// arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedOutput {
    start: Vec<u8>,
    end: VecDeque<u8>,
    limit: usize,
    total: u64,
}

impl CapturedOutput {
    /// Creates an empty output that keeps `limit` bytes.
    pub(crate) const fn new(limit: usize) -> Self {
        Self { start: Vec::new(), end: VecDeque::new(), limit, total: 0 }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = (self.limit / 2).saturating_sub(self.start.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.start.extend_from_slice(first);
        let keep = self.limit - self.limit / 2;
        self.end.extend(&rest[rest.len().saturating_sub(keep)..]);
        let excess = self.end.len().saturating_sub(keep);
        self.end.drain(..excess);
    }

    /// Returns how many bytes the command has written.
    pub const fn total_bytes(&self) -> u64 {
        self.total
    }

    /// Returns the text, with a note where bytes were left out.
    pub fn text(&self) -> String {
        let end: Vec<u8> = self.end.iter().copied().collect();
        let omitted = self.total - (self.start.len() + end.len()) as u64;
        if omitted == 0 {
            let whole = [self.start.as_slice(), &end].concat();
            return String::from_utf8_lossy(&whole).into_owned();
        }
        let (start, end) = (String::from_utf8_lossy(&self.start), String::from_utf8_lossy(&end));
        format!("{start}\n[{omitted} bytes of output were left out here]\n{end}")
    }
}

#[cfg(test)]
mod tests {
    use super::CapturedOutput;

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        let check = |limit, pieces: &[&str], expected: &str| {
            let mut output = CapturedOutput::new(limit);
            pieces.iter().for_each(|piece| output.push(piece.as_bytes()));
            assert_eq!(output.text(), expected, "{pieces:?}");
        };
        check(4, &[], "");
        check(4, &["ab", "cd"], "abcd");
        check(4, &["abcdefgh"], "ab\n[4 bytes of output were left out here]\ngh");
        check(4, &["a", "b", "c", "d", "e", "f"], "ab\n[2 bytes of output were left out here]\nef");
        check(4, &["ä"], "ä");
        check(2, &["ä"], "ä");
    }
}
