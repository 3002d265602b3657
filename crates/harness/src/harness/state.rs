//! The state, the task list, and what is stored for the resource.

use std::sync::{Arc, PoisonError};

use ostler_domain::id::ThreadId;
use serde_json::{Map, Value};

use super::modes::SUBAGENT_MODELS;
use super::permissions::PERMISSION_RULES;
use super::{Harness, run_to_end};
use crate::error::HarnessError;
use crate::event::SessionEvent;
use crate::session::{Core, Session, json};
use crate::state::{CURRENT_MODEL, HarnessStateSchema, TASKS, YOLO};
use crate::task::TaskItem;

/// The setting that keeps the state.
const STATE: &str = "state";

impl<S: HarnessStateSchema> Harness<S> {
    /// Returns the embedder's part of the state.
    pub fn state(&self) -> S {
        let own = self.core.config.state_schema.own_fields(&self.core.state());
        S::deserialize(own).unwrap_or_default()
    }
}

impl<S> Harness<S> {
    /// Returns the whole state.
    pub fn state_json(&self) -> Map<String, Value> {
        self.core.state()
    }

    /// Changes fields of the state. A change that does not fit the schema is refused as a
    /// whole.
    pub async fn set_state(&self, changes: Value) -> Result<(), HarnessError> {
        let Value::Object(changes) = changes else {
            return Err(HarnessError::InvalidState("a change is an object of fields".into()));
        };
        self.run_detached(|harness| async move {
            let mut session = harness.core.session.lock().await;
            harness.core.change_state(&mut session, changes).await
        })
        .await
    }

    /// Returns the task list.
    pub fn tasks(&self) -> Vec<TaskItem> {
        self.core.tasks()
    }

    /// Loads what earlier sessions have stored.
    pub(super) async fn load_settings(&self, session: &mut Session) -> Result<(), HarnessError> {
        let core = &self.core;
        if let Some(text) = core.setting(PERMISSION_RULES).await? {
            match serde_json::from_str(&text) {
                Ok(rules) => core.permissions.write().rules = rules,
                Err(error) => tracing::warn!(%error, "stored permission rules cannot be read"),
            }
        }
        if let Some(text) = core.setting(SUBAGENT_MODELS).await? {
            session.subagent_models = serde_json::from_str(&text).unwrap_or_default();
            let subagents = &core.config.subagents;
            session
                .subagent_models
                .retain(|kind, _| subagents.iter().any(|subagent| subagent.id == *kind));
            session.assembled = None;
        }
        if let Some(text) = core.setting(STATE).await? {
            let stored: Map<String, Value> = serde_json::from_str(&text).unwrap_or_default();
            // A state that no longer fits the schema does not stop the start.
            if let Ok((state, _)) = core.config.state_schema.changed(&core.state(), stored) {
                core.permissions.write().yolo = is_yolo(&state);
                *core.state.write().unwrap_or_else(PoisonError::into_inner) = state;
            }
        }
        Ok(())
    }
}

fn is_yolo(state: &Map<String, Value>) -> bool {
    state.get(YOLO).is_some_and(|yolo| *yolo == true)
}

impl Core {
    pub(crate) async fn setting(&self, name: &str) -> Result<Option<String>, HarnessError> {
        Ok(self.org().harness_setting(&self.config.resource_id, name).await?)
    }

    /// Stores a setting of the resource.
    pub(crate) async fn save_setting(&self, name: &str, value: String) -> Result<(), HarnessError> {
        Ok(self.org().set_harness_setting(&self.config.resource_id, name, value).await?)
    }

    /// Changes a field of the state that was checked already.
    pub(crate) fn put_state(&self, name: &str, value: Value) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.insert(name.to_owned(), value);
    }

    async fn change_state(
        &self,
        session: &mut Session,
        changes: Map<String, Value>,
    ) -> Result<(), HarnessError> {
        let tasks = changes.contains_key(TASKS);
        let (state, changed_keys) = self.config.state_schema.changed(&self.state(), changes)?;
        if tasks {
            let list = state.get(TASKS).cloned().unwrap_or_default();
            serde_json::from_value::<Vec<TaskItem>>(list)
                .map_err(|error| HarnessError::InvalidState(format!("tasks: {error}")))?;
        }
        if changed_keys.is_empty() {
            return Ok(());
        }
        let mut kept = state.clone();
        // These belong to the thread.
        kept.remove(TASKS);
        kept.remove(CURRENT_MODEL);
        self.save_setting(STATE, json(&kept)).await?;
        self.permissions.write().yolo = is_yolo(&state);
        if changed_keys.iter().any(|key| key == CURRENT_MODEL) {
            let model = state.get(CURRENT_MODEL).and_then(Value::as_str).map(str::to_owned);
            self.current_model.set(model);
        }
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = state.clone();
        let state = Value::Object(state);
        let thread = session.thread.as_mut();
        let id = thread.as_ref().map(|thread| thread.info.id);
        self.publish(id, SessionEvent::StateChanged { state, changed_keys });
        if let Some(thread) = thread
            && tasks
        {
            let tasks = self.tasks();
            thread.info.metadata.tasks.clone_from(&tasks);
            self.publish(id, SessionEvent::TaskUpdated { tasks });
            self.commit_metadata(thread).await?;
        }
        Ok(())
    }

    /// Replaces the task list of a thread. Fails if the harness works on another one.
    pub(crate) async fn set_tasks(
        self: Arc<Self>,
        of: ThreadId,
        tasks: Vec<TaskItem>,
    ) -> Result<(), HarnessError> {
        let mut changes = Map::new();
        let tasks = serde_json::to_value(tasks).unwrap_or_default();
        changes.insert(TASKS.to_owned(), tasks);
        run_to_end(async move {
            let mut session = self.session.lock().await;
            if session.thread.as_ref().is_none_or(|thread| thread.info.id != of) {
                return Err(HarnessError::ThreadClosed(of));
            }
            self.change_state(&mut session, changes).await
        })
        .await
    }
}
