//! Caches the last messages of recent threads, so that a conversation is not read again for
//! each turn.
//!
//! A thread only grows, so an entry is valid as long as the thread's last message is the
//! same. A turn takes the entry out and puts it back with the new messages; if the turn
//! fails, the thread is read from the store again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use ostler_domain::id::ThreadId;
use ostler_domain::message::MessagePart;
use ostler_engine::tokens;

use crate::records::message::ThreadMessage;

/// The maximum size of one generation, in bytes.
const MAX_GENERATION_BYTES: usize = 16 << 20;
/// The estimated size of a message without its text.
const MESSAGE_OVERHEAD: usize = 512;

/// The last messages of recent threads.
#[derive(Debug, Default)]
pub(crate) struct ThreadCache(Mutex<Generations>);

/// Two generations of entries. When the new one is full, it replaces the old one.
#[derive(Debug, Default)]
struct Generations {
    new: Generation,
    old: Generation,
}

#[derive(Debug, Default)]
struct Generation {
    threads: HashMap<ThreadId, CachedThread>,
    size: usize,
}

#[derive(Debug)]
struct CachedThread {
    last: i64,
    messages: Vec<ThreadMessage>,
    size: usize,
}

impl ThreadCache {
    /// Removes and returns the last messages of a thread, if its last message is `last`.
    pub(crate) fn take(&self, id: ThreadId, last: i64) -> Option<Vec<ThreadMessage>> {
        let mut generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = generations.new.take(id).or_else(|| generations.old.take(id))?;
        (cached.last == last).then_some(cached.messages)
    }

    /// Forgets all threads.
    pub(crate) fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Generations::default();
    }

    /// Forgets the threads that were not used since the last call.
    pub(crate) fn forget_unused(&self) {
        let mut generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        generations.old = std::mem::take(&mut generations.new);
    }

    /// Caches the last messages of a thread.
    pub(crate) fn put(&self, id: ThreadId, last: i64, messages: Vec<ThreadMessage>) {
        let size = messages.iter().map(estimated_size).sum();
        let mut generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        generations.old.take(id);
        generations.new.take(id);
        if generations.new.size + size > MAX_GENERATION_BYTES {
            generations.old = std::mem::take(&mut generations.new);
        }
        if size <= MAX_GENERATION_BYTES {
            generations.new.size += size;
            generations.new.threads.insert(id, CachedThread { last, messages, size });
        }
    }
}

impl Generation {
    fn take(&mut self, id: ThreadId) -> Option<CachedThread> {
        let thread = self.threads.remove(&id)?;
        self.size -= thread.size;
        Some(thread)
    }
}

/// Returns the estimated size of a message in bytes.
fn estimated_size(message: &ThreadMessage) -> usize {
    let parts = message.parts.iter().map(|part| match part {
        MessagePart::Text { text } => text.len(),
        _ => MESSAGE_OVERHEAD,
    });
    let work = message.work.iter().map(|item| {
        let bytes = tokens::of_item(item).saturating_mul(tokens::BYTES_PER_TOKEN);
        MESSAGE_OVERHEAD + usize::try_from(bytes).unwrap_or(usize::MAX / 2)
    });
    parts.chain(work).fold(MESSAGE_OVERHEAD, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use ostler_domain::id::ThreadId;
    use ostler_domain::message::MessagePart;
    use ostler_domain::time::Timestamp;

    use super::{MAX_GENERATION_BYTES, ThreadCache};
    use crate::records::message::{MessageAuthor, Purpose, ThreadMessage};

    fn messages(text: &str) -> Vec<ThreadMessage> {
        vec![ThreadMessage {
            at: Timestamp::from_millis(0),
            author: MessageAuthor::System,
            parts: vec![MessagePart::text(text)],
            work: Vec::new(),
            purpose: Purpose::Talk,
            run: None,
        }]
    }

    #[test]
    fn a_thread_is_known_by_its_last_message() {
        let (threads, id) = (ThreadCache::default(), ThreadId::from_u128(1));
        assert_eq!(threads.take(id, 0), None);
        threads.put(id, 4, messages("hello"));
        assert_eq!(threads.take(id, 4), Some(messages("hello")));
        assert_eq!(threads.take(id, 4), None, "it was taken out");
        threads.put(id, 4, messages("hello"));
        assert_eq!(threads.take(id, 5), None, "the thread has a newer message");
        assert_eq!(threads.take(id, 4), None, "and what was known is forgotten");
    }

    /// S09: what nobody uses any more leaves the memory of the process.
    #[test]
    fn s09_unused_threads_are_forgotten() {
        let (threads, used, unused) =
            (ThreadCache::default(), ThreadId::from_u128(1), ThreadId::from_u128(2));
        for id in [used, unused] {
            threads.put(id, 1, messages("hello"));
        }
        for _ in 0..2 {
            threads.forget_unused();
            let found = threads.take(used, 1).expect("it is used");
            threads.put(used, 1, found);
        }
        assert_eq!(threads.take(unused, 1), None);
        threads.clear();
        assert_eq!(threads.take(used, 1), None);
    }

    #[test]
    fn what_was_not_used_for_long_is_forgotten() {
        let threads = ThreadCache::default();
        let text = "x".repeat(MAX_GENERATION_BYTES / 4);
        for number in 0..32 {
            threads.put(ThreadId::from_u128(number), 1, messages(&text));
        }
        let known: Vec<u128> = (0..32)
            .filter(|number| threads.take(ThreadId::from_u128(*number), 1).is_some())
            .collect();
        assert!((3..=6).contains(&known.len()), "{known:?}");
        assert_eq!(known.last(), Some(&31));
        threads.put(ThreadId::from_u128(1), 1, messages(&"x".repeat(MAX_GENERATION_BYTES + 1)));
        assert_eq!(threads.take(ThreadId::from_u128(1), 1), None, "it is too large");
        let generations = threads.0.lock().unwrap();
        assert_eq!((generations.new.size, generations.old.size), (0, 0));
    }
}
