//! The progress of long work, on one line of a terminal.

use std::io::IsTerminal as _;

use super::{DIM, thousands};

/// A line on standard error that shows how many rows are done; nothing if that is no
/// terminal. It is cleared when this is dropped.
pub(crate) struct RowProgress {
    is_shown: bool,
}

impl RowProgress {
    pub(crate) fn new() -> Self {
        Self { is_shown: std::io::stderr().is_terminal() }
    }

    pub(crate) fn show(&self, table: &str, rows: u64) {
        if self.is_shown {
            anstream::eprint!("\r\x1b[2K{DIM}{} rows, {table} …{DIM:#}", thousands(rows));
        }
    }
}

impl Drop for RowProgress {
    fn drop(&mut self) {
        if self.is_shown {
            anstream::eprint!("\r\x1b[2K");
        }
    }
}
