//! Opening a thread: taking its lease, reading its messages, and finding a turn that was
//! not finished.

use std::collections::VecDeque;
use std::sync::Arc;

use ostler_domain::id::{RunId, ThreadId};
use ostler_domain::memory::{MemorySettings, MessageOrigin};
use ostler_domain::session::errors::ErrorState;
use ostler_domain::tool::Trust;
use ostler_engine::history::{CallId, Content, Item};
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::turn::{AgentPath, KnownOutcomes, LoadError, Turn};
use ostler_store::{JournalEntry, JournalKind, StoreError, ThreadClaim, ThreadLease};
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;

use super::answer::StoredAnswer;
use super::files::LoadedFiles;
use super::window::catch_up;
use super::{Core, OpenThread, QueuedMessage, TurnStatus, Window, lost};
use crate::clock;
use crate::context::ThreadContext;
use crate::error::HarnessError;
use crate::event::{EventDetails, OmEvent};
use crate::memory::{MemoryEvent, MemoryOptions, ThreadMemory};
use crate::message::StoredItem;
use crate::mode::HarnessAgent;
use crate::thread::HarnessThread;

/// How many messages are read at once.
const PAGE: u32 = 1000;
/// Tokens that no window reaches.
const NEVER_FULL: u64 = 1 << 40;
/// A lease is renewed this many times before it would expire.
const RENEWALS: u32 = 3;

/// A turn that was stored before it ended.
pub(crate) struct StoredTurn {
    pub(crate) id: RunId,
    pub(crate) turn: Turn,
    pub(crate) outcomes: KnownOutcomes,
    pub(crate) answers: Vec<StoredAnswer>,
    /// How many messages the thread had when the turn began.
    pub(crate) first_seq: i64,
}

impl StoredTurn {
    /// Returns whether the turn waits for a person, or was answered by one: then it is
    /// continued without being asked to.
    pub(crate) fn waits_for_people(&self) -> bool {
        self.turn.waits_for_people() || !self.answers.is_empty()
    }
}

/// A message with its number.
type StoredMessage = (i64, Item, MessageOrigin);

/// The outcome of an external call, in the journal.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredOutcome {
    pub(super) path: AgentPath,
    pub(super) call: CallId,
    pub(super) outcome: ToolOutcome,
}

/// Renews a lease until it is dropped.
pub(crate) struct Renewal(JoinHandle<()>);

impl Drop for Renewal {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Core {
    /// Takes the lease of a thread and reads it.
    pub(crate) async fn open_thread(
        self: &Arc<Self>,
        id: ThreadId,
    ) -> Result<OpenThread, HarnessError> {
        let claim = self.org().claim_thread(id, &self.holder, self.config.lease).await;
        let (lease, follow_ups, journal) = match claim {
            Ok(ThreadClaim::Claimed { lease, follow_ups, journal }) => (lease, follow_ups, journal),
            Ok(ThreadClaim::Held { holder, until }) => {
                return Err(HarnessError::ThreadInUse { holder, until });
            }
            Err(StoreError::NotFound(_)) => return Err(HarnessError::UnknownThread(id)),
            Err(other) => return Err(other.into()),
        };
        let renewal = self.renew(lease);
        let stored = self.org().thread(id).await?.ok_or(HarnessError::UnknownThread(id))?;
        let info = HarnessThread::from(stored);
        if info.resource_id != self.config.resource_id {
            self.org().release_thread(lease).await?;
            return Err(HarnessError::UnknownThread(id));
        }
        let mut files = LoadedFiles::default();
        let mut window = self.read_window(id, &mut files).await?;
        let (next_seq, trust) = (info.message_count + 1, window.trust());
        let mut turn = read_journal(journal, &mut window, next_seq)?;
        if let Some(stored) = turn.as_mut() {
            files.fill_turn(&mut stored.turn);
        }
        // A queue that cannot be read must not hide the thread.
        let mut follow_ups: VecDeque<QueuedMessage> = serde_json::from_str(&follow_ups)
            .unwrap_or_else(|error| {
                tracing::warn!(%error, "the follow-ups of a thread cannot be read");
                VecDeque::new()
            });
        let queued = follow_ups.iter_mut().flat_map(|message| &mut message.content);
        files.load(self.org(), id, queued).await?;
        Ok(OpenThread {
            info,
            lease,
            _renewal: renewal,
            window,
            context: ThreadContext::default(),
            next_seq,
            trust,
            errors: ErrorState::default(),
            follow_ups,
            turn: turn.map_or(TurnStatus::Idle, |turn| TurnStatus::Interrupted(Box::new(turn))),
        })
    }

    fn renew(&self, lease: ThreadLease) -> Renewal {
        let (store, org, ttl) = (self.config.storage.clone(), self.config.org, self.config.lease);
        Renewal(tokio::spawn(async move {
            loop {
                tokio::time::sleep(ttl / RENEWALS).await;
                match store.org(org).renew_thread(lease, ttl).await {
                    Ok(()) => {}
                    // The next commit fails and says so.
                    Err(StoreError::StaleLease) => return,
                    Err(error) => tracing::warn!(%error, "the lease of a thread was not renewed"),
                }
            }
        }))
    }

    /// Reads the conversation of a thread, as far as it is shown to the model.
    async fn read_window(
        &self,
        id: ThreadId,
        files: &mut LoadedFiles,
    ) -> Result<Window, HarnessError> {
        let memory = self.load_memory(id).await?;
        let first = memory
            .as_ref()
            .map_or(1, |memory| memory.prompt().tail_start.min(memory.last_message() + 1));
        let mut items = self.read_items(id, first).await?;
        let content = items.iter_mut().flat_map(|(_, item, _)| content_of(item));
        files.load(self.org(), id, content).await?;
        if let Some(memory) = &memory {
            catch_up(self.org(), id, memory, &items).await?;
        }
        let items = items.into_iter().map(|(_, item, _)| item).collect();
        Ok(Window::new(items, first, memory))
    }

    /// Reads messages of a thread from a number on.
    async fn read_items(
        &self,
        id: ThreadId,
        first: i64,
    ) -> Result<Vec<StoredMessage>, HarnessError> {
        let (mut items, mut is_whole) = (Vec::new(), true);
        let mut after = first - 1;
        loop {
            let page = self.org().thread_messages(id, after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            for message in &page {
                match serde_json::from_str::<StoredItem>(&message.message) {
                    Ok(stored) => items.push((message.seq, stored.item, stored.origin)),
                    // One message must not hide the thread.
                    Err(error) => {
                        is_whole = false;
                        tracing::warn!(thread = %id, seq = message.seq, %error, "a message cannot be read");
                    }
                }
            }
        }
        Ok(if is_whole { items } else { without_halves(items) })
    }

    /// Returns how threads remember while an agent answers: as it says, or else as the
    /// harness says, or else not at all.
    pub(super) fn memory_settings(&self, agent: Option<&HarnessAgent>) -> MemorySettings {
        let own = agent.and_then(|agent| agent.memory.as_ref());
        match own.or(self.config.memory.as_ref()) {
            Some(memory) => memory.settings(),
            None => MemorySettings {
                observation_threshold: NEVER_FULL,
                reflection_threshold: NEVER_FULL,
                ..MemorySettings::default()
            },
        }
    }

    /// Loads the memory of a thread, if the harness or one of its agents has memories.
    async fn load_memory(&self, id: ThreadId) -> Result<Option<ThreadMemory>, HarnessError> {
        let state = self.config.state_schema.own_fields(&self.state());
        let mut agents = self.config.modes.iter().map(|mode| mode.agent(&state));
        if self.config.memory.is_none() && !agents.any(|agent| agent.memory.is_some()) {
            return Ok(None);
        }
        let hub = self.hub.clone();
        let publish = move |event: MemoryEvent| {
            let (kind, more) = OmEvent::split(&event);
            let details = EventDetails {
                id: None,
                at: clock::now(),
                thread_id: Some(id),
                turn_id: None,
                path: Vec::new(),
                more,
            };
            hub.publish(kind.into(), details);
        };
        let options = MemoryOptions {
            store: self.config.storage.clone(),
            org: self.config.org,
            thread: id,
            models: self.current_model.clone(),
            settings: self.memory_settings(None),
            budget: self.turn_budget(0),
            events: Arc::new(publish),
            now: Arc::new(clock::now),
        };
        Ok(Some(ThreadMemory::load(options).await?))
    }

    /// Lets go of a thread.
    pub(crate) async fn release_thread(&self, thread: OpenThread) -> Result<(), HarnessError> {
        self.commit_metadata(&thread).await?;
        self.org().release_thread(thread.lease).await.map_err(lost)
    }
}

/// Returns the trust of a conversation: that of the least trusted result in it.
pub(crate) fn trust_of(items: &[Item]) -> Trust {
    let results = items.iter().flat_map(|item| match item {
        Item::Results { results } => results.as_slice(),
        _ => &[],
    });
    results.map(|result| result.outcome.trust).fold(Trust::Trusted, Trust::after_reading)
}

/// Returns the parts of a message of a person.
fn content_of(item: &mut Item) -> &mut [Content] {
    match item {
        Item::User { content } => content,
        Item::Assistant { .. } | Item::Results { .. } => &mut [],
    }
}

/// Leaves out calls whose results are missing, and results whose calls are: providers reject
/// them.
fn without_halves(items: Vec<StoredMessage>) -> Vec<StoredMessage> {
    let calls = |item: &Item| matches!(item, Item::Assistant { calls, .. } if !calls.is_empty());
    let results = |item: &Item| matches!(item, Item::Results { .. });
    let mut kept: Vec<StoredMessage> = Vec::with_capacity(items.len());
    for item in items {
        let after_calls = kept.last().is_some_and(|(_, last, _)| calls(last));
        if after_calls && !results(&item.1) {
            kept.pop();
        }
        if after_calls || !results(&item.1) {
            kept.push(item);
        }
    }
    kept.pop_if(|(_, last, _)| calls(last));
    kept
}

/// Returns the turn that was not finished, if there is one.
fn read_journal(
    journal: Vec<JournalEntry>,
    window: &mut Window,
    first_seq: i64,
) -> Result<Option<StoredTurn>, HarnessError> {
    let Some(state) = journal.iter().find(|entry| entry.kind == JournalKind::State) else {
        return Ok(None);
    };
    let id = state.turn;
    let turn = match Turn::load_with_past(&state.data, window.copy()) {
        Ok(turn) => turn,
        // One that a newer program stored is left to it.
        Err(error @ LoadError::Newer { .. }) => return Err(error.into()),
        Err(error) => {
            tracing::warn!(turn = %id, %error, "an unfinished turn cannot be read");
            return Ok(None);
        }
    };
    let mut stored =
        StoredTurn { id, turn, outcomes: KnownOutcomes::new(), answers: Vec::new(), first_seq };
    for JournalEntry { kind, data, .. } in journal {
        match kind {
            JournalKind::State => {}
            JournalKind::Outcome => {
                let StoredOutcome { path, call, outcome } = read(&data)?;
                stored.outcomes.insert((path, call), outcome);
            }
            JournalKind::Answer => stored.answers.push(read(&data)?),
        }
    }
    Ok(Some(stored))
}

fn read<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, HarnessError> {
    serde_json::from_str(data).map_err(|error| HarnessError::UnreadableMessage(error.to_string()))
}
