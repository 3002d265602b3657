//! Full screen: a window over all rows, with the live area below it. The scrollback of the
//! terminal is not touched.

use super::LiveArea;
use super::ansi::{self, push_move, push_row};
use crate::text::line::Row;
use crate::text::theme::Theme;

pub(crate) const ENTER: &str = "\x1b[?1049h\x1b[2J\x1b[H";
pub(crate) const LEAVE: &str = "\x1b[?1049l";

/// Appends a frame: the rows of the window, and the live area at the bottom.
pub(crate) fn draw(
    window: &[Row],
    live: &LiveArea,
    size: (usize, usize),
    theme: Theme,
    out: &mut String,
) {
    let (columns, height) = size;
    out.push_str(ansi::BEGIN_FRAME);
    out.push_str("\x1b[H\x1b[?7l");
    let room = height.saturating_sub(live.rows.len());
    let empty = Row::default();
    let above = window.iter().chain(std::iter::repeat(&empty)).take(room);
    for (number, row) in above.chain(&live.rows).take(height).enumerate() {
        if number > 0 {
            out.push_str("\r\n");
        }
        push_row(row, theme, out);
        if row.width < columns {
            out.push_str(ansi::CLEAR_TO_END_OF_LINE);
        }
    }
    out.push_str("\x1b[?7h\x1b[H");
    push_move((room + live.cursor.0).min(height.saturating_sub(1)), 'B', out);
    push_move(live.cursor.1, 'C', out);
    out.push_str(ansi::END_FRAME);
}
