//! What somebody is writing, on a terminal, until the message itself is there.
//! It is drawn over again as it grows and leaves nothing behind.

use std::io::{IsTerminal as _, Write as _};

use unicode_width::UnicodeWidthChar as _;

/// What is being written.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// Where it can be drawn.
    drawn: bool,
    text: String,
    /// How many rows of the screen it has.
    rows: usize,
}

impl Draft {
    /// A draft that is drawn if there is a terminal to draw it on.
    pub(crate) fn here() -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        Self { drawn: std::io::stdout().is_terminal() && !dumb, ..Self::default() }
    }

    /// More words; those of an earlier draft go with the first of a new one.
    pub(crate) fn write(&mut self, offset: usize, words: &str) {
        if offset == 0 {
            self.text.clear();
        }
        self.text.push_str(words);
        self.draw();
    }

    /// Takes it off the screen.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.draw();
    }

    fn draw(&mut self) {
        if !self.drawn {
            return;
        }
        let (width, height) = terminal_size::terminal_size()
            .map_or((80, 24), |(width, height)| (usize::from(width.0), usize::from(height.0)));
        let rows = wrapped(&self.text, width.saturating_sub(1).max(1));
        let rows = &rows[rows.len().saturating_sub(height.saturating_sub(1).max(1))..];
        let mut all = erased(self.rows);
        all.push_str(&rows.join("\r\n"));
        self.rows = rows.len();
        // A terminal that is gone has nothing to show.
        let _ = std::io::stdout().write_all(all.as_bytes());
        let _ = std::io::stdout().flush();
    }
}

/// What brings the cursor back to the start of some rows and clears them.
fn erased(rows: usize) -> String {
    match rows {
        0 => String::new(),
        1 => "\r\x1b[J".to_owned(),
        rows => format!("\r\x1b[{}A\x1b[J", rows - 1),
    }
}

/// The rows that a text takes. What would move the cursor is left out.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut rows = Vec::new();
    for line in text.lines() {
        let (mut row, mut used) = (String::new(), 0);
        for letter in line.chars() {
            let Some(wide) = letter.width() else { continue };
            if used + wide > width {
                rows.push(std::mem::take(&mut row));
                used = 0;
            }
            row.push(letter);
            used += wide;
        }
        rows.push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::{erased, wrapped};

    #[test]
    fn rows_are_as_wide_as_the_screen_and_move_nothing() {
        let check = |text: &str, rows: &[&str]| assert_eq!(wrapped(text, 4), rows, "{text:?}");
        check("", &[]);
        check("abcd", &["abcd"]);
        check("abcde", &["abcd", "e"]);
        check("ab\n\ncd", &["ab", "", "cd"]);
        check("比萨饼", &["比萨", "饼"]);
        check("a\x1b[2Jb\r\tc", &["a[2J", "bc"]);
    }

    #[test]
    fn what_was_drawn_is_erased() {
        assert_eq!([erased(0), erased(1), erased(3)], ["", "\r\x1b[J", "\r\x1b[2A\x1b[J"]);
    }
}
