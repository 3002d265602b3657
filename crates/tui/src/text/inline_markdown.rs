//! Markdown within a line: code, emphasis, links.

use super::line::Span;
use super::theme::Tone;

/// Returns the spans of a line of Markdown.
pub(super) fn spans(text: &str, base: Tone) -> Vec<Span> {
    let mut parser = Parser {
        rest: text,
        at_word: false,
        strong: false,
        emphasis: false,
        struck: false,
        base,
        spans: Vec::new(),
    };
    parser.run();
    parser.spans
}

/// Returns a line of Markdown without its marks.
pub(super) fn plain(text: &str) -> String {
    spans(text, Tone::Plain).into_iter().map(|span| span.text).collect()
}

struct Parser<'a> {
    rest: &'a str,
    /// Whether the last character belongs to a word.
    at_word: bool,
    strong: bool,
    emphasis: bool,
    struck: bool,
    base: Tone,
    spans: Vec<Span>,
}

impl Parser<'_> {
    fn run(&mut self) {
        while let Some(c) = self.rest.chars().next() {
            match c {
                '\\' => self.escape(),
                '`' => self.code(),
                '*' | '_' => self.emphasis(c),
                '~' if self.rest.starts_with("~~") => self.strike(),
                '[' => self.link(),
                _ => self.take(c.len_utf8()),
            }
        }
    }

    fn tone(&self) -> Tone {
        match (self.struck, self.strong, self.emphasis) {
            (true, ..) => Tone::Struck,
            (_, true, true) => Tone::StrongEmphasis,
            (_, true, false) => Tone::Strong,
            (_, false, true) => Tone::Emphasis,
            _ => self.base,
        }
    }

    fn push(&mut self, text: &str, tone: Tone) {
        self.at_word = text.chars().next_back().is_some_and(char::is_alphanumeric);
        match self.spans.last_mut() {
            Some(last) if last.tone == tone => last.text.push_str(text),
            _ => self.spans.push(Span::new(text, tone)),
        }
    }

    /// Takes bytes as they are.
    fn take(&mut self, length: usize) {
        let (text, rest) = self.rest.split_at(length);
        self.rest = rest;
        self.push(text, self.tone());
    }

    fn escape(&mut self) {
        match self.rest[1..].chars().next() {
            Some(c) if c.is_ascii_punctuation() => {
                self.rest = &self.rest[1..];
                self.take(1);
            }
            _ => self.take(1),
        }
    }

    fn code(&mut self) {
        let ticks = self.rest.bytes().take_while(|byte| *byte == b'`').count();
        let fence = &self.rest[..ticks];
        let after = &self.rest[ticks..];
        let Some(end) = closing(after, fence) else { return self.take(ticks) };
        let code = &after[..end];
        let inner = code.strip_prefix(' ').and_then(|code| code.strip_suffix(' '));
        self.push(inner.filter(|inner| !inner.is_empty()).unwrap_or(code), Tone::Code);
        self.rest = &after[end + ticks..];
    }

    fn emphasis(&mut self, mark: char) {
        let run = self.rest.chars().take_while(|c| *c == mark).count();
        let next = self.rest[run..].chars().next();
        let next_word = next.is_some_and(|c| !c.is_whitespace());
        let wanted = if run >= 2 { 2 } else { 1 };
        let open = if wanted == 2 { self.strong } else { self.emphasis };
        let previous_space =
            self.spans.last().is_none_or(|span| span.text.ends_with(char::is_whitespace));
        // Underscores inside of words are part of names.
        let is_inside = mark == '_' && self.at_word && next.is_some_and(char::is_alphanumeric);
        let marker = &self.rest[..wanted];
        let can_close = open && !previous_space;
        let can_open = !open && next_word && self.rest[wanted..].contains(marker);
        if is_inside || !(can_close || can_open) {
            return self.take(wanted);
        }
        if wanted == 2 {
            self.strong = !self.strong;
        } else {
            self.emphasis = !self.emphasis;
        }
        self.rest = &self.rest[wanted..];
    }

    fn strike(&mut self) {
        if self.struck || self.rest[2..].contains("~~") {
            self.struck = !self.struck;
            self.rest = &self.rest[2..];
        } else {
            self.take(2);
        }
    }

    /// A link shows its text, and its address unless the text is the address.
    fn link(&mut self) {
        let parsed = self.rest[1..].split_once("](").and_then(|(label, rest)| {
            let (address, rest) = rest.split_once(')')?;
            (!label.contains('[') && !address.contains(char::is_whitespace))
                .then_some((label, address, rest))
        });
        let Some((label, address, rest)) = parsed else { return self.take(1) };
        self.push(&plain(label), Tone::Link);
        if label != address {
            self.push(" (", Tone::Dim);
            self.push(address, Tone::Dim);
            self.push(")", Tone::Dim);
        }
        self.rest = rest;
    }
}

/// Returns where a run of exactly these backticks begins.
fn closing(text: &str, fence: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = text[from..].find(fence) {
        let at = from + found;
        let run = text[at..].bytes().take_while(|byte| *byte == b'`').count();
        if run == fence.len() {
            return Some(at);
        }
        from = at + run;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Tone, spans};

    #[test]
    fn m43_marks_within_a_line_become_tones() {
        let check = |text: &str, expected: &[(&str, Tone)]| {
            let found = spans(text, Tone::Plain);
            let found: Vec<_> = found.iter().map(|span| (span.text.as_str(), span.tone)).collect();
            assert_eq!(found, expected, "{text}");
        };
        check("a **b** c", &[("a ", Tone::Plain), ("b", Tone::Strong), (" c", Tone::Plain)]);
        check("*a* _b_", &[("a", Tone::Emphasis), (" ", Tone::Plain), ("b", Tone::Emphasis)]);
        check("***a***", &[("a", Tone::StrongEmphasis)]);
        check("snake_case_name", &[("snake_case_name", Tone::Plain)]);
        check("2 * 3 * 4", &[("2 * 3 * 4", Tone::Plain)]);
        check("`a*b*`", &[("a*b*", Tone::Code)]);
        check("``a`b``", &[("a`b", Tone::Code)]);
        check("an ` alone", &[("an ` alone", Tone::Plain)]);
        check("~~no~~", &[("no", Tone::Struck)]);
        check(r"\*a\*", &[("*a*", Tone::Plain)]);
        check("[x](http://y)", &[("x", Tone::Link), (" (http://y)", Tone::Dim)]);
        check("a[0] = [1](", &[("a[0] = [1](", Tone::Plain)]);
        check("**open", &[("**open", Tone::Plain)]);
    }
}
