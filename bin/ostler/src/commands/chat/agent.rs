//! The agent behind the UI: requests of the person go to the harness, events of the harness
//! to the UI.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use ostler_api::thread::{ApprovalDecision, AskAnswer, PlanDecision};
use ostler_api::thread_event::{ThreadEvent, ThreadInfo, ThreadMessage};
use ostler_domain::id::ThreadId;
use ostler_engine::history::Content;
use ostler_harness::{
    AlwaysAllow, ApprovalResponse, EventKind, Harness, HarnessError, HarnessEvent, MessageInput,
    ModelScope, PlanResponse, RuleScope, SessionEvent, Subscription, TurnLifeEvent,
};
use ostler_tui::protocol::{ChatFigures, ChatRequest, ChatUpdate, ComposedMessage, OpenedThread};
use ostler_workspace::files::{EntryKind, ListQuery};
use ostler_workspace::workspace::Workspace;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{FOLDER, LEASE};
use crate::commands::local_agent::switch_when_free;

/// How many messages are read at once.
const PAGE: u32 = 200;
/// How many files can be completed.
const MAX_FILES: usize = 5_000;
/// How many threads are listed.
const MAX_THREADS: usize = 200;
const MAX_TITLE_CHARS: usize = 60;

/// An agent on this machine.
pub(super) struct LocalAgent {
    harness: Harness,
    updates: mpsc::Sender<ChatUpdate>,
    root: PathBuf,
    workspace: Arc<Workspace>,
    /// The thread whose events are shown.
    thread: Option<ThreadId>,
}

impl LocalAgent {
    pub(super) fn new(
        harness: Harness,
        updates: mpsc::Sender<ChatUpdate>,
        root: PathBuf,
        workspace: Arc<Workspace>,
    ) -> Self {
        Self { harness, updates, root, workspace, thread: None }
    }

    /// Works until the UI is gone.
    pub(super) async fn run(
        mut self,
        mut requests: mpsc::UnboundedReceiver<ChatRequest>,
        mut events: Subscription,
    ) {
        self.show_thread().await;
        tokio::spawn(describe_workspace(self.workspace.clone(), self.updates.clone()));
        loop {
            tokio::select! {
                biased;
                request = requests.recv() => match request {
                    None => return,
                    Some(request) => self.request(request).await,
                },
                event = events.next() => self.event(&event).await,
            }
        }
    }

    /// Sends an update. A UI that is gone is noticed by its requests.
    async fn send(&self, update: ChatUpdate) {
        let _ = self.updates.send(update).await;
    }

    async fn event(&mut self, event: &HarnessEvent) {
        if event.ext.thread_id.is_some() && event.ext.thread_id != self.thread {
            return;
        }
        let counts = matches!(
            event.kind,
            EventKind::Turn(TurnLifeEvent::AgentStart { .. } | TurnLifeEvent::AgentEnd { .. })
                | EventKind::Session(
                    SessionEvent::UsageUpdate { .. } | SessionEvent::StateChanged { .. }
                )
        );
        if let Some(event) = wire::<ThreadEvent>(event) {
            self.send(ChatUpdate::Event(Box::new(event))).await;
        }
        if counts {
            self.send_figures().await;
        }
    }

    async fn send_figures(&self) {
        let thread = self.harness.current_thread().await;
        let figures = ChatFigures {
            credits_spent: thread.as_ref().map_or(0, |thread| thread.metadata.credits_spent),
            queued: self.harness.follow_up_count().await,
            yolo: self.harness.state_json().get("yolo").is_some_and(|yolo| *yolo == true),
            title: thread.and_then(|thread| thread.title),
        };
        self.send(ChatUpdate::Figures(figures)).await;
    }

    /// Sends the thread that is open now, with its messages.
    async fn show_thread(&mut self) {
        let thread = self.harness.current_thread().await;
        self.thread = thread.as_ref().map(|thread| thread.id);
        let (id, title) = match thread {
            Some(thread) => (thread.id, thread.title),
            None => (ThreadId::from_u128(0), None),
        };
        let messages = match self.thread {
            Some(id) => self.messages(id).await,
            None => Vec::new(),
        };
        let opened = OpenedThread {
            id,
            title,
            messages,
            mode: self.harness.current_mode_id().await,
            model: self.harness.current_model_id().unwrap_or_default(),
        };
        self.send(ChatUpdate::Opened(Box::new(opened))).await;
        let usage = json!({"type": "usage_update", "usage": self.harness.token_usage().await,
            "ext": {"at": 0}});
        let tasks = self.harness.tasks();
        if let Ok(event) = serde_json::from_value::<ThreadEvent>(usage) {
            self.send(ChatUpdate::Event(Box::new(event))).await;
        }
        if !tasks.is_empty() {
            let event = json!({"type": "task_updated", "tasks": tasks, "ext": {"at": 0}});
            if let Ok(event) = serde_json::from_value::<ThreadEvent>(event) {
                self.send(ChatUpdate::Event(Box::new(event))).await;
            }
        }
        for ask in self.harness.current_events().asks {
            self.event(&ask).await;
        }
        self.send_figures().await;
    }

    async fn messages(&self, id: ThreadId) -> Vec<ThreadMessage> {
        let (mut messages, mut after) = (Vec::new(), 0);
        loop {
            let page = self.harness.messages(id, after, PAGE).await.unwrap_or_default();
            if page.is_empty() {
                return messages;
            }
            after += i64::try_from(page.len()).unwrap_or(i64::MAX);
            messages.extend(page.iter().filter_map(wire::<ThreadMessage>));
        }
    }

    async fn request(&mut self, request: ChatRequest) {
        let text = match &request {
            ChatRequest::Send(message) | ChatRequest::Steer(message) => Some(message.text.clone()),
            _ => None,
        };
        match self.carry_out(request).await {
            Ok(()) => {}
            Err(error) if is_ask_closed(&error) => {}
            Err(error) => {
                let why = format!("Not done: {error:#}.");
                self.send(ChatUpdate::Refused { why, text }).await;
            }
        }
        self.send_figures().await;
    }

    async fn carry_out(&mut self, request: ChatRequest) -> anyhow::Result<()> {
        let harness = self.harness.clone();
        let done: Result<(), HarnessError> = match request {
            ChatRequest::Send(message) => {
                let message = self.message(message).await?;
                harness.follow_up(message).await.map(drop)
            }
            ChatRequest::Steer(message) => {
                let message = self.message(message).await?;
                harness.start_steer(message).await.map(drop)
            }
            ChatRequest::Abort => {
                harness.abort().await;
                Ok(())
            }
            ChatRequest::Resume => harness.start_resume().await.map(drop),
            ChatRequest::Retry => harness.start_retry().await.map(drop),
            ChatRequest::ClearQueue => harness.clear_follow_ups().await,
            ChatRequest::Answer(answer) => self.respond(answer).await,
            ChatRequest::Always { id, scope, arguments } => {
                self.always(&id, &scope, arguments).await
            }
            ChatRequest::SetMode { id } => {
                harness.switch_mode(&id).await?;
                // A mode has a model of its own.
                self.send_model().await;
                Ok(())
            }
            ChatRequest::SetModel { id } => harness.switch_model(&id, ModelScope::Thread).await,
            ChatRequest::SetYolo { on } => harness.set_state(json!({"yolo": on})).await,
            ChatRequest::ListThreads { search } => self.list_threads(&search).await,
            ChatRequest::OpenThread { id } => {
                switch_when_free(&harness, id, LEASE * 2).await?;
                self.show_thread().await;
                Ok(())
            }
            ChatRequest::NewThread => {
                harness.create_thread(None).await?;
                self.keep_folder().await?;
                self.show_thread().await;
                Ok(())
            }
            ChatRequest::Fork => {
                let thread = harness.current_thread().await.ok_or(HarnessError::NoThread)?;
                let title = thread.title.map(|title| format!("{title} (copy)"));
                harness.clone_thread(title.as_deref()).await?;
                self.keep_folder().await?;
                self.show_thread().await;
                Ok(())
            }
            ChatRequest::Rename { title } => harness.rename_thread(&title).await,
        };
        Ok(done?)
    }

    /// Returns a message for the thread, with its images stored there.
    async fn message(&mut self, message: ComposedMessage) -> anyhow::Result<MessageInput> {
        let ComposedMessage { text, images } = message;
        self.ensure_thread(&text).await?;
        let mut parts = Vec::with_capacity(images.len());
        for image in images {
            let bytes = tokio::fs::read(&image.path).await;
            let bytes = bytes.with_context(|| format!("cannot read {}", image.path.display()))?;
            let media = self.harness.add_image(Some(&image.name), bytes).await?;
            parts.push(Content::Image(media));
        }
        Ok(MessageInput::with_attachments(text, parts))
    }

    async fn send_model(&self) {
        let model = self.harness.current_model_id().unwrap_or_default();
        let event = json!({"type": "model_changed", "modelId": model, "ext": {"at": 0}});
        if let Ok(event) = serde_json::from_value::<ThreadEvent>(event) {
            self.send(ChatUpdate::Event(Box::new(event))).await;
        }
    }

    /// Creates a thread with the first message, which is its title.
    async fn ensure_thread(&mut self, text: &str) -> Result<(), HarnessError> {
        let current = self.harness.current_thread().await;
        if current.is_none() {
            let thread = self.harness.create_thread(Some(&title(text))).await?;
            self.thread = Some(thread.id);
            return self.keep_folder().await;
        }
        if current.is_some_and(|thread| thread.title.is_none()) {
            self.harness.rename_thread(&title(text)).await?;
        }
        Ok(())
    }

    async fn keep_folder(&self) -> Result<(), HarnessError> {
        let folder = self.root.display().to_string();
        self.harness.persist_thread_setting(FOLDER, folder.into()).await
    }

    async fn respond(&self, answer: AskAnswer) -> Result<(), HarnessError> {
        match answer {
            AskAnswer::Question { id, text } => self.harness.respond_to_question(&id, text).await,
            AskAnswer::Approval { id, decision, arguments, reason } => {
                let response = match (decision, arguments) {
                    (ApprovalDecision::Approve, Some(arguments)) => {
                        ApprovalResponse::ApproveWith(arguments)
                    }
                    (ApprovalDecision::Approve, None) => ApprovalResponse::Approve,
                    (ApprovalDecision::Decline, _) => ApprovalResponse::Decline { reason },
                    (ApprovalDecision::Always, _) => ApprovalResponse::AlwaysAllowCategory,
                };
                self.harness.respond_to_tool_approval(&id, response).await
            }
            AskAnswer::Plan { id, decision, feedback } => {
                let response = match decision {
                    PlanDecision::Approve => PlanResponse::Approve,
                    PlanDecision::Reject => {
                        PlanResponse::Reject { feedback: feedback.unwrap_or_default() }
                    }
                };
                self.harness.respond_to_plan_approval(&id, response).await
            }
        }
    }

    async fn always(
        &self,
        id: &str,
        scope: &str,
        arguments: Option<Value>,
    ) -> Result<(), HarnessError> {
        let scopes = [RuleScope::Session, RuleScope::Project, RuleScope::User];
        let scope = scopes.into_iter().find(|known| known.name() == scope);
        let scope = scope.ok_or(HarnessError::RuleCannotAnswer)?;
        let always = AlwaysAllow { arguments, ..AlwaysAllow::proposed(scope) };
        self.harness.respond_to_tool_approval(id, ApprovalResponse::AlwaysAllow(always)).await
    }

    async fn list_threads(&self, search: &str) -> Result<(), HarnessError> {
        let threads = match search.trim() {
            "" => self.harness.list_threads().await?,
            text => self.harness.search_threads(text).await?,
        };
        let threads = threads.iter().take(MAX_THREADS).filter_map(wire::<ThreadInfo>).collect();
        self.send(ChatUpdate::Threads(threads)).await;
        Ok(())
    }
}

/// Returns whether the turn was stopped before its question was answered.
fn is_ask_closed(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(HarnessError::AskNotOpen(_)))
}

/// Sends what takes a moment to find out: the sandbox, and the files that can be completed.
async fn describe_workspace(workspace: Arc<Workspace>, updates: mpsc::Sender<ChatUpdate>) {
    let listed = tokio::task::spawn_blocking({
        let workspace = workspace.clone();
        move || {
            let query = ListQuery { path: String::new(), pattern: None, max_entries: MAX_FILES };
            workspace.files().list(&query)
        }
    });
    if let Ok(Ok(list)) = listed.await {
        let files = list.entries.iter().filter(|entry| entry.kind == EntryKind::File);
        let files = files.map(|entry| entry.path.display().to_string()).collect();
        let _ = updates.send(ChatUpdate::Files(files)).await;
    }
    let sandbox = workspace.sandbox_status().await.to_string();
    let _ = updates.send(ChatUpdate::Sandbox(sandbox)).await;
}

/// Returns a value as the wire has it. The UI knows nothing else.
fn wire<T: DeserializeOwned>(value: &impl Serialize) -> Option<T> {
    let value = serde_json::to_value(value).ok()?;
    match serde_json::from_value(value) {
        Ok(value) => Some(value),
        Err(error) => {
            tracing::warn!(%error, "a value of the harness does not fit its wire type");
            None
        }
    }
}

/// Returns the title of a thread with this first message.
pub(super) fn title(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(MAX_TITLE_CHARS) {
        Some((at, _)) => format!("{}…", &words[..at]),
        None => words,
    }
}
