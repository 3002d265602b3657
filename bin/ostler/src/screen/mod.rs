//! Output for people. On a terminal, tables and texts fit its width; output to a pipe is
//! plain and complete. Colours never carry information alone.

mod fields;
mod next;
mod notes;
mod progress;
mod table;
mod text;

use anstyle::{AnsiColor, Effects, Style};

pub(crate) use fields::print_fields;
pub(crate) use next::{NextCommand, print_next};
pub(crate) use notes::print_notes;
pub(crate) use progress::RowProgress;
pub(crate) use table::{Cell, format_rows, print_rows};
pub(crate) use text::{count, print_paragraph, print_prose, shorten, thousands, wrap};

pub(crate) const HEADER: Style = Style::new().effects(Effects::BOLD);
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().effects(Effects::BOLD);
pub(crate) const DIM: Style = Style::new().effects(Effects::DIMMED);

/// Returns the width of the terminal that the output goes to; `None` if it goes elsewhere.
pub(crate) fn terminal_width() -> Option<usize> {
    terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| width.0.into())
}
