//! Tasks of the observer and the reflector, and the waits between failed attempts.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::memory::MessageSpan;
use crate::retry::RetryPolicy;
use crate::time::Timestamp;

/// How many messages must come before a task that failed for good is tried again.
const MESSAGES_AFTER_LAST_ATTEMPT: i64 = 20;

/// The kind of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// Observing before the window is full.
    Buffering,
    /// Observing when the window is full and nothing is buffered.
    Observation,
    /// Merging observations.
    Reflection,
}

/// Work for the observer or the reflector.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryTask {
    /// Grows with each task of the thread.
    pub number: u64,
    pub kind: TaskKind,
    /// The messages to observe; `None` for a reflection.
    pub span: Option<MessageSpan>,
    /// The tokens to condense.
    pub tokens: u64,
    /// The first is 1.
    pub attempt: u32,
}

/// The failures of a kind of task in a row, and when the next attempt may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Backoff {
    attempts: u32,
    not_before: Timestamp,
    /// No attempt is made before this message is stored.
    not_before_seq: i64,
}

impl Backoff {
    /// Returns the failed attempts in a row.
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Returns whether an attempt may start.
    pub fn allows(&self, now: Timestamp, newest_seq: i64) -> bool {
        now >= self.not_before && newest_seq >= self.not_before_seq
    }

    /// Records a failure and returns the time of the next attempt; `None` after the last one.
    pub(super) fn record_failure(
        &mut self,
        now: Timestamp,
        newest_seq: i64,
        retry_after: Option<Duration>,
    ) -> Option<Timestamp> {
        self.attempts += 1;
        let policy = RetryPolicy::MEMORY;
        if let Some(wait) = policy.wait_after(self.attempts, retry_after, 500) {
            self.not_before = now + wait;
            return Some(self.not_before);
        }
        *self = Self {
            attempts: 0,
            not_before: now + policy.max_wait,
            not_before_seq: newest_seq + MESSAGES_AFTER_LAST_ATTEMPT,
        };
        None
    }
}
