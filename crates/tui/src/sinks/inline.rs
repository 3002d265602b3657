//! Inline: finished rows scroll into the scrollback of the terminal, and a live area below
//! them is drawn again for each frame.
//!
//! All movements are relative to the live area, whose rows are known, so that neither the
//! position of the cursor nor what was on the screen before matters. Terminals disagree about
//! what happens to rows when their size changes; the screen and the scrollback are then
//! cleared, and the transcript is written again.

use super::LiveArea;
use super::ansi::{self, push_move, push_row};
use crate::text::line::Row;
use crate::text::theme::Theme;

/// The state of the terminal below the finished rows.
#[derive(Debug, Default)]
pub(crate) struct InlineSink {
    live: LiveArea,
}

impl InlineSink {
    /// Appends what changes the screen: finished rows go above the live area, which becomes
    /// another one.
    pub(crate) fn draw(
        &mut self,
        finished: &[Row],
        live: LiveArea,
        columns: usize,
        theme: Theme,
        out: &mut String,
    ) {
        if finished.is_empty() && live == self.live {
            return;
        }
        out.push_str(ansi::BEGIN_FRAME);
        push_move(self.live.cursor.0, 'A', out);
        out.push('\r');
        write_finished(finished, columns, theme, out);
        // Without wrapping, a character that is wider than expected moves nothing.
        out.push_str("\x1b[?7l");
        for (number, row) in live.rows.iter().enumerate() {
            if number > 0 {
                out.push_str("\r\n");
            }
            write_row(row, columns, theme, out);
        }
        out.push_str("\x1b[?7h");
        self.clear_leftover(finished.len() + live.rows.len(), out);
        let last = live.rows.len().saturating_sub(1);
        push_move(last - live.cursor.0.min(last), 'A', out);
        out.push('\r');
        push_move(live.cursor.1, 'C', out);
        out.push_str(ansi::END_FRAME);
        self.live = live;
    }

    /// Clears the rows of the old area that the new ones have not covered.
    fn clear_leftover(&self, written: usize, out: &mut String) {
        let leftover = self.live.rows.len().saturating_sub(written);
        for _ in 0..leftover {
            out.push_str("\x1b[B\r\x1b[2K");
        }
        push_move(leftover, 'A', out);
    }

    /// Appends the whole transcript for a terminal whose size has changed.
    pub(crate) fn redraw(
        &mut self,
        finished: &[Row],
        live: LiveArea,
        columns: usize,
        theme: Theme,
        out: &mut String,
    ) {
        out.push_str(ansi::CLEAR_ALL);
        self.live = LiveArea::default();
        self.draw(finished, live, columns, theme, out);
    }

    /// Appends what leaves the cursor below everything, with the live area gone.
    pub(crate) fn finish(&mut self, out: &mut String) {
        push_move(self.live.cursor.0, 'A', out);
        out.push_str("\r\x1b[J");
        self.live = LiveArea::default();
    }
}

/// Rows that continue each other are written without a line break, so that the terminal knows
/// that they are one line.
fn write_finished(rows: &[Row], columns: usize, theme: Theme, out: &mut String) {
    for row in rows {
        if row.joined {
            push_row(row, theme, out);
        } else {
            write_row(row, columns, theme, out);
            out.push_str("\r\n");
        }
    }
}

fn write_row(row: &Row, columns: usize, theme: Theme, out: &mut String) {
    push_row(row, theme, out);
    // In the last column, the cursor still stands on the last character.
    if row.width < columns {
        out.push_str(ansi::CLEAR_TO_END_OF_LINE);
    }
}
