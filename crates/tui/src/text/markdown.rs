//! Markdown, line by line.
//!
//! What a complete line looks like depends on the lines before it only, so a text that
//! streams in has a stable beginning: [`MarkdownStream::push`] turns each complete line into
//! its final form once, and [`MarkdownStream::tail`] shows the rest as it is now. Tables are
//! held back until they are whole, because their columns depend on all rows.

use super::inline_markdown::{plain, spans};
use super::line::{Body, Line, Span, Wrap};
use super::sanitize::sanitize;
use super::theme::Tone;

/// A Markdown text that streams in.
#[derive(Debug, Clone, Default)]
pub(crate) struct MarkdownStream {
    state: BlockState,
    /// The line that is not complete.
    partial: String,
}

#[derive(Debug, Clone, Default)]
struct BlockState {
    /// The fence of the code block that is open.
    fence: Option<Fence>,
    table: Vec<String>,
    /// Whether the last line was empty.
    after_empty: bool,
    has_content: bool,
}

#[derive(Debug, Clone)]
struct Fence {
    mark: char,
    length: usize,
    indent: usize,
    is_diff: bool,
}

impl MarkdownStream {
    /// Takes more text, and returns the lines that are final now.
    pub(crate) fn push(&mut self, text: &str) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut rest = text;
        while let Some((line, after)) = rest.split_once('\n') {
            if self.partial.is_empty() {
                self.state.line(line, &mut lines);
            } else {
                self.partial.push_str(line);
                let whole = std::mem::take(&mut self.partial);
                self.state.line(&whole, &mut lines);
            }
            rest = after;
        }
        self.partial.push_str(rest);
        lines
    }

    /// Returns the lines that are not final yet, as they would be if the text ended here.
    pub(crate) fn tail(&self) -> Vec<Line> {
        let mut state = self.state.clone();
        let mut lines = Vec::new();
        if !self.partial.is_empty() {
            state.line(&self.partial, &mut lines);
        }
        state.end(&mut lines);
        lines
    }
}

/// Returns the lines of a whole text.
pub(crate) fn lines(text: &str) -> Vec<Line> {
    let (mut state, mut lines) = (BlockState::default(), Vec::new());
    text.split_terminator('\n').for_each(|line| state.line(line, &mut lines));
    state.end(&mut lines);
    lines
}

impl BlockState {
    fn line(&mut self, line: &str, lines: &mut Vec<Line>) {
        // Line by line, so that it does not matter where a streaming text was cut.
        let line = &*sanitize(line);
        if let Some(fence) = &self.fence {
            if fence.is_closed_by(line) {
                self.fence = None;
            } else {
                lines.push(fence.code(line));
            }
            return;
        }
        let is_row = line.trim_start().starts_with('|');
        if is_row {
            self.table.push(line.trim().to_owned());
            return;
        }
        self.end_table(lines);
        if line.trim().is_empty() {
            self.after_empty = self.has_content;
            return;
        }
        if std::mem::take(&mut self.after_empty) {
            lines.push(Line::empty());
        }
        self.has_content = true;
        if let Some(fence) = Fence::opened_by(line) {
            self.fence = Some(fence);
            return;
        }
        lines.push(block(line));
    }

    fn end_table(&mut self, lines: &mut Vec<Line>) {
        let rows = std::mem::take(&mut self.table);
        if rows.is_empty() {
            return;
        }
        if std::mem::take(&mut self.after_empty) {
            lines.push(Line::empty());
        }
        self.has_content = true;
        if rows.len() < 2 || !is_separator(&rows[1]) {
            lines.extend(rows.iter().map(|row| block(row)));
            return;
        }
        let records = rows.iter().enumerate().filter(|(at, _)| *at != 1);
        let records = records.map(|(_, row)| cells(row)).collect();
        lines.push(Line::of(Body::Table(records)));
    }

    fn end(&mut self, lines: &mut Vec<Line>) {
        self.end_table(lines);
    }
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let inner = line.trim_start();
        let mark = inner.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = inner.chars().take_while(|c| *c == mark).count();
        let info = inner[length..].trim();
        let is_fence = length >= 3 && !info.contains('`');
        let is_diff = matches!(info, "diff" | "patch");
        is_fence.then(|| Self { mark, length, indent: line.len() - inner.len(), is_diff })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.chars().count() >= self.length && line.chars().all(|c| c == self.mark)
    }

    /// Code is flush left, so that copying it gives the code.
    fn code(&self, line: &str) -> Line {
        let indent = line.bytes().take(self.indent).take_while(|byte| *byte == b' ').count();
        let line = &line[indent..];
        let tone = match line.chars().next() {
            Some('+') if self.is_diff => Tone::Added,
            Some('-') if self.is_diff => Tone::Removed,
            Some('@') if self.is_diff => Tone::Accent,
            _ => Tone::Code,
        };
        Line::code(line, tone)
    }
}

/// Returns a line outside of code and tables.
fn block(line: &str) -> Line {
    let inner = line.trim_start();
    let indent = (line.len() - inner.len()).min(12);
    if let Some(title) = heading(inner) {
        return Line::new(spans(title, Tone::Heading), Wrap::Words);
    }
    if is_rule(inner) {
        return Line::of(Body::Rule);
    }
    if let Some(quoted) = inner.strip_prefix('>') {
        let bar = || Span::new("│ ", Tone::Dim);
        return Line::new(spans(quoted.trim_start(), Tone::Dim), Wrap::Words)
            .with_prefix(bar(), bar());
    }
    let (marker, text, tone) = list_item(inner);
    let hang = indent + marker.chars().count();
    let line = Line::new(spans(text, Tone::Plain), Wrap::Words);
    if hang == 0 {
        return line;
    }
    let first = format!("{}{marker}", " ".repeat(indent));
    line.with_prefix(Span::new(first, tone), Span::new(" ".repeat(hang), Tone::Plain))
}

fn heading(line: &str) -> Option<&str> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let title = line[level..].strip_prefix(' ')?;
    (1..=6).contains(&level).then(|| title.trim().trim_end_matches('#').trim_end())
}

fn is_rule(line: &str) -> bool {
    let marks: String = line.chars().filter(|c| !c.is_whitespace()).collect();
    let first = marks.chars().next();
    marks.len() >= 3
        && matches!(first, Some('-' | '*' | '_'))
        && marks.chars().all(|c| Some(c) == first)
}

/// Splits a line into the marker that is shown, its text, and the tone of the marker.
fn list_item(line: &str) -> (String, &str, Tone) {
    if let Some(text) = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark)) {
        return match text.split_at_checked(4) {
            Some(("[ ] ", text)) => ("☐ ".into(), text, Tone::Dim),
            Some(("[x] " | "[X] ", text)) => ("☑ ".into(), text, Tone::Good),
            _ => ("• ".into(), text, Tone::Dim),
        };
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let text = line[digits..].strip_prefix(". ").or_else(|| line[digits..].strip_prefix(") "));
    match text {
        Some(text) if (1..=9).contains(&digits) => {
            (format!("{}. ", &line[..digits]), text, Tone::Dim)
        }
        _ => (String::new(), line, Tone::Plain),
    }
}

fn is_separator(row: &str) -> bool {
    row.contains('-') && row.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
}

fn cells(row: &str) -> Vec<String> {
    let inner = row.strip_prefix('|').unwrap_or(row);
    let inner = inner.strip_suffix('|').filter(|inner| !inner.ends_with('\\')).unwrap_or(inner);
    let (mut cells, mut cell, mut escaped) = (Vec::new(), String::new(), false);
    for c in inner.chars() {
        match c {
            '|' if !escaped => cells.push(std::mem::take(&mut cell)),
            _ => {
                if escaped && c == '|' {
                    cell.pop();
                }
                cell.push(c);
            }
        }
        escaped = c == '\\';
    }
    cells.push(cell);
    cells.iter().map(|cell| plain(cell.trim())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::line::{Line, Row};
    use super::super::wrap::wrap_all;
    use super::{MarkdownStream, lines};
    use proptest::prelude::*;

    fn shown(text: &str) -> Vec<String> {
        wrap_all(&lines(text), 30).iter().map(Row::text).collect()
    }

    #[test]
    fn m43_blocks_have_their_forms() {
        let check = |text: &str, expected: &[&str]| assert_eq!(shown(text), expected, "{text}");
        check("# Title\n\n\ntext", &["Title", "", "text"]);
        check("- a\n  - b\n1. c", &["• a", "  • b", "1. c"]);
        check("- [ ] a\n- [x] b", &["☐ a", "☑ b"]);
        check("> quoted text", &["│ quoted text"]);
        check("```rust\nfn main() {}\n\n    x\n```\ndone", &["fn main() {}", "", "    x", "done"]);
        check("~~~\n```\n~~~", &["```"]);
        check("| a | b |\n|---|---|\n| 1 | 2 |", &["a  b", "────", "1  2"]);
        check("| not | a table", &["| not | a table"]);
        check("---", &["──────────────────────────────"]);
        let wide = "| name | text |\n|-|-|\n| one | a text that is too long for it |";
        check(wide, &["name: one", "text: a text that is too long", "for it"]);
    }

    fn markdown() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            "[a-z*`_ ]{0,12}",
            Just("```".to_owned()),
            Just("| a | b |".to_owned()),
            Just("|---|---|".to_owned()),
            Just(String::new()),
            "(- |# |> |1\\. )[a-z]{1,6}",
        ];
        proptest::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"))
    }

    proptest! {
        /// Lines that were final once never change, however the text is cut into pieces.
        #[test]
        fn m43_the_beginning_of_a_streaming_text_is_stable(text in markdown(), size in 1_usize..9) {
            let mut stream = MarkdownStream::default();
            let mut stable: Vec<Line> = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                stable.extend(stream.push(std::str::from_utf8(piece).unwrap()));
            }
            stable.extend(stream.tail());
            prop_assert_eq!(stable, lines(&text));
        }
    }
}
