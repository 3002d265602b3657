//! The message window of a thread: a state machine that says what is in the prompt and
//! what the observer and the reflector do next.
//!
//! It takes what happened (a message was stored, a task ended or failed) and returns what
//! to do. Counts are kept up to date with each message, so nothing here depends on the
//! length of the thread. At most one task runs at a time.
//!
//! - Buffering starts at 60 % of the threshold, in chunks of 20 %; the newest 20 % are never
//!   condensed.
//! - At the threshold, finished chunks are activated. If there is none, the same work is
//!   done as an observation, still in the background.
//! - At 120 % the oldest messages leave the prompt, observed or not.

mod next;
mod progress;
mod task;

use std::collections::VecDeque;

use super::{MemorySettings, MessageSpan};
use crate::time::Timestamp;

pub use progress::{BufferStatus, MemoryProgress, StagedChunk, WindowStatus};
pub use task::{Backoff, MemoryTask, TaskKind};

/// A message in the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowMessage {
    pub seq: i64,
    pub tokens: u64,
    /// Whether it belongs to the message before it, like the results of calls. A prompt never
    /// begins with such a message.
    pub continues: bool,
}

/// What an activation replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Activation {
    pub chunks: usize,
    /// The messages that the observations stand for.
    pub span: MessageSpan,
    /// The tokens of messages that left the prompt.
    pub message_tokens: u64,
    /// The tokens of observations that took their place.
    pub observation_tokens: u64,
}

/// The window of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryWindow {
    settings: MemorySettings,
    /// The messages in the prompt, oldest first.
    tail: VecDeque<WindowMessage>,
    tail_tokens: u64,
    /// The part of `tail_tokens` that is neither observed nor being observed.
    unobserved_tokens: u64,
    /// The tokens of observations in the prompt.
    observation_tokens: u64,
    progress: MemoryProgress,
}

impl MemoryWindow {
    /// Creates the window of a new thread.
    pub fn new(settings: MemorySettings) -> Self {
        Self::restore(settings, MemoryProgress::default(), 0, [])
    }

    /// Restores a window from its stored progress and the messages after
    /// [`condensed_to`](MemoryProgress::condensed_to). A task that was running when the
    /// progress was stored still counts as running: report its failure.
    pub fn restore(
        settings: MemorySettings,
        progress: MemoryProgress,
        observation_tokens: u64,
        messages: impl IntoIterator<Item = WindowMessage>,
    ) -> Self {
        let mut window = Self {
            settings,
            tail: VecDeque::new(),
            tail_tokens: 0,
            unobserved_tokens: 0,
            observation_tokens,
            progress,
        };
        for message in messages {
            window.push(message);
        }
        window
    }

    /// Returns the settings.
    pub const fn settings(&self) -> &MemorySettings {
        &self.settings
    }

    /// Changes the settings; they apply from the next message on.
    pub fn set_settings(&mut self, settings: MemorySettings) {
        self.settings = settings;
        self.enforce_limit();
    }

    /// Returns what has to be stored.
    pub const fn progress(&self) -> &MemoryProgress {
        &self.progress
    }

    /// Returns the sequence number of the first message in the prompt, or of the next
    /// message if there is none.
    pub fn tail_start(&self) -> i64 {
        self.progress.condensed_to + 1
    }

    /// Returns the task that is running.
    pub const fn running(&self) -> Option<&MemoryTask> {
        self.progress.running.as_ref()
    }

    /// Adds a message. One that is not newer than the last is ignored. Messages over the
    /// limit leave the prompt.
    pub fn push(&mut self, message: WindowMessage) {
        let last = self.tail.back().map_or(self.progress.condensed_to, |last| last.seq);
        if message.seq <= last {
            return;
        }
        self.tail.push_back(message);
        self.tail_tokens += message.tokens;
        if message.seq > self.progress.observed_to {
            self.unobserved_tokens += message.tokens;
        }
        self.enforce_limit();
    }

    /// Puts finished observations in the place of their messages if the window is full, or
    /// if their messages have left the prompt already.
    pub fn activate(&mut self) -> Option<Activation> {
        let start = self.tail_start();
        let is_full = self.tail_tokens >= self.settings.observation_threshold;
        let is_due = is_full || self.progress.staged.iter().any(|chunk| chunk.span.last < start);
        if is_due { self.activate_staged() } else { None }
    }

    fn activate_staged(&mut self) -> Option<Activation> {
        let staged = std::mem::take(&mut self.progress.staged);
        let span = staged.iter().map(|chunk| chunk.span).reduce(MessageSpan::hull)?;
        let before = self.tail_tokens;
        while self.tail.front().is_some_and(|message| message.seq <= span.last) {
            self.remove_first();
        }
        let observation_tokens = staged.iter().map(|chunk| chunk.observation_tokens).sum();
        self.observation_tokens += observation_tokens;
        let message_tokens = before - self.tail_tokens;
        Some(Activation { chunks: staged.len(), span, message_tokens, observation_tokens })
    }

    /// Removes the oldest messages while the window is over its limit, with the messages
    /// that belong to them, but never the newest.
    fn enforce_limit(&mut self) {
        while self.tail_tokens > self.settings.message_limit() {
            let following = self.tail.iter().skip(1).take_while(|message| message.continues);
            let length = 1 + following.count();
            if length >= self.tail.len() {
                return;
            }
            for _ in 0..length {
                self.remove_first();
            }
        }
    }

    fn remove_first(&mut self) {
        let Some(message) = self.tail.pop_front() else { return };
        self.tail_tokens -= message.tokens;
        if message.seq > self.progress.observed_to {
            self.unobserved_tokens -= message.tokens;
            self.progress.observed_to = message.seq;
        }
        self.progress.condensed_to = message.seq;
    }

    /// Starts the next task, if there is something to do and no task is running.
    pub fn start_task(&mut self, now: Timestamp) -> Option<MemoryTask> {
        if self.progress.running.is_some() {
            return None;
        }
        let task = self.next_observation(now).or_else(|| self.next_reflection(now))?;
        if let Some(span) = task.span {
            let observed = |message: &&WindowMessage| message.seq <= span.last;
            let skipped = |message: &&WindowMessage| message.seq <= self.progress.observed_to;
            let taken = self.tail.iter().take_while(observed).skip_while(skipped);
            self.unobserved_tokens -= taken.map(|message| message.tokens).sum::<u64>();
            self.progress.observed_to = span.last;
        }
        self.progress.tasks = task.number;
        self.progress.running = Some(task.clone());
        Some(task)
    }

    /// Returns the sequence number of the newest message; 0 if there was none.
    pub fn newest(&self) -> i64 {
        self.tail.back().map_or(self.progress.condensed_to, |last| last.seq)
    }

    /// Ends the running observation with observations of this many tokens. One that began
    /// when the window was full is activated at once.
    pub fn finish_observation(&mut self, observation_tokens: u64) -> Option<Activation> {
        let task = self.progress.running.take_if(|task| task.kind != TaskKind::Reflection)?;
        let span = task.span?;
        self.progress.observer = Backoff::default();
        let chunk = StagedChunk { span, message_tokens: task.tokens, observation_tokens };
        self.progress.staged.push(chunk);
        if task.kind == TaskKind::Observation { self.activate_staged() } else { None }
    }

    /// Ends the running reflection; the observations in the prompt have this many tokens now.
    pub fn finish_reflection(&mut self, observation_tokens: u64) {
        let reflection = |task: &mut MemoryTask| task.kind == TaskKind::Reflection;
        if self.progress.running.take_if(reflection).is_some() {
            self.progress.reflector = Backoff::default();
            self.progress.generation += 1;
            self.observation_tokens = observation_tokens;
        }
    }

    /// Sets the tokens of the observations in the prompt, after one was superseded or left it.
    pub const fn set_observation_tokens(&mut self, tokens: u64) {
        self.observation_tokens = tokens;
    }

    /// Records that the running task failed, and returns when it is tried again: `None` means
    /// not before more messages have come. Its messages count as unobserved again.
    pub fn fail(
        &mut self,
        now: Timestamp,
        retry_after: Option<std::time::Duration>,
    ) -> Option<Timestamp> {
        let task = self.progress.running.take()?;
        let newest = self.newest();
        if let Some(span) = task.span {
            let before = span.first - 1;
            self.progress.observed_to = before.max(self.progress.condensed_to);
            let unobserved = |message: &&WindowMessage| message.seq > self.progress.observed_to;
            self.unobserved_tokens =
                self.tail.iter().rev().take_while(unobserved).map(|message| message.tokens).sum();
        }
        let backoff = match task.kind {
            TaskKind::Reflection => &mut self.progress.reflector,
            TaskKind::Buffering | TaskKind::Observation => &mut self.progress.observer,
        };
        backoff.record_failure(now, newest, retry_after)
    }

    /// Returns what is in the prompt and what waits for it.
    pub fn status(&self) -> WindowStatus {
        self.progress.status(&self.settings, self.tail_tokens, self.observation_tokens)
    }
}

#[cfg(test)]
mod tests;
