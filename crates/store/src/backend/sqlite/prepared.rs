//! Prepared statements of the writer, looked up by the address of their text: a turn
//! runs a dozen, and hashing the texts would take a tenth of its time.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rusqlite::{Connection, Statement};

/// The writer's connection. All texts are static, so the cache is bounded.
pub(crate) struct Writer<'c> {
    pub(super) connection: &'c Connection,
    cache: RefCell<HashMap<(*const u8, usize), Statement<'c>>>,
}

impl<'c> Writer<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        Self { connection, cache: RefCell::default() }
    }

    /// Runs a statement without parameters.
    pub(super) fn execute(&self, text: &'static str) -> rusqlite::Result<usize> {
        self.prepared(text, |statement| statement.execute([]))
    }

    /// Prepares a statement, or takes it from the cache, and passes it to `run`.
    pub(super) fn prepared<T>(
        &self,
        text: &'static str,
        run: impl FnOnce(&mut Statement<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        match self.cache.borrow_mut().entry((text.as_ptr(), text.len())) {
            Entry::Occupied(cached) => run(cached.into_mut()),
            Entry::Vacant(new) => run(new.insert(self.connection.prepare(text)?)),
        }
    }
}
