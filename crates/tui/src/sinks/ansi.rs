//! Rows as text with escape sequences.

use crate::text::line::Row;
use crate::text::theme::Theme;

pub(crate) const BEGIN_FRAME: &str = "\x1b[?2026h\x1b[?25l";
pub(crate) const END_FRAME: &str = "\x1b[?25h\x1b[?2026l";
pub(crate) const CLEAR_TO_END_OF_LINE: &str = "\x1b[K";
/// Clears the screen and what has scrolled out of it.
pub(crate) const CLEAR_ALL: &str = "\x1b[H\x1b[2J\x1b[3J";

/// Appends a row.
pub(crate) fn push_row(row: &Row, theme: Theme, out: &mut String) {
    for span in &row.spans {
        let parameters = theme.parameters(span.tone);
        if parameters.is_empty() {
            out.push_str(&span.text);
        } else {
            out.push_str("\x1b[");
            out.push_str(parameters);
            out.push('m');
            out.push_str(&span.text);
            out.push_str("\x1b[0m");
        }
    }
}

/// Appends a movement of the cursor by some cells; none by zero.
pub(crate) fn push_move(count: usize, direction: char, out: &mut String) {
    if count > 0 {
        out.push_str("\x1b[");
        out.push_str(&count.to_string());
        out.push(direction);
    }
}
