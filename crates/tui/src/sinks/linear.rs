//! Linear: rows are appended and never changed, for pipes, simple terminals and screen
//! readers.

use super::ansi::push_row;
use crate::text::line::Row;
use crate::text::theme::Theme;

/// Appends rows. Lines that continue are written as one.
pub(crate) fn write(rows: &[Row], theme: Theme, out: &mut String) {
    for row in rows {
        push_row(row, theme, out);
        if !row.joined {
            out.push('\n');
        }
    }
}
