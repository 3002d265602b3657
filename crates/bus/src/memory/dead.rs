//! The dead letters in memory.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::dead::{DeadLetter, Selection};

#[derive(Default)]
pub(super) struct DeadLetters {
    letters: Mutex<VecDeque<DeadLetter>>,
    /// There is room again.
    pub(super) room: Notify,
}

impl DeadLetters {
    fn letters(&self) -> MutexGuard<'_, VecDeque<DeadLetter>> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a letter, or gives it back if there are too many.
    pub(super) fn push(&self, letter: DeadLetter, limit: u32) -> Result<(), Box<DeadLetter>> {
        let mut letters = self.letters();
        if letters.len() >= limit as usize {
            return Err(Box::new(letter));
        }
        letters.push_back(letter);
        Ok(())
    }

    pub(super) fn list(&self, which: &Selection, limit: usize) -> Vec<DeadLetter> {
        self.letters().iter().filter(|one| which.has(one)).take(limit).cloned().collect()
    }

    pub(super) fn take(&self, which: &Selection) -> Vec<DeadLetter> {
        let mut letters = self.letters();
        let (taken, kept) = letters.drain(..).partition(|one| which.has(one));
        *letters = kept;
        drop(letters);
        self.room.notify_waiters();
        taken.into()
    }

    /// Takes back what could not be replayed; there is always room for it.
    pub(super) fn put_back(&self, taken: impl DoubleEndedIterator<Item = DeadLetter>) {
        let mut letters = self.letters();
        for letter in taken.rev() {
            letters.push_front(letter);
        }
    }
}
