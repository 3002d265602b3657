//! Observational memory of threads: messages as text, observations, the progress of the
//! window, and the search for messages that have left the prompt.
//!
//! Messages are added with the turn that they belong to. They are indexed for the search
//! later, in the background or by the first search, so that a turn does not wait for it.
//! Nothing is deleted when messages are condensed.

mod commit;
mod load;
pub(crate) mod messages;
pub(crate) mod recall;

use ostler_domain::id::ThreadId;
use ostler_domain::memory::observation::Speaker;
use ostler_domain::memory::window::{MemoryProgress, WindowMessage};
use ostler_domain::memory::{MemorySettings, MessageOrigin, MessageSpan, Observation};
use ostler_domain::money::Usd;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::Trust;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::OrgStore;
use crate::backend::job::StoreFuture;
use crate::backend::value::{Row, Value};
use crate::error::{Result, StoreError};

/// A message of a thread, as the memory keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryMessage {
    pub seq: i64,
    pub speaker: Speaker,
    pub origin: MessageOrigin,
    pub trust: Trust,
    /// Whether it belongs to the message before it, like the results of calls.
    pub continues: bool,
    /// The tokens that it takes in a prompt.
    pub tokens: u64,
    pub text: String,
}

/// Where an observation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObservationState {
    /// It waits for activation.
    Buffered,
    /// It is in the prompt.
    Active,
    /// Another observation has replaced it.
    Superseded,
    /// It left a prompt that was full.
    Retired,
}

/// A stored observation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredObservation {
    pub observation: Observation,
    pub state: ObservationState,
    /// The tokens of its line in the prompt.
    pub tokens: u64,
    /// The reflection that it comes from; 0 if it was observed.
    pub generation: u64,
}

/// Who used a model for the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryPurpose {
    Observer,
    Reflector,
}

impl MemoryPurpose {
    /// Returns the name under which the cost is recorded.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Observer => "observer",
            Self::Reflector => "reflector",
        }
    }
}

/// The use of a model by the memory, to be charged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryCall {
    /// The number of the task.
    pub task: u64,
    pub purpose: MemoryPurpose,
    /// Empty for the thread's own model.
    pub model: String,
    pub at: Timestamp,
    /// All input tokens, including cached ones.
    pub input: u64,
    pub output: u64,
    pub cached: u64,
    /// The input tokens written to a cache.
    pub written: u64,
    pub cost: Usd,
}

/// The stored memory of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredThreadMemory {
    /// Grows with each change; 0 if nothing is stored.
    pub revision: i64,
    pub progress: MemoryProgress,
    /// The settings of this thread, if it has its own.
    pub settings: Option<MemorySettings>,
    /// The active and buffered observations, oldest first.
    pub observations: Vec<StoredObservation>,
    pub next_observation: u64,
    /// The messages in the prompt.
    pub tail: Vec<WindowMessage>,
    /// The calls that are not charged yet, oldest first.
    pub uncharged: Vec<MemoryCall>,
}

/// A change of a thread's memory.
#[derive(Debug, Clone)]
pub struct MemoryCommit {
    pub thread: ThreadId,
    /// The revision that was read.
    pub revision: i64,
    pub progress: MemoryProgress,
    pub settings: Option<MemorySettings>,
    /// The `data-om-status` part, as JSON.
    pub status: String,
    pub added: Vec<StoredObservation>,
    /// Buffered observations up to this number are active now.
    pub activated_to: u64,
    /// Pairs of an observation and the one that replaced it.
    pub superseded: Vec<(u64, u64)>,
    /// Observations that left the prompt.
    pub retired: Vec<u64>,
    pub calls: Vec<MemoryCall>,
}

/// A message found by a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecalledMessage {
    pub message: MemoryMessage,
    /// A part of the text, around a searched word if it has one.
    pub excerpt: String,
    /// Higher is better; never 0.
    pub relevance: u32,
}

impl OrgStore<'_> {
    /// Adds messages of a thread. One that is there already is not changed.
    pub fn append_memory_messages(
        &self,
        thread: ThreadId,
        added: Vec<MemoryMessage>,
    ) -> StoreFuture<()> {
        let org = self.org;
        self.write(move |tx| tx.batch(&messages::inserts(org, thread, &added)?).map(|_| ()))
    }

    /// Returns the messages of a span, oldest first.
    pub fn memory_messages(
        &self,
        thread: ThreadId,
        span: MessageSpan,
    ) -> StoreFuture<Vec<MemoryMessage>> {
        let params = [thread.into(), span.first.into(), span.last.into()];
        self.rows(&messages::SPAN, params, messages::read_message)
    }

    /// Returns the memory of a thread; that of a thread without one is empty.
    pub fn thread_memory(&self, thread: ThreadId) -> StoreFuture<StoredThreadMemory> {
        let org = self.org;
        self.read(move |tx| load::load(tx, org, thread))
    }

    /// Returns the last stored `data-om-status` part of a thread, as JSON.
    pub async fn thread_memory_status(&self, thread: ThreadId) -> Result<Option<String>> {
        let status = self.optional(&load::STATUS, [thread.into()], load::read_status);
        Ok(status.await?.flatten())
    }

    /// Changes the memory of a thread and returns its new revision. Repeating a commit that
    /// was the last one has no effect. Fails with [`StoreError::Conflict`] if another process
    /// has changed the memory since.
    pub fn commit_memory(&self, change: MemoryCommit) -> StoreFuture<i64> {
        let org = self.org;
        self.write(move |tx| commit::commit(tx, org, &change))
    }

    /// Marks the calls of a thread up to a task as charged, and returns how many.
    pub fn mark_memory_calls_charged(&self, thread: ThreadId, up_to: u64) -> StoreFuture<u64> {
        self.execute(&commit::MARK_CHARGED, [thread.into(), number(up_to)])
    }

    /// Returns every observation of a thread, also those that left the prompt.
    pub fn observations(&self, thread: ThreadId) -> StoreFuture<Vec<StoredObservation>> {
        self.rows(&load::ALL_OBSERVATIONS, [thread.into()], load::read_observation)
    }

    /// Adds the messages of a thread up to `up_to` to the search index, and returns how many
    /// were added. Those of the harness itself are left out.
    pub async fn index_memory_messages(&self, thread: ThreadId, up_to: i64) -> Result<u64> {
        let (org, mut added) = (self.org, 0);
        loop {
            match self.write(move |tx| recall::index_batch(tx, org, thread, up_to)).await? {
                0 => return Ok(added),
                count => added += count,
            }
        }
    }

    /// Returns the messages of a thread before `before` with a word of `question`, best match
    /// first. `question` is plain text without operators.
    pub async fn recall_messages(
        &self,
        thread: ThreadId,
        before: i64,
        question: &str,
        limit: u32,
    ) -> Result<Vec<RecalledMessage>> {
        self.index_memory_messages(thread, before - 1).await?;
        let (org, words) = (self.org, ostler_domain::knowledge::search::query_words(question));
        self.read(move |tx| recall::search(tx, org, thread, before, &words, limit as usize)).await
    }
}

/// Returns a count as a parameter.
fn number(value: u64) -> Value {
    Value::Int(i64::try_from(value).unwrap_or(i64::MAX))
}

/// Reads a count.
fn count(row: &Row, column: usize) -> Result<u64> {
    row.int(column).map(|value| u64::try_from(value).unwrap_or(0))
}

/// Returns the name of an enum's variant as a parameter.
fn name(value: &impl Serialize) -> Result<Value> {
    match Value::json(value)? {
        Value::Text(text) => Ok(text.trim_matches('"').into()),
        other => Ok(other),
    }
}

/// Reads an enum from the name of its variant.
fn named<T: DeserializeOwned>(row: &Row, column: usize, what: &'static str) -> Result<T> {
    let text = serde_json::Value::from(row.text(column)?);
    serde_json::from_value(text)
        .map_err(|error| StoreError::CorruptValue { what, why: error.to_string() })
}
