//! Live drafts: the text that agents are writing at the moment, streamed inside the
//! process. Drafts are never stored; the committed message replaces them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_domain::id::{AgentId, ConversationId, OrgId, RunId, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

/// How many deltas a slow follower may be behind before it misses some.
const MAX_LAG: usize = 1024;

/// A content of what an agent is writing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Delta {
    pub org: OrgId,
    /// Known before the first session of the conversation is stored.
    pub conversation: ConversationId,
    pub session: SessionId,
    pub run: RunId,
    pub agent: AgentId,
    /// How many drafts of this run were discarded before.
    pub attempt: u32,
    #[serde(flatten)]
    pub content: DeltaContent,
}

/// What changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "delta", rename_all = "snake_case")]
pub enum DeltaContent {
    /// More text of the draft.
    Text {
        /// The length of the draft before this text, in bytes.
        offset: usize,
        text: String,
    },
    /// The draft so far is void.
    DraftDiscarded,
    /// The agent calls a tool.
    Calling { tool: String },
    /// The run is committed, with its messages.
    Over,
}

/// The drafts of a process and their followers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Deltas {
    deltas: broadcast::Sender<Delta>,
    drafts: Arc<Mutex<HashMap<RunId, Arc<Mutex<Delta>>>>>,
}

impl Default for Deltas {
    fn default() -> Self {
        Self { deltas: broadcast::channel(MAX_LAG).0, drafts: Arc::default() }
    }
}

impl Deltas {
    /// Subscribes to all deltas from now on.
    pub fn follow(&self) -> broadcast::Receiver<Delta> {
        self.deltas.subscribe()
    }

    /// Returns the current drafts of an org, each as one delta from its beginning. A
    /// follower that subscribes first and then reads the drafts misses nothing and sees
    /// some text twice.
    pub fn drafts(&self, org: OrgId) -> Vec<Delta> {
        let drafts: Vec<_> = lock(&self.drafts).values().cloned().collect();
        let ours = drafts.iter().map(|draft| lock(draft).clone()).filter(|one| one.org == org);
        ours.filter(|one| !one.content.is_empty()).collect()
    }

    /// Begins a draft, which ends when the returned stream is dropped.
    pub(crate) fn begin(&self, draft: Delta) -> DraftStream {
        let (run, draft) = (draft.run, Arc::new(Mutex::new(draft)));
        lock(&self.drafts).insert(run, draft.clone());
        DraftStream { deltas: self.clone(), run, draft }
    }

    pub(crate) fn send(&self, delta: Delta) {
        // There may be no follower.
        let _ = self.deltas.send(delta);
    }

    /// Returns whether there is any follower.
    pub fn is_followed(&self) -> bool {
        self.deltas.receiver_count() > 0
    }
}

impl DeltaContent {
    /// The beginning of a draft.
    pub(crate) const EMPTY: Self = Self::Text { offset: 0, text: String::new() };

    const fn is_empty(&self) -> bool {
        matches!(self, Self::Text { text, .. } if text.is_empty())
    }
}

/// A draft that an agent is writing.
#[derive(Debug)]
pub(crate) struct DraftStream {
    deltas: Deltas,
    run: RunId,
    draft: Arc<Mutex<Delta>>,
}

impl DraftStream {
    pub(crate) fn append(&self, more: &str) {
        let mut draft = lock(&self.draft);
        let DeltaContent::Text { text, .. } = &mut draft.content else { return };
        let offset = text.len();
        text.push_str(more);
        self.publish(&draft, || DeltaContent::Text { offset, text: more.to_owned() });
    }

    /// Discards the draft; another one may follow.
    pub(crate) fn discard(&self) {
        let mut draft = lock(&self.draft);
        draft.content = DeltaContent::EMPTY;
        draft.attempt += 1;
        self.publish(&draft, || DeltaContent::DraftDiscarded);
    }

    /// Publishes that a tool is being called.
    pub(crate) fn announce_call(&self, tool: &str) {
        self.publish(&lock(&self.draft), || DeltaContent::Calling { tool: tool.to_owned() });
    }

    fn publish(&self, draft: &Delta, content: impl FnOnce() -> DeltaContent) {
        if self.deltas.is_followed() {
            let Delta { org, conversation, session, run, agent, attempt, .. } = *draft;
            let content = content();
            self.deltas.send(Delta { org, conversation, session, run, agent, attempt, content });
        }
    }
}

impl Drop for DraftStream {
    fn drop(&mut self) {
        lock(&self.deltas.drafts).remove(&self.run);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
