//! What a tool of a harness finds in its context.

use std::sync::{Arc, PoisonError, Weak};

use ostler_domain::id::{RunId, ThreadId};
use ostler_engine::extensions::Extensions;
use ostler_workspace::workspace::Workspace;
use serde_json::{Map, Value};

use crate::error::HarnessError;
use crate::event::EventKind;
use crate::mode::HarnessAgent;
use crate::session::Core;
use crate::task::TaskItem;

/// The harness as its tools see it: `context.extensions.get::<HarnessRequestContext>()`.
pub struct HarnessRequestContext {
    pub thread_id: ThreadId,
    pub turn_id: RunId,
    core: Weak<Core>,
    workspace: Option<Arc<Workspace>>,
}

impl HarnessRequestContext {
    pub(crate) fn new(core: &Arc<Core>, thread: ThreadId, turn: RunId) -> Self {
        Self { thread_id: thread, turn_id: turn, core: Arc::downgrade(core), workspace: None }
    }

    pub(crate) fn extensions(
        core: &Arc<Core>,
        agent: &HarnessAgent,
        thread: ThreadId,
        turn: RunId,
    ) -> Extensions {
        let request = Self::new(core, thread, turn);
        let workspace = core.workspace_of(agent, &request);
        let extensions = match &workspace {
            Some(workspace) => Extensions::default().with(workspace.clone()),
            None => Extensions::default(),
        };
        extensions.with(Arc::new(Self { workspace, ..request }))
    }

    /// Publishes an event of this turn.
    pub(crate) fn publish(&self, kind: impl Into<EventKind>) {
        if let Some(core) = self.core.upgrade() {
            let mut details = core.details(Some(self.thread_id));
            details.turn_id = Some(self.turn_id);
            core.hub.publish(kind.into(), details);
        }
    }

    /// Returns the workspace of the turn. While one is chosen for the turn, there is none.
    pub const fn workspace(&self) -> Option<&Arc<Workspace>> {
        self.workspace.as_ref()
    }

    /// Returns the state of the harness.
    pub fn state(&self) -> Map<String, Value> {
        self.core.upgrade().map(|core| core.state()).unwrap_or_default()
    }

    /// Returns the task list.
    pub fn tasks(&self) -> Vec<TaskItem> {
        self.core.upgrade().map(|core| core.tasks()).unwrap_or_default()
    }

    /// Replaces the task list.
    pub async fn set_tasks(&self, tasks: Vec<TaskItem>) -> Result<(), HarnessError> {
        match self.core.upgrade() {
            Some(core) => core.set_tasks(self.thread_id, tasks).await,
            None => Err(HarnessError::ThreadClosed(self.thread_id)),
        }
    }
}

impl std::fmt::Debug for HarnessRequestContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HarnessRequestContext")
            .field("thread_id", &self.thread_id)
            .field("turn_id", &self.turn_id)
            .finish_non_exhaustive()
    }
}

impl Core {
    /// Returns the task list.
    pub(crate) fn tasks(&self) -> Vec<TaskItem> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let tasks = state.get(crate::state::TASKS).cloned().unwrap_or_default();
        serde_json::from_value(tasks).unwrap_or_default()
    }
}
