//! One session: a thread with a harness of its own, and what it tells the client.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ContentBlock, PromptResponse, SessionConfigKind, SessionConfigOption,
    SessionConfigOptionCategory, SessionConfigOptionValue, SessionConfigSelect,
    SessionConfigSelectOption, SessionId, SessionInfoUpdate, SessionMode, SessionModeState,
    SessionNotification, SessionUpdate, SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse,
};
use agent_client_protocol::{Client, Result};
use ostler_domain::id::RunId;
use ostler_engine::tool::UserQuestion;
use ostler_engine::turn::QuestionKind;
use ostler_harness::{
    AskEvent, EventKind, Harness, HarnessError, HarnessEvent, ModelScope, Subscription,
    TurnLifeEvent, TurnOutcome,
};
use ostler_tools::mcp::McpServers;
use ostler_workspace::context::{find_prompts, find_skills};
use ostler_workspace::workspace::Workspace;
use serde_json::{Map, json};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use super::ask::client_question;
use super::connection::{failed, refused};
use super::prompt;
use super::updates::{self, UpdateMapper};

/// The id of the option that chooses the model.
const MODEL: &str = "model";
const MAX_TITLE_CHARS: usize = 80;

/// A session of a client.
pub(super) struct AcpSession {
    pub(super) id: SessionId,
    pub(super) root: PathBuf,
    pub(super) harness: Harness,
    pub(super) client: ConnectionTo<Client>,
    pub(super) workspace: Arc<Workspace>,
    pub(super) servers: tokio::sync::Mutex<Option<McpServers>>,
    /// The models that the client can choose from.
    pub(super) models: Vec<String>,
    /// Stops the prompt that is being answered.
    pub(super) prompt: Arc<Mutex<Option<Arc<Notify>>>>,
    /// The last turn whose end the client was told.
    pub(super) reported: watch::Sender<Option<RunId>>,
}

/// A prompt that is being answered; no other begins before it is dropped.
pub(super) struct RunningPrompt {
    cancelled: Arc<Notify>,
    slot: Arc<Mutex<Option<Arc<Notify>>>>,
}

impl Drop for RunningPrompt {
    fn drop(&mut self) {
        *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

type Sent = JoinHandle<std::result::Result<TurnOutcome, HarnessError>>;

impl AcpSession {
    /// Tells the client what happens, until it is gone.
    pub(super) async fn follow(self: Arc<Self>, mut events: Subscription) {
        let mut mapper = UpdateMapper::new(self.workspace.clone());
        loop {
            let event = events.next().await;
            for update in mapper.updates(&event) {
                self.update(update);
            }
            match &event.kind {
                EventKind::Ask(AskEvent::AskClosed { .. }) => {}
                EventKind::Ask(ask) => self.forward_ask(ask, &event, &mut mapper).await,
                EventKind::Turn(TurnLifeEvent::AgentEnd { .. }) => {
                    self.reported.send_replace(event.ext.turn_id);
                }
                _ => {}
            }
            if self.client.is_incoming_closed() {
                return;
            }
        }
    }

    /// Sends an update. A client that is gone is noticed elsewhere.
    pub(super) fn update(&self, update: SessionUpdate) {
        let _ = self.client.send_notification(SessionNotification::new(self.id.clone(), update));
    }

    /// Sends the commands that a prompt may begin with.
    pub(super) fn send_commands(&self) {
        let files = self.workspace.files();
        let prompts = find_prompts(files).unwrap_or_default().into_iter().map(|prompt| {
            let description = prompt.text.lines().next().unwrap_or_default().to_owned();
            ostler_harness::ContextCommand { name: prompt.name, description }
        });
        let skills = find_skills(files).unwrap_or_default().skills.into_iter();
        let skills = skills.map(|skill| ostler_harness::ContextCommand {
            name: skill.name,
            description: skill.description,
        });
        let commands: Vec<_> = prompts.chain(skills).collect();
        if !commands.is_empty() {
            self.update(updates::commands(&commands));
        }
    }

    /// Asks the client in a task of its own.
    async fn forward_ask(
        self: &Arc<Self>,
        event: &AskEvent,
        of: &HarnessEvent,
        mapper: &mut UpdateMapper,
    ) {
        let id = match event {
            AskEvent::ToolApprovalRequired { tool_call_id, .. } => tool_call_id,
            AskEvent::AskQuestion { question_id, .. } => question_id,
            AskEvent::PlanApprovalRequired { plan_id, .. } => plan_id,
            AskEvent::AskClosed { .. } => return,
        };
        let open = self.harness.open_asks().await;
        let Some(ask) = open.into_iter().find(|ask| ask.id == *id) else { return };
        let (tool, args) = (&ask.question.call.name, &ask.question.call.arguments);
        let call_id = updates::call_id(of, id);
        let call = mapper.call(&call_id, tool, args);
        if let QuestionKind::Approval { .. } = ask.question.kind {
            self.update(mapper.announce(&call_id, tool, args));
        }
        let question = client_question(&ask, call);
        if let (None, QuestionKind::Ask(UserQuestion::Question { question, .. })) =
            (&question, &ask.question.kind)
        {
            self.update(updates::chunk(&format!("\n\n{question}\n"), &call_id));
        }
        let session = self.clone();
        tokio::spawn(async move { session.ask(ask, question).await });
    }

    /// Begins a prompt. Fails while another one is being answered.
    pub(super) fn begin_prompt(&self) -> Result<RunningPrompt> {
        let mut slot = self.prompt.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.is_some() {
            return Err(refused("a prompt of this session is being answered; cancel it first"));
        }
        let cancelled = Arc::new(Notify::new());
        *slot = Some(cancelled.clone());
        Ok(RunningPrompt { cancelled, slot: self.prompt.clone() })
    }

    /// Answers a prompt, and returns when the client was told everything about it.
    pub(super) async fn answer_prompt(
        &self,
        running: RunningPrompt,
        blocks: Vec<ContentBlock>,
    ) -> Result<PromptResponse> {
        self.set_title(&blocks).await;
        let message = prompt::message(blocks)?;
        let harness = self.harness.clone();
        let mut sent: Sent = tokio::spawn(async move {
            let first = harness.send_message(message).await?;
            // An approved plan is carried out by another turn.
            Ok(harness.wait_until_idle().await.unwrap_or(first))
        });
        let outcome = tokio::select! {
            outcome = &mut sent => outcome,
            () = running.cancelled.notified() => {
                // The turn may not have begun yet.
                while !sent.is_finished() && !self.harness.abort().await {
                    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                }
                sent.await
            }
        };
        let outcome = outcome.map_err(failed)?.map_err(|error| match error {
            HarnessError::EmptyMessage | HarnessError::Busy => refused(error),
            other => failed(other),
        })?;
        let mut reported = self.reported.subscribe();
        // The sender lives as long as the session.
        let _ = reported.wait_for(|turn| *turn == Some(outcome.turn)).await;
        let reason = prompt::stop_reason(&outcome.end)?;
        let details = match self.harness.context().await {
            Ok(context) => {
                json!({"context": context.budget, "usage": self.harness.token_usage().await})
            }
            Err(_) => json!({}),
        };
        let meta: Map<_, _> = [("ostler".to_owned(), details)].into_iter().collect();
        Ok(PromptResponse::new(reason).meta(meta))
    }

    /// Stops what is being answered.
    pub(super) async fn cancel(&self) {
        let prompt = self.prompt.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match prompt {
            Some(cancelled) => cancelled.notify_one(),
            // A turn that was continued when the session was loaded.
            None => drop(self.harness.abort().await),
        }
    }

    /// Names the session after its first prompt.
    async fn set_title(&self, blocks: &[ContentBlock]) {
        let untitled = self.harness.current_thread().await.is_some_and(|it| it.title.is_none());
        let text = blocks.iter().find_map(|block| match block {
            ContentBlock::Text(text) => text.text.lines().find(|line| !line.trim().is_empty()),
            _ => None,
        });
        let Some(text) = text.filter(|_| untitled) else { return };
        let title: String = text.trim().chars().take(MAX_TITLE_CHARS).collect();
        if self.harness.rename_thread(&title).await.is_ok() {
            self.update(SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(title)));
        }
    }

    /// Returns the modes, and which one is in force.
    pub(super) async fn modes(&self) -> SessionModeState {
        let modes = self.harness.list_modes().iter();
        let modes = modes.map(|mode| SessionMode::new(mode.id.clone(), mode.name.clone()));
        SessionModeState::new(self.harness.current_mode_id().await, modes.collect())
    }

    pub(super) async fn set_mode(&self, mode: &str) -> Result<()> {
        self.harness.switch_mode(mode).await.map_err(refused)
    }

    /// Returns the options of the session: the model.
    pub(super) fn options(&self) -> Vec<SessionConfigOption> {
        let current = self.harness.current_model_id().unwrap_or_default();
        let models = self.models.iter();
        let models = models.map(|id| SessionConfigSelectOption::new(id.clone(), id.clone()));
        let select = SessionConfigSelect::new(current, models.collect::<Vec<_>>());
        let option = SessionConfigOption::new(MODEL, "Model", SessionConfigKind::Select(select));
        vec![option.category(SessionConfigOptionCategory::Model)]
    }

    pub(super) async fn set_option(
        &self,
        request: SetSessionConfigOptionRequest,
    ) -> Result<SetSessionConfigOptionResponse> {
        let SessionConfigOptionValue::ValueId { value } = request.value else {
            return Err(refused("the value of this option is one of its choices"));
        };
        if &*request.config_id.0 != MODEL {
            return Err(refused(format!("there is no option `{}`", request.config_id)));
        }
        if !self.models.iter().any(|model| **model == *value.0) {
            return Err(refused(format!("there is no model `{value}`")));
        }
        self.harness.switch_model(&value.0, ModelScope::Thread).await.map_err(refused)?;
        Ok(SetSessionConfigOptionResponse::new(self.options()))
    }
}
