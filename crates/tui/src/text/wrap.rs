//! Breaks lines into rows of a width.
//!
//! The width of a character is that of `wcwidth`, as terminals count it; sequences of several
//! characters count as the sum of them, because terminals disagree about those and a row that
//! is too short does no harm.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthChar as _;

use super::line::{Body, Line, Row, Span, Wrap};
use super::table;
use super::theme::Tone;

/// The narrowest that anything is laid out for.
pub(crate) const MIN_WIDTH: usize = 8;

/// Returns the columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// Returns a text of at most so many columns; one that is longer ends with an ellipsis.
pub(crate) fn cut_text(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let (mut cut, mut taken) = (String::new(), 0);
    for grapheme in text.graphemes(true) {
        taken += width(grapheme);
        if taken >= columns {
            break;
        }
        cut.push_str(grapheme);
    }
    if columns > 0 {
        cut.push('…');
    }
    cut
}

/// Appends the rows of a line.
pub(crate) fn wrap(line: &Line, columns: usize, rows: &mut Vec<Row>) {
    let columns = columns.max(MIN_WIDTH);
    match &line.body {
        Body::Text(spans, Wrap::Words) => wrap_words(line, spans, columns, rows),
        Body::Text(spans, Wrap::Joined) => wrap_joined(line, spans, columns, rows),
        Body::Text(spans, Wrap::Cut) => rows.push(cut(line, spans, columns)),
        Body::Table(cells) => {
            let prefix = prefix_width(&line.first).min(columns - MIN_WIDTH);
            for mut row in table::layout(cells, columns - prefix) {
                let mut prefixed = begin(&line.first, columns);
                row.spans.drain(..).for_each(|span| {
                    let taken = width(&span.text);
                    prefixed.push(&span.text, span.tone, taken);
                });
                rows.push(prefixed);
            }
        }
        Body::Rule => {
            let mut row = begin(&line.first, columns);
            let length = columns.saturating_sub(row.width).min(40);
            row.push(&"─".repeat(length), Tone::Dim, length);
            rows.push(row);
        }
    }
}

/// Returns the rows of lines.
pub(crate) fn wrap_all<'a>(lines: impl IntoIterator<Item = &'a Line>, columns: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    lines.into_iter().for_each(|line| wrap(line, columns, &mut rows));
    rows
}

fn prefix_width(prefix: &[Span]) -> usize {
    prefix.iter().map(|span| width(&span.text)).sum()
}

/// Begins a row with a prefix, of which at least half of the row stays free.
fn begin(prefix: &[Span], columns: usize) -> Row {
    let mut row = Row::default();
    for span in prefix {
        for grapheme in span.text.graphemes(true) {
            let taken = width(grapheme);
            if row.width + taken > columns / 2 {
                return row;
            }
            row.push(grapheme, span.tone, taken);
        }
    }
    row
}

fn wrap_words(line: &Line, spans: &[Span], columns: usize, rows: &mut Vec<Row>) {
    let row = begin(&line.first, columns);
    let start = row.width;
    let mut words = WordWrapper { line, columns, rows, row, start, space: vec![], word: vec![] };
    for span in spans {
        if span.text.is_ascii() {
            ascii_pieces(&span.text, |piece| words.take(piece, span.tone));
        } else {
            span.text.split_word_bounds().for_each(|piece| words.take(piece, span.tone));
        }
    }
    words.flush();
    let last = words.row;
    rows.push(last);
}

/// The state of breaking a line between words.
struct WordWrapper<'a, 'r> {
    line: &'a Line,
    columns: usize,
    rows: &'r mut Vec<Row>,
    row: Row,
    /// The width of the prefix of the row.
    start: usize,
    /// Space that is written only if the next word follows in the same row.
    space: Vec<(&'a str, Tone, usize)>,
    word: Vec<(&'a str, Tone, usize)>,
}

/// Splits a text into words and the spaces between them.
fn ascii_pieces<'a>(text: &'a str, mut take: impl FnMut(&'a str)) {
    let mut rest = text;
    while !rest.is_empty() {
        let is_space = rest.starts_with(' ');
        let end = rest.bytes().position(|byte| (byte == b' ') != is_space);
        let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
        take(piece);
        rest = after;
    }
}

impl<'a> WordWrapper<'a, '_> {
    fn take(&mut self, piece: &'a str, tone: Tone) {
        if piece.bytes().all(|byte| byte == b' ') {
            self.flush();
            self.space.push((piece, tone, piece.len()));
            return;
        }
        self.word.push((piece, tone, width(piece)));
        // Between characters that take two columns each, a line may break.
        if piece.chars().all(|c| c.width() == Some(2)) {
            self.flush();
        }
    }

    /// Writes the word, in the next row if this one has no room for it.
    fn flush(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let length: usize = self.space.iter().chain(&self.word).map(|(.., width)| width).sum();
        if self.row.width + length > self.columns && self.row.width > self.start {
            self.next_row();
            self.space.clear();
        }
        for (text, tone, taken) in std::mem::take(&mut self.space) {
            let taken = taken.min(self.columns.saturating_sub(self.row.width));
            self.row.push(&text[..taken], tone, taken);
        }
        for (text, tone, taken) in std::mem::take(&mut self.word) {
            if self.row.width + taken <= self.columns {
                self.row.push(text, tone, taken);
                continue;
            }
            // A word that is longer than a row is broken anywhere.
            for grapheme in text.graphemes(true) {
                let taken = width(grapheme);
                if self.row.width + taken > self.columns && self.row.width > self.start {
                    self.next_row();
                }
                self.row.push(grapheme, tone, taken);
            }
        }
    }

    fn next_row(&mut self) {
        let next = begin(&self.line.rest, self.columns);
        self.start = next.width;
        self.rows.push(std::mem::replace(&mut self.row, next));
    }
}

fn wrap_joined(line: &Line, spans: &[Span], columns: usize, rows: &mut Vec<Row>) {
    let joined = line.rest.is_empty();
    let mut row = begin(&line.first, columns);
    for span in spans {
        if span.text.is_ascii() {
            let mut text = span.text.as_str();
            while row.width + text.len() > columns {
                let (now, later) = text.split_at(columns - row.width);
                row.push(now, span.tone, now.len());
                row.joined = joined;
                rows.push(std::mem::replace(&mut row, begin(&line.rest, columns)));
                text = later;
            }
            if !text.is_empty() {
                row.push(text, span.tone, text.len());
            }
            continue;
        }
        for grapheme in span.text.graphemes(true) {
            let taken = width(grapheme);
            if row.width + taken > columns {
                row.joined = joined;
                rows.push(std::mem::replace(&mut row, begin(&line.rest, columns)));
            }
            row.push(grapheme, span.tone, taken);
        }
    }
    rows.push(row);
}

fn cut(line: &Line, spans: &[Span], columns: usize) -> Row {
    let mut row = begin(&line.first, columns);
    let total: usize = spans.iter().map(|span| width(&span.text)).sum();
    let fits = row.width + total <= columns;
    let room = if fits { columns } else { columns - 1 };
    'all: for span in spans {
        for grapheme in span.text.graphemes(true) {
            let taken = width(grapheme);
            if row.width + taken > room {
                break 'all;
            }
            row.push(grapheme, span.tone, taken);
        }
    }
    if !fits {
        row.push("…", Tone::Dim, 1);
    }
    row
}

#[cfg(test)]
mod tests {
    use super::super::line::{Line, Row, Span};
    use super::super::theme::Tone;
    use super::{width, wrap_all};
    use proptest::prelude::*;

    fn rows(line: &Line, columns: usize) -> Vec<String> {
        wrap_all([line], columns).iter().map(Row::text).collect()
    }

    #[test]
    fn m43_prose_breaks_between_words() {
        let line = Line::text("The quick brown fox jumps", Tone::Plain);
        assert_eq!(rows(&line, 10), ["The quick", "brown fox", "jumps"]);
        let bullet = Line::text("one two three", Tone::Plain)
            .with_prefix(Span::new("- ", Tone::Dim), Span::new("  ", Tone::Dim));
        assert_eq!(rows(&bullet, 9), ["- one two", "  three"]);
        let long = Line::text("a https://example.com/long/path", Tone::Plain);
        assert_eq!(rows(&long, 12), ["a", "https://exam", "ple.com/long", "/path"]);
        let wide = Line::text("日本語のテキスト", Tone::Plain);
        assert_eq!(rows(&wide, 9), ["日本語の", "テキスト"]);
    }

    #[test]
    fn m43_code_is_continued_without_a_break() {
        let line = Line::code("let answer = 42;", Tone::Code);
        let rows = wrap_all([&line], 10);
        assert_eq!(rows.iter().map(|row| row.joined).collect::<Vec<_>>(), [true, false]);
        assert_eq!(rows.iter().map(Row::text).collect::<String>(), "let answer = 42;");
    }

    #[test]
    fn m43_a_cut_line_ends_with_an_ellipsis() {
        let line = Line::cut(vec![Span::new("run_command make test", Tone::Plain)]);
        assert_eq!(rows(&line, 12), ["run_command…"]);
        assert_eq!(rows(&line, 21), ["run_command make test"]);
    }

    proptest! {
        #[test]
        fn m43_no_row_is_too_wide_and_no_word_is_lost(text in "[a-zé日 👍-]{0,60}", columns in 8_usize..30) {
            for line in [Line::text(text.clone(), Tone::Plain), Line::code(text.clone(), Tone::Plain)] {
                let rows = wrap_all([&line], columns);
                prop_assert!(rows.iter().all(|row| width(&row.text()) <= columns && row.width == width(&row.text())));
                let letters = |text: &str| text.chars().filter(|c| *c != ' ').collect::<String>();
                let shown: String = rows.iter().map(Row::text).collect();
                prop_assert_eq!(letters(&shown), letters(&text));
            }
        }
    }
}
