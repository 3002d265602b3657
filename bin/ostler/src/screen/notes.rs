//! Notes about what was done: it is done, but something is not ready yet.

use super::WARNING;

/// Prints notes beside the output of a command.
pub(crate) fn print_notes(notes: &[String]) {
    for note in notes {
        anstream::eprintln!("{WARNING}note{WARNING:#}: {note}");
    }
}
