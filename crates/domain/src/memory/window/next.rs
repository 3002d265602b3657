//! Which task comes next.

use super::{MemoryTask, MemoryWindow, TaskKind};
use crate::memory::MessageSpan;
use crate::time::Timestamp;

impl MemoryWindow {
    pub(super) fn next_observation(&self, now: Timestamp) -> Option<MemoryTask> {
        let condensable = self.unobserved_tokens.saturating_sub(self.settings.kept_tail());
        let is_wanted = self.tail_tokens >= self.settings.buffering_start()
            && condensable >= self.settings.chunk();
        if !is_wanted || !self.progress.observer.allows(now, self.newest()) {
            return None;
        }
        let (span, tokens) = self.next_chunk(condensable)?;
        let is_full = self.tail_tokens >= self.settings.observation_threshold;
        // Small messages before a large one wait for it.
        if tokens < self.min_chunk() && !is_full {
            return None;
        }
        let kind = if is_full && self.progress.staged.is_empty() {
            TaskKind::Observation
        } else {
            TaskKind::Buffering
        };
        Some(self.task(kind, Some(span), tokens, self.progress.observer.attempts()))
    }

    /// Returns the oldest messages that are not observed: at most a chunk's worth, whole
    /// groups of messages that belong together, without the newest.
    fn next_chunk(&self, condensable: u64) -> Option<(MessageSpan, u64)> {
        let skipped =
            self.tail.iter().take_while(|one| one.seq <= self.progress.observed_to).count();
        let first = self.tail.get(skipped)?.seq;
        let (mut sum, mut chunk) = (0, None);
        for (message, next) in
            self.tail.iter().skip(skipped).zip(self.tail.iter().skip(skipped + 1))
        {
            sum += message.tokens;
            let is_large = sum > self.settings.max_chunk();
            let is_enough = chunk.is_some_and(|(_, tokens)| tokens >= self.min_chunk());
            if sum > condensable || (is_large && is_enough) {
                break;
            }
            if !next.continues {
                chunk = Some((MessageSpan { first, last: message.seq }, sum));
            }
        }
        chunk
    }

    const fn min_chunk(&self) -> u64 {
        self.settings.chunk() / 2
    }

    pub(super) fn next_reflection(&self, now: Timestamp) -> Option<MemoryTask> {
        let is_wanted = self.observation_tokens >= self.settings.reflection_threshold;
        if !is_wanted || !self.progress.reflector.allows(now, self.newest()) {
            return None;
        }
        let attempts = self.progress.reflector.attempts();
        Some(self.task(TaskKind::Reflection, None, self.observation_tokens, attempts))
    }

    const fn task(
        &self,
        kind: TaskKind,
        span: Option<MessageSpan>,
        tokens: u64,
        attempts: u32,
    ) -> MemoryTask {
        let number = self.progress.tasks + 1;
        MemoryTask { number, kind, span, tokens, attempt: attempts + 1 }
    }
}
