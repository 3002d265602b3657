//! Server-sent events out of bytes as they come.
//!
//! Bytes go in with [`Parser::feed`], events come out of [`Parser::next_event`].
//! How the bytes were split never matters. Nothing is allocated for a line; an
//! event of one data line is a slice of what was fed. Ids and reconnection times
//! are left out, since no model is asked for the rest of an answer.

use std::borrow::Cow;
use std::ops::Range;

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event<'a> {
    /// Its name; empty if it has none.
    pub name: Cow<'a, str>,
    /// Its data, several lines joined.
    pub data: Cow<'a, str>,
}

/// An event is longer than the limit. Nothing more can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream has more than {limit} bytes")]
pub struct TooLong {
    /// The limit.
    pub limit: usize,
}

/// Reads events.
#[derive(Debug)]
pub struct Parser {
    buffer: Vec<u8>,
    /// Where the event that comes in begins in the buffer.
    begin: usize,
    /// Where the line that comes in begins, and up to where it was looked through.
    line: usize,
    scanned: usize,
    /// Whether the last line ended with a CR, so that a LF belongs to it.
    after_cr: bool,
    /// Whether nothing was read yet, so that a byte order mark may come.
    fresh: bool,
    name: Option<Range<usize>>,
    data: Data,
    limit: usize,
}

/// The data lines of the event that comes in, as places after `begin`.
#[derive(Debug, Default)]
enum Data {
    #[default]
    None,
    Line(Range<usize>),
    Lines(Vec<u8>),
}

const MARK: &[u8] = b"\xEF\xBB\xBF";

impl Parser {
    /// Reads events of at most so many bytes.
    pub const fn new(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            begin: 0,
            line: 0,
            scanned: 0,
            after_cr: false,
            fresh: true,
            name: None,
            data: Data::None,
            limit,
        }
    }

    /// Takes more bytes. Take all events out before, so that the buffer does not
    /// grow.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.begin > 0 {
            self.buffer.drain(..self.begin);
            self.line -= self.begin;
            self.scanned -= self.begin;
            self.begin = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next event that is complete.
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>, TooLong> {
        if self.fresh && !self.skip_mark(false) {
            return Ok(None);
        }
        while let Some(line) = self.next_line()? {
            if self.take_line(line) {
                return Ok(Some(self.dispatch()));
            }
        }
        Ok(None)
    }

    /// The event that the stream ended in: its blank line did not come, and
    /// perhaps more of it did not.
    pub fn last_event(&mut self) -> Result<Option<Event<'_>>, TooLong> {
        if self.fresh {
            self.skip_mark(true);
        }
        let end = self.buffer.len();
        if self.line < end {
            self.check(end)?;
            self.take_line(self.line..end);
            (self.line, self.scanned) = (end, end);
        }
        let complete = !matches!(self.data, Data::None);
        Ok(complete.then(|| self.dispatch()))
    }

    /// Passes a byte order mark; false if more bytes must tell whether it is one.
    fn skip_mark(&mut self, ended: bool) -> bool {
        if self.buffer.starts_with(MARK) {
            (self.begin, self.line, self.scanned) = (MARK.len(), MARK.len(), MARK.len());
        } else if !ended && MARK.starts_with(&self.buffer) {
            return false;
        }
        self.fresh = false;
        true
    }

    /// The next line that is complete, without its end.
    fn next_line(&mut self) -> Result<Option<Range<usize>>, TooLong> {
        if self.after_cr && self.line < self.buffer.len() {
            if self.buffer[self.line] == b'\n' {
                self.line += 1;
                self.scanned = self.line;
                self.forget_if_empty();
            }
            self.after_cr = false;
        }
        let rest = self.buffer.get(self.scanned..).unwrap_or_default();
        let Some(found) = memchr::memchr2(b'\n', b'\r', rest) else {
            self.scanned = self.buffer.len();
            self.check(self.scanned)?;
            return Ok(None);
        };
        let end = self.scanned + found;
        self.check(end)?;
        let line = self.line..end;
        self.after_cr = self.buffer[end] == b'\r';
        self.line = end + 1;
        self.scanned = self.line;
        Ok(Some(line))
    }

    fn check(&self, end: usize) -> Result<(), TooLong> {
        let limit = self.limit;
        if end.saturating_sub(self.begin) > limit { Err(TooLong { limit }) } else { Ok(()) }
    }

    /// Takes a line; true if it completes an event.
    fn take_line(&mut self, line: Range<usize>) -> bool {
        if line.is_empty() {
            let complete = !matches!(self.data, Data::None);
            if !complete {
                self.name = None;
                self.forget_if_empty();
            }
            return complete;
        }
        let bytes = &self.buffer[line.clone()];
        let colon = memchr::memchr(b':', bytes);
        let value = colon.map_or(line.end, |at| {
            let after = line.start + at + 1;
            if bytes.get(at + 1) == Some(&b' ') { after + 1 } else { after }
        });
        let value = value - self.begin..line.end - self.begin;
        match &bytes[..colon.unwrap_or(bytes.len())] {
            b"data" => self.take_data(value),
            b"event" => self.name = Some(value),
            _ => self.forget_if_empty(),
        }
        false
    }

    fn take_data(&mut self, value: Range<usize>) {
        let bytes = |range: Range<usize>| &self.buffer[self.begin..][range];
        match &mut self.data {
            Data::None => self.data = Data::Line(value),
            Data::Line(first) => {
                let mut lines = bytes(first.clone()).to_vec();
                lines.push(b'\n');
                lines.extend_from_slice(bytes(value));
                self.data = Data::Lines(lines);
            }
            Data::Lines(lines) => {
                lines.push(b'\n');
                lines.extend_from_slice(bytes(value));
            }
        }
    }

    /// What was read counts for no event, as long as none has begun: comments and
    /// blank lines may come for hours.
    fn forget_if_empty(&mut self) {
        if matches!(self.data, Data::None) && self.name.is_none() {
            self.begin = self.line;
        }
    }

    fn dispatch(&mut self) -> Event<'_> {
        let event = &self.buffer[self.begin..];
        let name = self.name.take().map_or(Cow::Borrowed(""), |name| text(&event[name]));
        let data = match std::mem::take(&mut self.data) {
            Data::None => Cow::Borrowed(""),
            Data::Line(line) => text(&event[line]),
            Data::Lines(lines) => Cow::Owned(String::from_utf8_lossy(&lines).into_owned()),
        };
        self.begin = self.line;
        Event { name, data }
    }
}

/// What is not UTF-8 is replaced, as browsers do.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
