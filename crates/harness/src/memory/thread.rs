//! The memory of one thread, as the harness uses it.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_domain::id::{OrgId, ThreadId};
use ostler_domain::memory::window::{MemoryTask, WindowMessage};
use ostler_domain::memory::{MemorySettings, MemorySettingsError};
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::time::Timestamp;
use ostler_engine::tool::Tool;
use ostler_engine::turn::Models;
use ostler_store::{
    MemoryCall, MemoryMessage, OrgStore, RecalledMessage, Store, StoreError, StoredThreadMemory,
};
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::event::{MemoryEvent, MemoryPart, OmActivation, OmOperation, OmStatus, OmTask};
use super::prompt::MemoryPrompt;
use super::recall::RecallTool;
use super::state::MemoryState;
use super::worker;

/// Receives the events of a thread's memory. It must not block.
pub type MemoryEventSink = Arc<dyn Fn(MemoryEvent) + Send + Sync>;

/// What the memory of a thread works with.
#[derive(Clone)]
pub struct MemoryOptions {
    pub store: Store,
    pub org: OrgId,
    pub thread: ThreadId,
    /// The models of the observer and the reflector, by the names in the settings.
    pub models: Arc<dyn Models>,
    /// The settings of a thread that has none of its own.
    pub settings: MemorySettings,
    /// What one call of the observer or the reflector may cost.
    pub budget: TurnBudget,
    pub events: MemoryEventSink,
    pub now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl fmt::Debug for MemoryOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { org, thread, settings, .. } = self;
        f.debug_struct("MemoryOptions")
            .field("org", org)
            .field("thread", thread)
            .field("settings", settings)
            .finish_non_exhaustive()
    }
}

/// The memory of one thread. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ThreadMemory {
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) options: MemoryOptions,
    state: Mutex<MemoryState>,
    /// Held while events are published, so that they keep their order.
    publishing: Mutex<()>,
    /// Notified when the background has nothing more to do.
    pub(super) idle: Notify,
    runtime: Handle,
}

impl ThreadMemory {
    /// Loads the memory of a thread: windows, counts, generation and uncharged calls. A task
    /// that was running when its process ended is reported as failed and tried again later.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    ///
    /// # Panics
    ///
    /// Panics outside a Tokio runtime.
    pub async fn load(options: MemoryOptions) -> Result<Self, StoreError> {
        let stored = options.store.org(options.org).thread_memory(options.thread).await?;
        Ok(Self::restore(options, stored))
    }

    fn restore(options: MemoryOptions, stored: StoredThreadMemory) -> Self {
        let interrupted = stored.progress.running.clone();
        let state = MemoryState::new(stored, &options);
        let (idle, runtime) = (Notify::new(), Handle::current());
        let (state, publishing) = (Mutex::new(state), Mutex::new(()));
        let shared = Arc::new(Shared { options, state, publishing, idle, runtime });
        if let Some(task) = interrupted {
            worker::fail(&shared, &task, "the process ended during the task", None, None);
        }
        shared.wake(&mut shared.lock());
        Self { shared }
    }

    /// Adds a message that was stored. Repeating one has no effect.
    pub fn on_message(&self, message: &MemoryMessage) {
        let MemoryMessage { seq, tokens, continues, .. } = *message;
        let mut state = self.shared.lock();
        state.window.push(WindowMessage { seq, tokens, continues });
        self.shared.wake(&mut state);
    }

    /// Returns the sequence number of the newest message that the memory knows; 0 if it knows
    /// none. Later messages of the thread, such as those from before it had a memory, are to
    /// be added after [`load`](Self::load).
    pub fn last_message(&self) -> i64 {
        self.shared.lock().window.newest()
    }

    /// Returns what the prompt of a turn consists of.
    pub fn prompt(&self) -> MemoryPrompt {
        let state = self.shared.lock();
        let tail_start = state.window.tail_start();
        let head = (tail_start > 1).then(|| state.head.clone());
        MemoryPrompt { head, tail_start, trust: state.trust }
    }

    /// Puts finished observations in the place of their messages if the window is full, and
    /// returns whether it did. To be called before each turn.
    pub fn activate_if_ready(&self) -> bool {
        let shared = &self.shared;
        let mut state = shared.lock();
        let Some(activation) = state.activate() else { return false };
        let ext = OmActivation {
            operation_type: OmOperation::Observation,
            thread_id: shared.options.thread,
            chunks_activated: activation.chunks,
            span: activation.span,
            tokens_activated: activation.message_tokens,
            observation_tokens: activation.observation_tokens,
        };
        state.events.push_back(MemoryEvent::Activation { ext });
        state.push_status(shared.options.thread);
        shared.wake(&mut state);
        drop(state);
        shared.publish();
        true
    }

    /// Returns the state of the memory during a step of a turn.
    pub fn status(&self, step: u64) -> OmStatus {
        let mut state = self.shared.lock();
        state.step = step;
        state.status(self.shared.options.thread)
    }

    /// Returns the thresholds and models of this thread.
    pub fn settings(&self) -> MemorySettings {
        self.shared.lock().window.settings().clone()
    }

    /// Changes the thresholds and models of this thread, and stores them in the background.
    pub fn set_settings(&self, settings: MemorySettings) -> Result<(), MemorySettingsError> {
        settings.check()?;
        let mut state = self.shared.lock();
        state.window.set_settings(settings);
        state.has_own_settings = true;
        state.unsaved.is_dirty = true;
        self.shared.wake(&mut state);
        Ok(())
    }

    /// Changes the thresholds and models of a thread that has none of its own. They are not
    /// stored.
    pub(crate) fn set_default_settings(&self, settings: MemorySettings) {
        let mut state = self.shared.lock();
        if !state.has_own_settings && *state.window.settings() != settings {
            state.window.set_settings(settings);
            self.shared.wake(&mut state);
        }
    }

    /// Sets what one call of the observer or the reflector may cost from now on.
    pub fn set_budget(&self, budget: TurnBudget) {
        self.shared.lock().budget = budget;
    }

    /// Removes and returns the calls of models that are not charged yet. After charging them,
    /// mark them with [`OrgStore::mark_memory_calls_charged`]; otherwise the next process
    /// returns them again.
    pub fn take_calls(&self) -> Vec<MemoryCall> {
        std::mem::take(&mut self.shared.lock().calls)
    }

    /// Returns the tool that searches messages that have left the prompt.
    pub fn recall_tool(&self) -> Arc<dyn Tool> {
        Arc::new(RecallTool::new(self.shared.clone()))
    }

    /// Waits until the background has nothing to do at the moment.
    pub async fn idle(&self) {
        loop {
            let notified = self.shared.idle.notified();
            if !self.shared.lock().is_working {
                return;
            }
            notified.await;
        }
    }
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, MemoryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn org(&self) -> OrgStore<'_> {
        self.options.store.org(self.options.org)
    }

    pub(super) fn now(&self) -> Timestamp {
        (self.options.now)()
    }

    /// Publishes the events of the state in their order. If another thread is publishing,
    /// it publishes them too.
    pub(super) fn publish(&self) {
        while !self.lock().events.is_empty() {
            let Ok(_publishing) = self.publishing.try_lock() else { return };
            while let Some(event) = self.next_event() {
                (self.options.events)(event);
            }
        }
    }

    fn next_event(&self) -> Option<MemoryEvent> {
        self.lock().events.pop_front()
    }

    /// Starts the background if there is something to do.
    pub(super) fn wake(self: &Arc<Self>, state: &mut MemoryState) {
        if state.is_working || state.is_lost {
            return;
        }
        if let Some(work) = state.next_work(self.now()) {
            state.is_working = true;
            self.runtime.spawn(worker::run(self.clone(), work));
        }
    }

    /// Searches the messages that are not in the prompt.
    pub(super) async fn recall(
        &self,
        query: &str,
        limit: u32,
    ) -> Result<Vec<RecalledMessage>, StoreError> {
        let before = self.lock().window.tail_start();
        self.org().recall_messages(self.options.thread, before, query, limit).await
    }

    /// Returns the task as its events show it.
    pub(super) fn task_event(&self, task: &MemoryTask) -> OmTask {
        OmTask::new(self.options.thread, task)
    }
}

/// Returns the last stored status of a thread's memory, `None` if it never did anything.
pub async fn load_om_progress(
    store: &Store,
    org: OrgId,
    thread: ThreadId,
) -> Result<Option<OmStatus>, StoreError> {
    let Some(text) = store.org(org).thread_memory_status(thread).await? else { return Ok(None) };
    match serde_json::from_str(&text) {
        Ok(MemoryPart::Status(status)) => Ok(Some(status)),
        Ok(_) => Ok(None),
        Err(error) => {
            Err(StoreError::CorruptValue { what: "memory status", why: error.to_string() })
        }
    }
}
