//! Modes, models and subagents.

use super::Harness;
use crate::error::HarnessError;
use crate::event::SessionEvent;
use crate::mode::HarnessMode;
use crate::models::{self, AvailableModel};
use crate::state::CURRENT_MODEL;

/// Where a chosen model holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ModelScope {
    /// In the thread.
    #[default]
    Thread,
    /// In this mode of the thread, also after other modes were used.
    Mode,
}

impl ModelScope {
    const fn name(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Mode => "mode",
        }
    }
}

/// The setting that keeps the models of subagents.
pub(super) const SUBAGENT_MODELS: &str = "subagentModels";

impl<S> Harness<S> {
    /// Returns all modes.
    pub fn list_modes(&self) -> &[HarnessMode] {
        &self.core.config.modes
    }

    /// Returns the id of the current mode.
    pub async fn current_mode_id(&self) -> String {
        self.core.session.lock().await.mode.clone()
    }

    /// Aborts the running turn, remembers the model of the current mode, and changes to
    /// another mode with the model that it had.
    pub async fn switch_mode(&self, id: &str) -> Result<(), HarnessError> {
        let id = id.to_owned();
        self.run_detached(|harness| async move { harness.change_mode(&id).await }).await
    }

    async fn change_mode(&self, id: &str) -> Result<(), HarnessError> {
        let mode = self.core.config.mode(id).ok_or_else(|| HarnessError::UnknownMode(id.into()))?;
        let _control = self.core.control.lock().await;
        self.stop_turn().await;
        let mut session = self.core.session.lock().await;
        if session.mode == id {
            return Ok(());
        }
        let previous = session.mode.clone();
        let model = self.core.current_model.get();
        let mut next = mode.default_model_id.clone();
        let mut thread_id = None;
        if let Some(thread) = session.thread.as_mut() {
            thread_id = Some(thread.info.id);
            let metadata = &mut thread.info.metadata;
            metadata.set_mode_model(&previous, model.as_deref());
            next = metadata.mode_model(id).map(str::to_owned).or(next);
            metadata.current_mode_id = Some(id.to_owned());
            metadata.current_model_id.clone_from(&next);
        }
        session.mode = id.to_owned();
        self.core.current_model.set(next.clone());
        self.core.put_state(CURRENT_MODEL, next.into());
        let changed =
            SessionEvent::ModeChanged { mode_id: id.to_owned(), previous_mode_id: previous };
        self.core.publish(thread_id, changed);
        match session.thread.as_ref() {
            Some(thread) => self.core.commit_metadata(thread).await,
            None => Ok(()),
        }
    }

    /// Returns the current model.
    pub fn current_model_id(&self) -> Option<String> {
        self.core.current_model.get()
    }

    /// Changes the model. Calls from now on use it, also in a running turn.
    pub async fn switch_model(&self, id: &str, scope: ModelScope) -> Result<(), HarnessError> {
        self.check_model(id)?;
        let id = id.to_owned();
        self.run_detached(move |harness| async move { harness.change_model(&id, scope).await })
            .await
    }

    async fn change_model(&self, id: &str, scope: ModelScope) -> Result<(), HarnessError> {
        let mut session = self.core.session.lock().await;
        let mode = session.mode.clone();
        self.core.current_model.set(Some(id.to_owned()));
        self.core.put_state(CURRENT_MODEL, id.into());
        let thread_id = session.thread.as_ref().map(|thread| thread.info.id);
        let changed = SessionEvent::ModelChanged {
            model_id: id.to_owned(),
            scope: Some(scope.name().into()),
            mode_id: Some(mode.clone()),
        };
        self.core.publish(thread_id, changed);
        match session.thread.as_mut() {
            Some(thread) => {
                thread.info.metadata.current_model_id = Some(id.to_owned());
                if scope == ModelScope::Mode {
                    thread.info.metadata.set_mode_model(&mode, Some(id));
                }
                self.core.commit_metadata(thread).await
            }
            None => Ok(()),
        }
    }

    fn check_model(&self, id: &str) -> Result<(), HarnessError> {
        let checker = self.core.config.auth_checker.as_deref();
        if let Some(status) = checker.and_then(|checker| checker.status(id))
            && !status.has_auth
        {
            let hint = status.hint.unwrap_or_else(|| "set its key".into());
            return Err(HarnessError::ModelNotReady { model: id.to_owned(), hint });
        }
        let found = self.core.config.models.model(Some(id));
        found.map(drop).ok_or_else(|| HarnessError::UnknownModel(id.to_owned()))
    }

    /// Returns the models that can be chosen, the most used first. Empty without an auth
    /// checker.
    pub fn available_models(&self) -> Vec<AvailableModel> {
        let config = &self.core.config;
        match &config.auth_checker {
            Some(checker) => models::available(&**checker, config.use_counts.as_deref()),
            None => Vec::new(),
        }
    }

    /// Returns the model that is set for a kind of subagent.
    pub async fn subagent_model_id(&self, agent_type: &str) -> Option<String> {
        self.core.session.lock().await.subagent_models.get(agent_type).cloned()
    }

    /// Sets the model of a kind of subagent, for this turn's successors and later sessions.
    pub async fn set_subagent_model_id(
        &self,
        agent_type: &str,
        model: &str,
    ) -> Result<(), HarnessError> {
        if !self.core.config.subagents.iter().any(|subagent| subagent.id == agent_type) {
            return Err(HarnessError::UnknownSubagent(agent_type.to_owned()));
        }
        self.check_model(model)?;
        let (agent_type, model) = (agent_type.to_owned(), model.to_owned());
        self.run_detached(|harness| async move {
            let mut session = harness.core.session.lock().await;
            session.subagent_models.insert(agent_type, model);
            session.assembled = None;
            let models = crate::session::json(&session.subagent_models);
            harness.core.save_setting(SUBAGENT_MODELS, models).await
        })
        .await
    }
}
