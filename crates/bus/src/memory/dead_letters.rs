//! The dead letters of a bus in memory.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::dead_letter::{DeadLetter, DeadLetterFilter};

#[derive(Default)]
pub(super) struct DeadLetters {
    dead_letters: Mutex<VecDeque<DeadLetter>>,
    /// Notified when there is room again.
    pub(super) room: Notify,
}

impl DeadLetters {
    fn dead_letters(&self) -> MutexGuard<'_, VecDeque<DeadLetter>> {
        self.dead_letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a dead letter, or returns it if the limit is reached.
    pub(super) fn push(&self, dead_letter: DeadLetter, limit: u32) -> Result<(), Box<DeadLetter>> {
        let mut dead_letters = self.dead_letters();
        if dead_letters.len() >= limit as usize {
            return Err(Box::new(dead_letter));
        }
        dead_letters.push_back(dead_letter);
        Ok(())
    }

    pub(super) fn list(&self, filter: &DeadLetterFilter, limit: usize) -> Vec<DeadLetter> {
        self.dead_letters()
            .iter()
            .filter(|dead_letter| filter.matches(dead_letter))
            .take(limit)
            .cloned()
            .collect()
    }

    pub(super) fn take(&self, filter: &DeadLetterFilter) -> Vec<DeadLetter> {
        let mut dead_letters = self.dead_letters();
        let (taken, kept) =
            dead_letters.drain(..).partition(|dead_letter| filter.matches(dead_letter));
        *dead_letters = kept;
        drop(dead_letters);
        self.room.notify_waiters();
        taken.into()
    }

    /// Restores dead letters that could not be replayed, regardless of the
    /// limit.
    pub(super) fn put_back(&self, taken: impl DoubleEndedIterator<Item = DeadLetter>) {
        let mut dead_letters = self.dead_letters();
        for dead_letter in taken.rev() {
            dead_letters.push_front(dead_letter);
        }
    }
}
