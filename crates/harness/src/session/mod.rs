//! The core of a harness: its session, the open thread and the running turn.
//!
//! [`Core::session`] guards everything that belongs together. A running turn is a task of
//! its own ([`run`]); it takes the lock only to begin and to end. [`Core::control`]
//! serialises operations that stop a turn first, such as switching threads: they wait for
//! its end without holding the session.

mod answer;
mod assemble;
mod context;
mod files;
mod host;
mod open;
mod reservation;
mod run;
mod start;
mod window;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_domain::id::{RunId, ThreadId};
use ostler_domain::session::errors::ErrorState;
use ostler_domain::tool::Trust;
use ostler_engine::driver::TurnHandle;
use ostler_engine::history::Content;
use ostler_engine::model::Model;
use ostler_engine::turn::{AgentPath, EndReason, Models, Question, TurnEnd};
use ostler_store::{OrgStore, StoreError, ThreadCommit, ThreadEvents, ThreadLease};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::{Notify, watch};

pub use answer::{ApprovalResponse, OpenAsk, PlanResponse};
pub(crate) use assemble::Assembled;
pub(crate) use context::context_report;
pub(crate) use files::load_file;
use open::StoredTurn;
pub(crate) use window::Window;

use crate::clock;
use crate::config::HarnessConfig;
use crate::context::ThreadContext;
use crate::error::HarnessError;
use crate::event::{EventDetails, EventHub, EventKind, EventReader, HarnessEvent, HeldEvent};
use crate::heartbeat::Heartbeats;
use crate::message::MessageOrigin;
use crate::permissions::HarnessPermissions;
use crate::thread::HarnessThread;
use crate::workspace::OpenWorkspace;

/// How many events a reader of the store gets at once.
const EVENT_ROWS: u32 = 64;

/// Everything that the clones of a harness share.
pub(crate) struct Core {
    pub(crate) config: HarnessConfig,
    /// Identifies this harness in leases.
    pub(crate) holder: String,
    pub(crate) hub: Arc<EventHub>,
    pub(crate) permissions: Arc<HarnessPermissions>,
    pub(crate) state: RwLock<Map<String, Value>>,
    pub(crate) heartbeats: Heartbeats,
    pub(crate) session: tokio::sync::Mutex<Session>,
    pub(crate) control: tokio::sync::Mutex<()>,
    /// Commits come one after the other, so that each stores the events since the last.
    pub(crate) committing: tokio::sync::Mutex<()>,
    pub(crate) open_workspace: OpenWorkspace,
    /// The model that turns use at the moment.
    pub(crate) current_model: Arc<CurrentModel>,
}

/// The mutable part of a harness.
#[derive(Default)]
pub(crate) struct Session {
    pub(crate) initialized: bool,
    pub(crate) mode: String,
    pub(crate) subagent_models: BTreeMap<String, String>,
    pub(crate) thread: Option<OpenThread>,
    /// The tools and prompt of the last turn, which are kept while nothing they depend on
    /// changes.
    pub(crate) assembled: Option<Assembled>,
}

/// The thread that a harness works on.
pub(crate) struct OpenThread {
    pub(crate) info: HarnessThread,
    pub(crate) lease: ThreadLease,
    /// Renews the lease until it is dropped.
    pub(crate) _renewal: open::Renewal,
    pub(crate) window: Window,
    /// What the model was shown of the files for agents.
    pub(crate) context: ThreadContext,
    pub(crate) next_seq: i64,
    pub(crate) trust: Trust,
    pub(crate) errors: ErrorState,
    pub(crate) follow_ups: VecDeque<QueuedMessage>,
    pub(crate) turn: TurnStatus,
}

/// A message that waits in the queue of follow-ups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QueuedMessage {
    pub(crate) content: Vec<Content>,
    #[serde(default)]
    pub(crate) origin: MessageOrigin,
    /// Whether the first part is a text that a person has written, whose mentions of files
    /// are followed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_typed: bool,
}

/// Whether a turn is in progress.
pub(crate) enum TurnStatus {
    Idle,
    Running(RunningTurn),
    /// A turn of a process that is gone.
    Interrupted(Box<StoredTurn>),
}

/// A turn in progress, seen from outside.
pub(crate) struct RunningTurn {
    pub(crate) id: RunId,
    pub(crate) handle: TurnHandle,
    pub(crate) asks: Asks,
    /// Wakes the turn when an answer was given while it waited.
    pub(crate) answered: Arc<Notify>,
    pub(crate) done: watch::Receiver<Option<TurnOutcome>>,
    /// Whether the queue is continued after the turn, even if it was aborted.
    pub(crate) continue_queue: bool,
    /// Whether the mode changes to the default one after the turn.
    pub(crate) plan_approved: bool,
    /// Whether nothing is started after the turn.
    pub(crate) hold: bool,
    pub(crate) assembled: Assembled,
    pub(crate) task: tokio::task::AbortHandle,
    /// Whether the turn does nothing but wait for a person.
    pub(crate) waits: Arc<AtomicBool>,
}

/// The open questions of a turn, by id.
pub(crate) type Asks = Arc<Mutex<BTreeMap<String, OpenQuestion>>>;

/// A question of a turn that waits for an answer.
#[derive(Debug, Clone)]
pub(crate) struct OpenQuestion {
    /// The calls that lead to the agent that asks.
    pub(crate) path: AgentPath,
    pub(crate) question: Question,
    /// How many earlier calls of the conversation the proposed rule covers.
    pub(crate) past_calls: usize,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnOutcome {
    pub turn: RunId,
    pub reason: EndReason,
    pub end: TurnEnd,
}

/// The models of a harness, with the one that is selected at the moment.
pub(crate) struct CurrentModel {
    pub(crate) models: Arc<dyn Models>,
    pub(crate) selected: RwLock<Option<String>>,
}

impl CurrentModel {
    pub(crate) fn get(&self) -> Option<String> {
        self.selected.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set(&self, model: Option<String>) {
        *self.selected.write().unwrap_or_else(PoisonError::into_inner) = model;
    }
}

impl Models for CurrentModel {
    fn model(&self, name: Option<&str>) -> Option<Arc<dyn Model>> {
        match name {
            Some(name) => self.models.model(Some(name)),
            None => self.models.model(self.get().as_deref()),
        }
    }
}

impl Core {
    /// Returns the store of the org that threads belong to.
    pub(crate) fn org(&self) -> ostler_store::OrgStore<'_> {
        self.config.storage.org(self.config.org)
    }

    /// Returns the details of an event that belongs to no turn.
    pub(crate) fn details(&self, thread: Option<ThreadId>) -> EventDetails {
        EventDetails {
            id: None,
            at: clock::now(),
            thread_id: thread,
            turn_id: None,
            path: Vec::new(),
            more: Map::new(),
        }
    }

    /// Publishes an event.
    pub(crate) fn publish(&self, thread: Option<ThreadId>, kind: impl Into<EventKind>) {
        self.hub.publish(kind.into(), self.details(thread));
    }

    /// Commits a change of a thread together with the events that are not stored yet.
    pub(crate) async fn commit(
        &self,
        lease: ThreadLease,
        change: ThreadCommit,
    ) -> Result<(), StoreError> {
        self.commit_with_events(lease, change, Vec::new()).await.map(drop)
    }

    /// Commits a change of a thread together with events that report it, and those that are
    /// not stored yet. Returns the events of the change; readers wait until the caller
    /// publishes them.
    pub(crate) async fn commit_with_events(
        &self,
        lease: ThreadLease,
        mut change: ThreadCommit,
        events: Vec<(EventKind, EventDetails)>,
    ) -> Result<Vec<HeldEvent>, StoreError> {
        let _committing = self.committing.lock().await;
        // Now, so that no other commit stores them.
        let held: Vec<HeldEvent> =
            events.into_iter().map(|(kind, details)| self.hub.hold(kind, details)).collect();
        let unsaved = self.hub.unsaved_after(i64::MIN);
        let last = unsaved.last().and_then(|event| event.ext.id);
        if let Some(last_id) = last {
            let events = serde_json::to_string(&unsaved).unwrap_or_default();
            change.events = Some(ThreadEvents { last_id, events });
        }
        self.org().commit_thread(lease, change).await?;
        if let Some(last) = last {
            self.hub.mark_saved(last);
        }
        Ok(held)
    }

    /// Stores the metadata of the open thread, and its queue.
    pub(crate) async fn commit_metadata(&self, thread: &OpenThread) -> Result<(), HarnessError> {
        let change = ThreadCommit {
            title: thread.info.title.clone(),
            metadata: Some(json(&thread.info.metadata)),
            follow_ups: Some(json(&thread.follow_ups)),
            ..ThreadCommit::new(RunId::from_u128(0))
        };
        self.commit(thread.lease, change).await.map_err(lost)
    }

    /// Returns the state.
    pub(crate) fn state(&self) -> Map<String, Value> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl EventReader for Core {
    fn events_after(&self, thread: ThreadId, after: i64) -> BoxFuture<'_, Vec<Arc<HarnessEvent>>> {
        async move {
            // First, because events that are stored in between would be in neither.
            let unsaved = self.hub.unsaved_after(after);
            let stored = read_events(self.org(), thread, after).await.unwrap_or_else(|error| {
                tracing::warn!(%error, "events of a thread cannot be read");
                Vec::new()
            });
            if stored.is_empty() {
                let is_of = |event: &Arc<HarnessEvent>| event.ext.thread_id == Some(thread);
                return unsaved.into_iter().filter(is_of).collect();
            }
            stored
        }
        .boxed()
    }
}

/// Reads stored events of a thread after a number, in order, without a harness; none if there
/// are no more. The caller checks whose thread it is.
pub async fn read_events(
    store: OrgStore<'_>,
    thread: ThreadId,
    after: i64,
) -> Result<Vec<Arc<HarnessEvent>>, StoreError> {
    let rows = store.thread_events(thread, after, EVENT_ROWS).await?;
    let events = rows
        .iter()
        .flat_map(|row| serde_json::from_str::<Vec<HarnessEvent>>(&row.events).unwrap_or_default());
    Ok(events.filter(|event| event.ext.id > Some(after)).map(Arc::new).collect())
}

/// Serializes a value that always can be.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Turns a refused commit into the error for the user.
pub(crate) fn lost(error: StoreError) -> HarnessError {
    match error {
        StoreError::StaleLease => HarnessError::ThreadLost,
        other => HarnessError::Store(other),
    }
}
