//! A parser for server-sent events.
//!
//! Bytes go in with [`SseParser::feed`], events come out of
//! [`SseParser::next_event`]. How the bytes are split does not matter. Lines are
//! not allocated; an event with one data line borrows from the buffer. Reconnection times
//! are ignored.

use std::borrow::Cow;
use std::ops::Range;

/// A server-sent event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// The position after the event, if it has one; streams of models have none.
    pub id: Option<Cow<'a, str>>,
    /// Empty if the event has none.
    pub name: Cow<'a, str>,
    /// Several data lines are joined.
    pub data: Cow<'a, str>,
}

/// An event exceeds the size limit. Parsing cannot continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream has more than {limit} bytes")]
pub struct EventTooLong {
    pub limit: usize,
}

/// An incremental parser.
#[derive(Debug)]
pub struct SseParser {
    buffer: Vec<u8>,
    /// The start of the current event in the buffer.
    begin: usize,
    /// The start of the current line, and how far it was scanned.
    line: usize,
    scanned: usize,
    /// Whether the last line ended with CR, so that a following LF belongs to it.
    after_cr: bool,
    /// Whether nothing was read yet, so that a byte order mark may follow.
    fresh: bool,
    id: Option<Range<usize>>,
    name: Option<Range<usize>>,
    data: Data,
    limit: usize,
}

/// The data lines of the current event, as ranges after `begin`.
#[derive(Debug, Default)]
enum Data {
    #[default]
    None,
    Line(Range<usize>),
    Lines(Vec<u8>),
}

const BOM: &[u8] = b"\xEF\xBB\xBF";

impl SseParser {
    /// Creates a parser for events of at most `limit` bytes.
    pub const fn new(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            begin: 0,
            line: 0,
            scanned: 0,
            after_cr: false,
            fresh: true,
            id: None,
            name: None,
            data: Data::None,
            limit,
        }
    }

    /// Adds bytes. Take out all events first, so that the buffer does not grow.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.begin > 0 {
            self.buffer.drain(..self.begin);
            self.line -= self.begin;
            self.scanned -= self.begin;
            self.begin = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next complete event.
    pub fn next_event(&mut self) -> Result<Option<SseEvent<'_>>, EventTooLong> {
        if self.fresh && !self.skip_bom(false) {
            return Ok(None);
        }
        while let Some(line) = self.next_line()? {
            if self.take_line(line) {
                return Ok(Some(self.dispatch()));
            }
        }
        Ok(None)
    }

    /// Returns the event at the end of the stream that lacks its blank line, and may be
    /// incomplete.
    pub fn last_event(&mut self) -> Result<Option<SseEvent<'_>>, EventTooLong> {
        if self.fresh {
            self.skip_bom(true);
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

    /// Skips a byte order mark; returns false if more bytes are needed to decide.
    fn skip_bom(&mut self, ended: bool) -> bool {
        if self.buffer.starts_with(BOM) {
            (self.begin, self.line, self.scanned) = (BOM.len(), BOM.len(), BOM.len());
        } else if !ended && BOM.starts_with(&self.buffer) {
            return false;
        }
        self.fresh = false;
        true
    }

    /// Returns the next complete line without its line break.
    fn next_line(&mut self) -> Result<Option<Range<usize>>, EventTooLong> {
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

    fn check(&self, end: usize) -> Result<(), EventTooLong> {
        let limit = self.limit;
        if end.saturating_sub(self.begin) > limit { Err(EventTooLong { limit }) } else { Ok(()) }
    }

    /// Processes a line; returns true if it completes an event.
    fn take_line(&mut self, line: Range<usize>) -> bool {
        if line.is_empty() {
            let complete = !matches!(self.data, Data::None);
            if !complete {
                (self.id, self.name) = (None, None);
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
            b"id" => self.id = Some(value),
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

    /// Drops what was read outside an event, because comments and blank lines may come
    /// for hours.
    fn forget_if_empty(&mut self) {
        if matches!(self.data, Data::None) && self.name.is_none() && self.id.is_none() {
            self.begin = self.line;
        }
    }

    fn dispatch(&mut self) -> SseEvent<'_> {
        let event = &self.buffer[self.begin..];
        let id = self.id.take().map(|id| text(&event[id]));
        let name = self.name.take().map_or(Cow::Borrowed(""), |name| text(&event[name]));
        let data = match std::mem::take(&mut self.data) {
            Data::None => Cow::Borrowed(""),
            Data::Line(line) => text(&event[line]),
            Data::Lines(lines) => Cow::Owned(String::from_utf8_lossy(&lines).into_owned()),
        };
        self.begin = self.line;
        SseEvent { id, name, data }
    }
}

/// Replaces invalid UTF-8, as browsers do.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
