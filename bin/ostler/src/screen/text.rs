//! Texts and numbers, by the width at which a terminal shows them.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The widest lines of prose.
const PROSE_WIDTH: usize = 96;

/// Replaces control characters, which would break lines or reach the terminal, by spaces.
pub(super) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Shortens a text to this many columns, with an ellipsis.
pub(crate) fn shorten(text: &str, columns: usize) -> String {
    let text = printable(text);
    if text.width() <= columns {
        return text;
    }
    let (mut short, mut width) = (String::new(), 0);
    for c in text.chars() {
        width += c.width().unwrap_or(0);
        if width >= columns {
            break;
        }
        short.push(c);
    }
    format!("{}…", short.trim_end())
}

/// Breaks a text into lines of at most this many columns, between words where possible.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in printable(paragraph).split_whitespace() {
            let gap = usize::from(!line.is_empty());
            if line.width() + gap + word.width() <= columns {
                line.push_str(&" "[..gap]);
                line.push_str(word);
                continue;
            }
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            for c in word.chars() {
                if line.width() + c.width().unwrap_or(0) > columns {
                    lines.push(std::mem::take(&mut line));
                }
                line.push(c);
            }
        }
        lines.push(line);
    }
    lines
}

/// Prints a text of several words, broken into lines that fit the terminal.
pub(crate) fn print_paragraph(text: &str, style: anstyle::Style) {
    let columns = super::terminal_width().unwrap_or(usize::MAX);
    for line in wrap(text, columns) {
        anstream::println!("{style}{line}{style:#}");
    }
}

/// Prints a text of several sentences below a margin, broken into lines that fit the terminal.
pub(crate) fn print_prose(text: &str, margin: usize) {
    let columns = super::terminal_width().unwrap_or(PROSE_WIDTH).min(PROSE_WIDTH);
    for line in wrap(text, columns.saturating_sub(margin)) {
        anstream::println!("{:margin$}{line}", "");
    }
}

/// Formats a number with thousands separators: `2,000`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .filter_map(|group| std::str::from_utf8(group).ok())
        .collect();
    groups.join(",")
}

/// Formats a number with its noun, which takes an `s` unless there is one: `1 credit`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", thousands(number), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::{count, shorten, thousands, wrap};

    #[test]
    fn long_texts_are_shortened() {
        for (text, columns, expected) in [
            ("Rosa", 4, "Rosa"),
            ("Rosa Bianchi", 6, "Rosa…"),
            ("日本語", 4, "日…"),
            ("a\nb", 9, "a b"),
        ] {
            assert_eq!(shorten(text, columns), expected, "{text}");
        }
    }

    #[test]
    fn texts_are_wrapped_between_words() {
        for (text, columns, expected) in [
            ("", 5, &[][..]),
            ("one two", 7, &["one two"]),
            ("one two", 6, &["one", "two"]),
            ("a abcdefgh", 4, &["a", "abcd", "efgh"]),
            ("日本語", 4, &["日本", "語"]),
            ("a\n\nb", 9, &["a", "", "b"]),
        ] {
            assert_eq!(wrap(text, columns), expected, "{text}");
        }
    }

    #[test]
    fn numbers_have_separators_and_nouns() {
        for (number, text) in [(0, "0"), (300, "300"), (2000, "2,000"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(number), text);
        }
        for (number, text) in [(0, "0 credits"), (1, "1 credit"), (2000, "2,000 credits")] {
            assert_eq!(count(number, "credit"), text);
        }
    }
}
