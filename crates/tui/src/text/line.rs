//! Lines before they are wrapped, and rows after it.

use super::theme::Tone;

/// A piece of text in one tone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

impl Span {
    pub(crate) fn new(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone }
    }
}

/// How a line that is too long is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrap {
    /// Broken between words.
    Words,
    /// Continued in the next row, without a line break when it is copied.
    Joined,
    /// Cut off, with an ellipsis.
    Cut,
}

/// A line, before it is wrapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) body: Body,
    /// In front of the first row.
    pub(crate) first: Vec<Span>,
    /// In front of the other rows.
    pub(crate) rest: Vec<Span>,
}

/// The content of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body {
    Text(Vec<Span>, Wrap),
    /// Rows of a table; the first is its header.
    Table(Vec<Vec<String>>),
    /// A horizontal rule.
    Rule,
}

impl Line {
    pub(crate) fn new(spans: Vec<Span>, wrap: Wrap) -> Self {
        Self { body: Body::Text(spans, wrap), first: Vec::new(), rest: Vec::new() }
    }

    pub(crate) fn of(body: Body) -> Self {
        Self { body, first: Vec::new(), rest: Vec::new() }
    }

    pub(crate) fn empty() -> Self {
        Self::new(Vec::new(), Wrap::Words)
    }

    /// A line of prose in one tone.
    pub(crate) fn text(text: impl Into<String>, tone: Tone) -> Self {
        Self::new(vec![Span::new(text, tone)], Wrap::Words)
    }

    /// A line that is cut off where the row ends.
    pub(crate) fn cut(spans: Vec<Span>) -> Self {
        Self::new(spans, Wrap::Cut)
    }

    /// A line of code.
    pub(crate) fn code(text: impl Into<String>, tone: Tone) -> Self {
        Self::new(vec![Span::new(text, tone)], Wrap::Joined)
    }

    /// Puts a text in front of the first row, and as much space or another text in front of
    /// the others. Lines of code are no longer continued without a break then.
    pub(crate) fn with_prefix(mut self, first: Span, rest: Span) -> Self {
        self.first.insert(0, first);
        self.rest.insert(0, rest);
        self
    }

    /// Indents a line.
    pub(crate) fn indented(self, columns: usize) -> Self {
        let space = " ".repeat(columns);
        self.with_prefix(Span::new(space.clone(), Tone::Plain), Span::new(space, Tone::Plain))
    }
}

/// A row of the terminal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Row {
    pub(crate) spans: Vec<Span>,
    pub(crate) width: usize,
    /// Whether the next row continues this one without a line break.
    pub(crate) joined: bool,
}

impl Row {
    /// Appends a text, whose width is known.
    pub(crate) fn push(&mut self, text: &str, tone: Tone, width: usize) {
        self.width += width;
        match self.spans.last_mut() {
            Some(last) if last.tone == tone => last.text.push_str(text),
            _ => self.spans.push(Span::new(text, tone)),
        }
    }

    /// Returns the text of the row.
    #[cfg(test)]
    pub(crate) fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }
}
