//! Where rows go: inline with the scrollback of the terminal, the whole screen, or a stream
//! that is only appended to.

pub(crate) mod ansi;
pub(crate) mod full;
pub(crate) mod inline;
pub(crate) mod linear;

use crate::text::line::Row;

/// The part of the screen that changes: below the finished lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LiveArea {
    pub(crate) rows: Vec<Row>,
    /// Row and column of the cursor.
    pub(crate) cursor: (usize, usize),
}
