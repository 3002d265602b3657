//! The writer's statements, prepared once and found by where their text is: a
//! turn has a dozen, and hashing their texts would take a tenth of its time.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rusqlite::{Connection, Statement};

/// The connection that writes. All texts are parts of the program, so there are
/// only so many.
pub(super) struct Writer<'c> {
    pub(super) connection: &'c Connection,
    known: RefCell<HashMap<(*const u8, usize), Statement<'c>>>,
}

impl<'c> Writer<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        Self { connection, known: RefCell::default() }
    }

    /// Runs a statement that has no parameters.
    pub(super) fn execute(&self, text: &'static str) -> rusqlite::Result<usize> {
        self.prepared(text, |statement| statement.execute([]))
    }

    /// Does something with a statement.
    pub(super) fn prepared<T>(
        &self,
        text: &'static str,
        run: impl FnOnce(&mut Statement<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        match self.known.borrow_mut().entry((text.as_ptr(), text.len())) {
            Entry::Occupied(known) => run(known.into_mut()),
            Entry::Vacant(new) => run(new.insert(self.connection.prepare(text)?)),
        }
    }
}
