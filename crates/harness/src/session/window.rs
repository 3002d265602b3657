//! The part of a conversation that the model sees: all of it, or, with a memory, its
//! observations and the newest messages.

use ostler_domain::id::ThreadId;
use ostler_domain::memory::MessageOrigin;
use ostler_domain::money::price::message_credits;
use ostler_domain::tool::Trust;
use ostler_engine::history::Item;
use ostler_engine::model::Usage;
use ostler_engine::tokens;
use ostler_store::{MemoryMessage, OrgStore};

use super::open::trust_of;
use crate::error::HarnessError;
use crate::memory::{ThreadMemory, memory_message};
use crate::thread::ThreadMetadata;

/// The conversation of a thread as the model sees it.
pub(crate) struct Window {
    /// Messages that are shown. A running turn has taken them.
    items: Vec<Item>,
    /// The number of the first of them.
    first_seq: i64,
    /// Whether a turn has been given observations before the messages.
    has_head: bool,
    /// The estimated tokens of the messages that a turn has taken.
    taken_tokens: u64,
    pub(crate) memory: Option<ThreadMemory>,
}

impl Window {
    /// Creates the window of a thread. `items` begin with the number `first_seq`.
    pub(super) fn new(items: Vec<Item>, first_seq: i64, memory: Option<ThreadMemory>) -> Self {
        let mut window = Self { items, first_seq, has_head: false, taken_tokens: 0, memory };
        window.forget();
        window
    }

    /// Drops messages that have left the prompt.
    fn forget(&mut self) {
        let Some(memory) = &self.memory else { return };
        let start = memory.prompt().tail_start;
        let gone = usize::try_from(start - self.first_seq).unwrap_or(0).min(self.items.len());
        if gone > 0 {
            self.items.drain(..gone);
            self.first_seq = start;
        }
    }

    /// Returns the number of the first message that is shown.
    pub(super) const fn first_seq(&self) -> i64 {
        self.first_seq
    }

    /// Returns the estimated tokens of what is shown; while a turn runs, when it began.
    pub(super) fn tokens(&self) -> u64 {
        let head = self.head().as_ref().map_or(0, tokens::of_item);
        match self.items.is_empty() {
            true => self.taken_tokens,
            false => head + self.items.iter().map(tokens::of_item).sum::<u64>(),
        }
    }

    fn head(&self) -> Option<Item> {
        let head = self.memory.as_ref()?.prompt().head?;
        Some(Item::user(head.as_ref()))
    }

    /// Returns whether the window contains anything from outside.
    pub(super) fn trust(&self) -> Trust {
        let trust = trust_of(&self.items);
        match &self.memory {
            Some(memory) => trust.after_reading(memory.prompt().trust),
            None => trust,
        }
    }

    /// Returns the last message.
    pub(crate) fn last(&self) -> Option<&Item> {
        self.items.last()
    }

    /// Returns a copy for a turn that was stored.
    pub(super) fn copy(&mut self) -> Vec<Item> {
        let head = self.head();
        self.has_head = head.is_some();
        head.into_iter().chain(self.items.iter().cloned()).collect()
    }

    /// Moves the messages to a turn. Observations that are ready take the place of old
    /// messages first; no model is called for that.
    pub(super) fn take(&mut self) -> Vec<Item> {
        if let Some(memory) = &self.memory {
            memory.activate_if_ready();
        }
        self.forget();
        let head = self.head();
        self.has_head = head.is_some();
        let mut items = std::mem::take(&mut self.items);
        if let Some(head) = head {
            items.insert(0, head);
        }
        self.taken_tokens = items.iter().map(tokens::of_item).sum();
        items
    }

    /// Takes the messages back from a turn; without the last ones if they were not stored.
    pub(super) fn give_back(&mut self, mut items: Vec<Item>, not_stored: usize) {
        items.truncate(items.len().saturating_sub(not_stored));
        if self.has_head && !items.is_empty() {
            items.remove(0);
        }
        self.has_head = false;
        self.items = items;
    }

    /// Returns what the memory keeps of new messages; nothing without a memory.
    pub(super) fn memory_messages<'i>(
        &self,
        first_seq: i64,
        items: impl IntoIterator<Item = &'i Item>,
        origin: MessageOrigin,
        trust: Trust,
    ) -> Vec<MemoryMessage> {
        if self.memory.is_none() {
            return Vec::new();
        }
        let numbered = (first_seq..).zip(items);
        numbered.map(|(seq, item)| memory_message(seq, item, origin, trust)).collect()
    }

    /// Tells the memory of messages that were stored.
    pub(super) fn stored(&self, messages: &[MemoryMessage]) {
        if let Some(memory) = &self.memory {
            messages.iter().for_each(|message| memory.on_message(message));
        }
    }

    /// Adds what the memory has spent to the figures of the thread. Returns the last task
    /// that is charged by this.
    pub(super) fn charge(&self, metadata: &mut ThreadMetadata) -> Option<u64> {
        let calls = self.memory.as_ref()?.take_calls();
        for call in &calls {
            metadata.token_usage.add(Usage {
                input: call.input,
                output: call.output,
                cached: call.cached,
                written: call.written,
            });
            let credits = message_credits(call.cost).get();
            metadata.credits_spent = metadata.credits_spent.saturating_add(credits);
        }
        calls.iter().map(|call| call.task).max()
    }
}

/// Gives a memory the messages that it does not know, such as those from before the thread
/// had one.
pub(super) async fn catch_up(
    store: OrgStore<'_>,
    thread: ThreadId,
    memory: &ThreadMemory,
    items: &[(i64, Item, MessageOrigin)],
) -> Result<(), HarnessError> {
    let last = memory.last_message();
    let unknown: Vec<MemoryMessage> = items
        .iter()
        .filter(|(seq, ..)| *seq > last)
        .map(|(seq, item, origin)| memory_message(*seq, item, *origin, Trust::Trusted))
        .collect();
    if unknown.is_empty() {
        return Ok(());
    }
    store.append_memory_messages(thread, unknown.clone()).await?;
    unknown.iter().for_each(|message| memory.on_message(message));
    Ok(())
}
