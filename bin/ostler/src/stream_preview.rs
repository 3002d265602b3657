//! The text that a model streams, on a terminal, until the message is complete. It is
//! redrawn as it grows and leaves nothing behind.

use std::io::{IsTerminal as _, Write as _};

use unicode_width::UnicodeWidthChar as _;

/// The streamed text on the terminal.
#[derive(Debug, Default)]
pub(crate) struct StreamPreview {
    /// Whether standard output is a terminal that can be redrawn.
    enabled: bool,
    text: String,
    /// How many rows of the screen it takes.
    rows: usize,
}

impl StreamPreview {
    /// Creates a preview that draws only if standard output is a terminal.
    pub(crate) fn new() -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        Self { enabled: std::io::stdout().is_terminal() && !dumb, ..Self::default() }
    }

    /// Appends text; an offset of 0 begins a new draft.
    pub(crate) fn append(&mut self, offset: usize, text: &str) {
        if offset == 0 {
            self.text.clear();
        }
        self.text.push_str(text);
        self.draw();
    }

    /// Removes the text from the screen.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.draw();
    }

    fn draw(&mut self) {
        if !self.enabled {
            return;
        }
        let (width, height) = terminal_size::terminal_size()
            .map_or((80, 24), |(width, height)| (usize::from(width.0), usize::from(height.0)));
        let rows = wrap(&self.text, width.saturating_sub(1).max(1));
        let rows = &rows[rows.len().saturating_sub(height.saturating_sub(1).max(1))..];
        let mut output = erase(self.rows);
        output.push_str(&rows.join("\r\n"));
        self.rows = rows.len();
        // A closed terminal is not an error.
        let _ = std::io::stdout().write_all(output.as_bytes());
        let _ = std::io::stdout().flush();
    }
}

/// Returns the escape sequence that clears the last `rows` rows.
fn erase(rows: usize) -> String {
    match rows {
        0 => String::new(),
        1 => "\r\x1b[J".to_owned(),
        rows => format!("\r\x1b[{}A\x1b[J", rows - 1),
    }
}

/// Wraps a text into rows, without characters that would move the cursor.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut rows = Vec::new();
    for line in text.lines() {
        let (mut row, mut used) = (String::new(), 0);
        for character in line.chars() {
            let Some(columns) = character.width() else { continue };
            if used + columns > width {
                rows.push(std::mem::take(&mut row));
                used = 0;
            }
            row.push(character);
            used += columns;
        }
        rows.push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::{erase, wrap};

    #[test]
    fn text_is_wrapped_to_the_width_without_control_characters() {
        let check = |text: &str, rows: &[&str]| assert_eq!(wrap(text, 4), rows, "{text:?}");
        check("", &[]);
        check("abcd", &["abcd"]);
        check("abcde", &["abcd", "e"]);
        check("ab\n\ncd", &["ab", "", "cd"]);
        check("比萨饼", &["比萨", "饼"]);
        check("a\x1b[2Jb\r\tc", &["a[2J", "bc"]);
    }

    #[test]
    fn all_drawn_rows_are_erased() {
        assert_eq!([erase(0), erase(1), erase(3)], ["", "\r\x1b[J", "\r\x1b[2A\x1b[J"]);
    }
}
