//! What was said last in the conversations that were answered lately, so that a
//! conversation which goes on is not read again for each turn.
//!
//! A thread only grows, so what is remembered of it is right as long as its last
//! message is the same. Whoever goes on with a thread takes it out and brings it
//! back longer; if that fails, it is read again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use ostler_domain::id::ThreadId;
use ostler_domain::message::Part;
use ostler_engine::tokens;

use crate::talk::message::ThreadMessage;

/// About how much memory half of the threads may take.
const HALF: usize = 16 << 20;
/// What a message takes besides its words.
const MESSAGE: usize = 512;

/// The ends of threads.
#[derive(Debug, Default)]
pub(crate) struct Threads(Mutex<Halves>);

/// Threads that were brought back lately, and those that were before: when the
/// first are too many, the second are forgotten.
#[derive(Debug, Default)]
struct Halves {
    new: Half,
    old: Half,
}

#[derive(Debug, Default)]
struct Half {
    threads: HashMap<ThreadId, Thread>,
    size: usize,
}

#[derive(Debug)]
struct Thread {
    last: i64,
    messages: Vec<ThreadMessage>,
    size: usize,
}

impl Threads {
    /// Takes the end of a thread out, if its last message is this one.
    pub(crate) fn take(&self, id: ThreadId, last: i64) -> Option<Vec<ThreadMessage>> {
        let mut halves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = halves.new.take(id).or_else(|| halves.old.take(id))?;
        (taken.last == last).then_some(taken.messages)
    }

    /// Brings the end of a thread back.
    pub(crate) fn bring(&self, id: ThreadId, last: i64, messages: Vec<ThreadMessage>) {
        let size = messages.iter().map(weight).sum();
        let mut halves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        halves.old.take(id);
        halves.new.take(id);
        if halves.new.size + size > HALF {
            halves.old = std::mem::take(&mut halves.new);
        }
        if size <= HALF {
            halves.new.size += size;
            halves.new.threads.insert(id, Thread { last, messages, size });
        }
    }
}

impl Half {
    fn take(&mut self, id: ThreadId) -> Option<Thread> {
        let taken = self.threads.remove(&id)?;
        self.size -= taken.size;
        Some(taken)
    }
}

/// About how much memory a message takes.
fn weight(message: &ThreadMessage) -> usize {
    let words = message.parts.iter().map(|part| match part {
        Part::Text { text } => text.len(),
        _ => MESSAGE,
    });
    let work = message.work.iter().map(|item| {
        let bytes = tokens::of_item(item).saturating_mul(tokens::BYTES);
        MESSAGE + usize::try_from(bytes).unwrap_or(usize::MAX / 2)
    });
    words.chain(work).fold(MESSAGE, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use ostler_domain::id::ThreadId;
    use ostler_domain::message::Part;
    use ostler_domain::time::Timestamp;

    use super::{HALF, Threads};
    use crate::talk::message::{MessageAuthor, Purpose, ThreadMessage};

    fn said(text: &str) -> Vec<ThreadMessage> {
        vec![ThreadMessage {
            at: Timestamp::from_millis(0),
            author: MessageAuthor::System,
            parts: vec![Part::text(text)],
            work: Vec::new(),
            purpose: Purpose::Talk,
            run: None,
        }]
    }

    #[test]
    fn a_thread_is_known_by_its_last_message() {
        let (threads, id) = (Threads::default(), ThreadId::from_u128(1));
        assert_eq!(threads.take(id, 0), None);
        threads.bring(id, 4, said("hello"));
        assert_eq!(threads.take(id, 4), Some(said("hello")));
        assert_eq!(threads.take(id, 4), None, "somebody has it");
        threads.bring(id, 4, said("hello"));
        assert_eq!(threads.take(id, 5), None, "somebody else has said something");
        assert_eq!(threads.take(id, 4), None, "and what was known is forgotten");
    }

    #[test]
    fn what_was_not_used_for_long_is_forgotten() {
        let threads = Threads::default();
        let text = "x".repeat(HALF / 4);
        for number in 0..32 {
            threads.bring(ThreadId::from_u128(number), 1, said(&text));
        }
        let known: Vec<u128> = (0..32)
            .filter(|number| threads.take(ThreadId::from_u128(*number), 1).is_some())
            .collect();
        assert!((3..=6).contains(&known.len()), "{known:?}");
        assert_eq!(known.last(), Some(&31));
        threads.bring(ThreadId::from_u128(1), 1, said(&"x".repeat(HALF + 1)));
        assert_eq!(threads.take(ThreadId::from_u128(1), 1), None, "it is too large");
        let halves = threads.0.lock().unwrap();
        assert_eq!((halves.new.size, halves.old.size), (0, 0));
    }
}
