//! Tables for people. Colours never carry information alone; output to a pipe is plain.

use anstyle::{AnsiColor, Effects, Style};
use unicode_width::UnicodeWidthStr as _;

pub(crate) const HEADER: Style = Style::new().effects(Effects::BOLD);
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().effects(Effects::BOLD);
pub(crate) const DIM: Style = Style::new().effects(Effects::DIMMED);

/// A cell of a table.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// Creates a cell with a style.
    pub(crate) fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(text, Style::new())
    }
}

/// Prints rows in columns, each as wide as its widest cell.
pub(crate) fn print_rows<const N: usize>(rows: &[[Cell; N]]) {
    for line in format_rows(rows) {
        anstream::println!("{line}");
    }
}

/// Formats rows in columns, each as wide as its widest cell: one line for each row.
pub(crate) fn format_rows<const N: usize>(rows: &[[Cell; N]]) -> Vec<String> {
    let width =
        |column: usize| rows.iter().map(|row| row[column].text.width()).max().unwrap_or_default();
    let widths: [usize; N] = std::array::from_fn(width);
    let format_row = |row: &[Cell; N]| {
        let mut line = String::new();
        let last = row.iter().rposition(|cell| !cell.text.is_empty()).map_or(0, |last| last + 1);
        for (column, Cell { text, style }) in row.iter().take(last).enumerate() {
            let padding = if column + 1 == last { 0 } else { widths[column] - text.width() + 2 };
            line.push_str(&format!("{style}{text}{style:#}{:padding$}", ""));
        }
        line
    };
    rows.iter().map(format_row).collect()
}

/// Shortens a text to this many columns, with an ellipsis.
pub(crate) fn shorten(text: &str, columns: usize) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.width() <= columns {
        return text;
    }
    let (mut short, mut width) = (String::new(), 0);
    for c in text.chars() {
        width += unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
        if width >= columns {
            break;
        }
        short.push(c);
    }
    format!("{}…", short.trim_end())
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

#[cfg(test)]
mod tests {
    use super::{shorten, thousands};

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
    fn thousands_are_separated_by_commas() {
        for (number, text) in [(0, "0"), (300, "300"), (2000, "2,000"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(number), text);
        }
    }
}
