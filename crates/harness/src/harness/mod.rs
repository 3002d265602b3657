//! The harness object and its operations.

mod context;
mod control;
mod detached;
mod files;
mod memory;
mod modes;
mod permissions;
mod state;
mod subagents;
mod threads;

pub use control::{MessageInput, StartedTurn};
pub(crate) use detached::run_to_end;
pub use files::read_image;
pub use modes::ModelScope;
pub(crate) use subagents::MAX_RUNS;
pub use subagents::SubagentRun;
pub use threads::read_messages;

use std::marker::PhantomData;
use std::sync::{Arc, RwLock};

use ostler_domain::id::{RunId, ThreadId};
use ostler_store::{Store, StoreError};
use ostler_workspace::undo::RestoreReport;

use crate::clock;
use crate::config::{HarnessBuilder, HarnessConfig};
use crate::error::{ConfigError, HarnessError};
use crate::event::{CurrentEvents, EventHub, Subscription};
use crate::heartbeat::{HeartbeatHandler, Heartbeats};
use crate::permissions::HarnessPermissions;
use crate::request::HarnessRequestContext;
use crate::session::{
    ApprovalResponse, Core, CurrentModel, OpenAsk, PlanResponse, Session, TurnStatus,
};
use crate::state::{HarnessStateSchema, YOLO};
use crate::thread::HarnessThread;
use crate::usage::TokenUsage;
use crate::workspace::OpenWorkspace;

/// A state without fields of its own.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct NoState {}

/// An interactive harness. Clones share everything.
pub struct Harness<S = NoState> {
    pub(crate) core: Arc<Core>,
    state: PhantomData<fn() -> S>,
}

impl<S> Clone for Harness<S> {
    fn clone(&self) -> Self {
        Self { core: self.core.clone(), state: PhantomData }
    }
}

impl<S> std::fmt::Debug for Harness<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Harness").field(&self.core.config).finish()
    }
}

/// What a harness works on.
#[derive(Debug, Clone, PartialEq)]
pub struct HarnessSession {
    pub current_thread_id: Option<ThreadId>,
    pub current_mode_id: String,
    pub current_model_id: Option<String>,
    pub token_usage: TokenUsage,
    pub threads: Vec<HarnessThread>,
}

/// Opens the storage of threads: `sqlite:PATH`, `sqlite::memory:` or `postgres://…`. Tables
/// are created or brought up to date.
pub async fn open_storage(url: &str) -> Result<Store, StoreError> {
    let store = Store::connect(url)?;
    store.migrate().await?;
    Ok(store)
}

impl<S: HarnessStateSchema> Harness<S> {
    /// Begins the configuration of a harness.
    pub fn builder(id: impl Into<String>, storage: Store) -> HarnessBuilder<S> {
        HarnessBuilder::new(id.into(), storage)
    }
}

impl<S> Harness<S> {
    pub(crate) fn new(config: HarnessConfig) -> Result<Self, ConfigError> {
        let mode = config.default_mode().ok_or(ConfigError::NoMode)?;
        let (mode_id, model) = (mode.id.clone(), mode.default_model_id.clone());
        let state = config.initial_state.clone();
        let yolo = state.get(YOLO).is_some_and(|yolo| yolo == true);
        let permissions = HarnessPermissions::new(yolo, config.permission_rules.clone());
        let instance = clock::fresh_id(RunId::from_u128);
        let core = Core {
            holder: format!("{} (process {}, {})", config.id, std::process::id(), instance.short()),
            hub: Arc::new(EventHub::default()),
            permissions: Arc::new(permissions),
            state: RwLock::new(state),
            heartbeats: Heartbeats::default(),
            session: tokio::sync::Mutex::new(Session { mode: mode_id, ..Session::default() }),
            control: tokio::sync::Mutex::default(),
            committing: tokio::sync::Mutex::default(),
            open_workspace: OpenWorkspace::default(),
            current_model: Arc::new(CurrentModel {
                models: config.models.clone(),
                selected: RwLock::new(model),
            }),
            config,
        };
        let harness = Self { core: Arc::new(core), state: PhantomData };
        // Mistakes in tools and subagents are reported at once.
        if let Ok(mut session) = harness.core.session.try_lock() {
            harness.core.assemble(&mut session).map_err(|error| match error {
                HarnessError::Tools(error) => ConfigError::Tools(error),
                HarnessError::Subagents(error) => ConfigError::Subagents(error),
                other => ConfigError::InvalidState(other.to_string()),
            })?;
        }
        Ok(harness)
    }

    /// Loads what is stored for the resource, opens the workspace, and starts the
    /// heartbeats last. A repeat does nothing.
    pub async fn init(&self) -> Result<(), HarnessError> {
        self.run_detached(|harness| async move { harness.initialize().await }).await
    }

    async fn initialize(&self) -> Result<(), HarnessError> {
        let mut session = self.core.session.lock().await;
        if session.initialized {
            return Ok(());
        }
        self.load_settings(&mut session).await?;
        let scope = self.core.assemble(&mut session)?.scope;
        self.core.load_permission_files(&scope)?;
        self.core.open_workspace().await;
        session.initialized = true;
        drop(session);
        self.start_heartbeats();
        Ok(())
    }

    /// Subscribes to all events from now on.
    pub fn subscribe(&self) -> Subscription {
        Subscription::new(self.core.hub.clone(), self.core.clone(), None)
    }

    /// Subscribes to the durable events of a thread after a number, and then to all events.
    pub fn subscribe_after(&self, thread: ThreadId, id: i64) -> Subscription {
        Subscription::new(self.core.hub.clone(), self.core.clone(), Some((thread, id)))
    }

    /// Returns what is going on, for a reader that joins late.
    pub fn current_events(&self) -> CurrentEvents {
        self.core.hub.current()
    }

    /// Answers a call that needs approval, by the id of the call.
    pub async fn respond_to_tool_approval(
        &self,
        tool_call_id: &str,
        response: ApprovalResponse,
    ) -> Result<(), HarnessError> {
        let id = tool_call_id.to_owned();
        self.run_detached(
            |harness| async move { harness.core.answer_approval(&id, response).await },
        )
        .await
    }

    /// Answers a question.
    pub async fn respond_to_question(
        &self,
        question_id: &str,
        answer: impl Into<String>,
    ) -> Result<(), HarnessError> {
        let (id, answer) = (question_id.to_owned(), answer.into());
        self.run_detached(|harness| async move { harness.core.answer_question(&id, answer).await })
            .await
    }

    /// Answers a plan.
    pub async fn respond_to_plan_approval(
        &self,
        plan_id: &str,
        response: PlanResponse,
    ) -> Result<(), HarnessError> {
        let id = plan_id.to_owned();
        self.run_detached(|harness| async move { harness.core.answer_plan(&id, response).await })
            .await
    }

    /// Returns the questions that wait for an answer.
    pub async fn open_asks(&self) -> Vec<OpenAsk> {
        self.core.open_asks().await
    }

    /// Returns the files of the workspace that a turn worked in to what they were before it,
    /// also if another mode is the current one. Needs a workspace with a data folder.
    pub async fn restore_files(&self, turn: RunId) -> Result<RestoreReport, HarnessError> {
        let (agent, thread) = {
            let mut session = self.core.session.lock().await;
            let thread = session.thread.as_ref().ok_or(HarnessError::NoThread)?.info.id;
            (self.core.assemble(&mut session)?.agent, thread)
        };
        let request = HarnessRequestContext::new(&self.core, thread, turn);
        let workspace = self.core.workspace_of_turn(&agent, &request);
        let workspace = workspace.ok_or(HarnessError::NoWorkspace)?;
        let restored =
            tokio::task::spawn_blocking(move || workspace.restore(&turn.to_string())).await;
        match restored {
            Ok(report) => Ok(report?),
            Err(_) => Err(HarnessError::NoWorkspace),
        }
    }

    /// Starts the heartbeats of the configuration that are not running. `init` does this;
    /// it is for those that were stopped. Needs a Tokio runtime.
    pub fn start_heartbeats(&self) {
        for handler in &self.core.config.heartbeat_handlers {
            self.core.heartbeats.start(handler);
        }
    }

    /// Starts another heartbeat.
    pub fn register_heartbeat(&self, handler: &HeartbeatHandler) -> Result<(), HarnessError> {
        if self.core.heartbeats.start(handler) {
            Ok(())
        } else {
            Err(HarnessError::DuplicateHeartbeat(handler.id.clone()))
        }
    }

    /// Stops a heartbeat and calls its shutdown. Returns false if there is none of this id.
    pub async fn remove_heartbeat(&self, id: &str) -> bool {
        let id = id.to_owned();
        self.run_detached(|harness| async move { harness.core.heartbeats.stop(&id).await }).await
    }

    /// Stops all heartbeats and calls the shutdown of each.
    pub async fn stop_heartbeats(&self) {
        self.run_detached(|harness| async move { harness.core.heartbeats.stop_all().await }).await;
    }

    /// Lets go of the thread without ending its turn: questions stay open, and a turn that
    /// was answering is interrupted. The process that opens the thread next continues it.
    pub async fn suspend(&self) -> Result<(), HarnessError> {
        self.run_detached(|harness| async move {
            let _control = harness.core.control.lock().await;
            harness.stop_heartbeats().await;
            let mut session = harness.core.session.lock().await;
            let Some(thread) = session.thread.take() else { return Ok(()) };
            if let TurnStatus::Running(running) = &thread.turn {
                running.task.abort();
                let mut done = running.done.clone();
                while done.changed().await.is_ok() {}
            }
            harness.core.close_workspace();
            harness.core.release_thread(thread).await
        })
        .await
    }

    /// Aborts the turn, stops the heartbeats and lets go of the thread.
    pub async fn close(&self) -> Result<(), HarnessError> {
        self.run_detached(|harness| async move {
            let _control = harness.core.control.lock().await;
            harness.stop_turn().await;
            harness.core.heartbeats.stop_all().await;
            harness.core.close_workspace();
            let thread = harness.core.session.lock().await.thread.take();
            match thread {
                Some(thread) => harness.core.release_thread(thread).await,
                None => Ok(()),
            }
        })
        .await
    }
}
