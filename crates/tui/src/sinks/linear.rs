//! Linear: rows are appended and never changed, for pipes, simple terminals and screen
//! readers.

use crate::text::line::Row;

/// Appends rows as plain text. Lines that continue are written as one.
pub(crate) fn write(rows: &[Row], out: &mut String) {
    for row in rows {
        row.spans.iter().for_each(|span| out.push_str(&span.text));
        if !row.joined {
            out.push('\n');
        }
    }
}
