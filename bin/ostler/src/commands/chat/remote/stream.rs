//! The events of a thread. A stream that breaks off is continued after the last event that was
//! stored; then the server says what is going on.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Context as _, Result};
use ostler_api::thread::{DELETED_EVENT, SNAPSHOT_EVENT, ThreadSnapshot, ThreadState};
use ostler_api::thread_event::{
    ThreadEvent, ThreadEventKind, ThreadInfo, ThreadMessage, ThreadMessagePart,
};
use ostler_domain::id::ThreadId;
use ostler_tui::protocol::{ChatFigures, ChatUpdate, OpenedThread};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::api_client::{OrgApi, ServerEvent, is_refusal};

/// The wait before the second attempt, which doubles.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// The most messages of a thread that are read.
const MAX_MESSAGES: usize = 20_000;

/// Where the events of a thread begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamStart {
    /// The thread is new: with its first event.
    FirstEvent,
    /// With what happens from now on, behind the messages that are stored.
    Messages,
}

/// The stream of a thread.
pub(super) struct ThreadStream {
    org: OrgApi,
    id: ThreadId,
    updates: mpsc::Sender<ChatUpdate>,
    start: StreamStart,
    /// The id of the last stored event.
    last: Option<String>,
    /// Messages and calls that were read, whose events say nothing new.
    known: HashSet<String>,
    is_lost: bool,
    wait: Duration,
}

/// Why a stream ended.
enum StreamEnd {
    Closed,
    Deleted,
}

impl ThreadStream {
    pub(super) fn new(
        org: OrgApi,
        id: ThreadId,
        updates: mpsc::Sender<ChatUpdate>,
        start: StreamStart,
    ) -> Self {
        let last = (start == StreamStart::FirstEvent).then(|| "0".to_owned());
        let (known, wait) = (HashSet::new(), FIRST_WAIT);
        Self { org, id, updates, start, last, known, is_lost: false, wait }
    }

    /// Follows the thread until it is deleted or makes no sense any more.
    pub(super) async fn run(mut self) {
        loop {
            let why = match self.read().await {
                Ok(StreamEnd::Deleted) => return self.notice("This thread was deleted.").await,
                Ok(StreamEnd::Closed) => "the server ended it".to_owned(),
                Err(error) if is_refusal(&error) => {
                    let why = format!("This thread cannot be followed: {error:#}");
                    self.send(ChatUpdate::Refused { why, text: None }).await;
                    return;
                }
                Err(error) => format!("{error:#}"),
            };
            if !std::mem::replace(&mut self.is_lost, true) {
                let text = format!("The connection is lost: {why}. It is tried again.");
                self.notice(&text).await;
            }
            tokio::time::sleep(self.wait).await;
            self.wait = (self.wait * 2).min(LONGEST_WAIT);
        }
    }

    async fn send(&self, update: ChatUpdate) {
        let _ = self.updates.send(update).await;
    }

    async fn notice(&self, text: &str) {
        self.send(ChatUpdate::Notice(text.to_owned())).await;
    }

    async fn read(&mut self) -> Result<StreamEnd> {
        let id = self.id.to_string();
        let path = ["orgs", &self.org.org.slug, "threads", &id, "events"];
        let mut stream = self.org.api.follow(&path, &[], self.last.as_deref()).await?;
        while let Some(ServerEvent { id, name, data }) = stream.next().await? {
            match name.as_str() {
                SNAPSHOT_EVENT => {
                    let snapshot = serde_json::from_str(&data).context("a snapshot is not valid");
                    self.snapshot(snapshot?).await?;
                }
                DELETED_EVENT => return Ok(StreamEnd::Deleted),
                _ => self.event(&data).await,
            }
            // What failed is read again.
            if id.is_some() {
                self.last = id;
            }
        }
        Ok(StreamEnd::Closed)
    }

    /// Takes what is going on: with the messages before it the first time.
    async fn snapshot(&mut self, snapshot: ThreadSnapshot) -> Result<()> {
        self.wait = FIRST_WAIT;
        if std::mem::take(&mut self.is_lost) {
            self.notice("The connection is back.").await;
        }
        if self.start == StreamStart::Messages {
            self.open(&snapshot).await?;
            self.start = StreamStart::FirstEvent;
        }
        if let Some(other) = &snapshot.held_by {
            self.notice(&format!("Another process works on this thread: {other}.")).await;
        }
        if snapshot.turn_id.is_some() {
            self.made(json!({"type": "agent_start"})).await;
        }
        for event in snapshot.draft.iter().chain(&snapshot.asks) {
            self.event(&event.to_string()).await;
        }
        // The stream goes on without them; opened again, it would miss what happens meanwhile.
        self.send_figures().await;
        Ok(())
    }

    async fn send_figures(&self) {
        if let Err(error) = send_figures(&self.org, self.id, &self.updates).await {
            tracing::debug!(%error, "figures of the thread not read");
        }
    }

    async fn open(&mut self, snapshot: &ThreadSnapshot) -> Result<()> {
        let id = self.id.to_string();
        let path = ["threads", &id, "messages"];
        let messages: Vec<ThreadMessage> = self.org.list(&path, &[], MAX_MESSAGES).await?;
        for message in &messages {
            let turn = message.id.rsplit_once('-').map_or("", |(turn, _)| turn);
            self.known.insert(message.id.clone());
            self.known.extend(message.content.iter().filter_map(|part| match part {
                ThreadMessagePart::ToolCall { tool_call_id, .. } => {
                    Some(format!("{turn}/{tool_call_id}"))
                }
                _ => None,
            }));
        }
        let opened = OpenedThread {
            id: self.id,
            title: info(snapshot).and_then(|thread| thread.title),
            messages,
            mode: snapshot.mode_id.clone().unwrap_or_default(),
            model: snapshot.model_id.clone().unwrap_or_default(),
        };
        self.send(ChatUpdate::Opened(Box::new(opened))).await;
        if let Some(thread) = info(snapshot) {
            let usage = json!({"promptTokens": thread.metadata.token_usage.prompt_tokens,
                "completionTokens": thread.metadata.token_usage.completion_tokens});
            self.made(json!({"type": "usage_update", "usage": usage})).await;
        }
        if !snapshot.tasks.is_empty() {
            self.made(json!({"type": "task_updated", "tasks": snapshot.tasks})).await;
        }
        Ok(())
    }

    /// Sends an event that the server did not.
    async fn made(&self, mut event: Value) {
        event["ext"] = json!({"at": 0});
        if let Ok(event) = serde_json::from_value(event) {
            self.send(ChatUpdate::Event(Box::new(event))).await;
        }
    }

    async fn event(&mut self, data: &str) {
        let mut event: ThreadEvent = match serde_json::from_str(data) {
            Ok(event) => event,
            Err(error) => {
                tracing::warn!(%error, "an event of the thread does not fit its wire type");
                return;
            }
        };
        if self.is_known(&event) {
            return;
        }
        // A rule would be written where the agent is.
        event.ext.always = None;
        let counts =
            matches!(event.kind, ThreadEventKind::AgentStart {} | ThreadEventKind::AgentEnd { .. });
        let model = matches!(event.kind, ThreadEventKind::ModeChanged { .. });
        self.send(ChatUpdate::Event(Box::new(event))).await;
        if model {
            self.send_model().await;
        }
        if counts {
            self.send_figures().await;
        }
    }

    /// Returns whether the message or call is among those that were read.
    fn is_known(&self, event: &ThreadEvent) -> bool {
        match &event.kind {
            ThreadEventKind::MessageStart { message }
            | ThreadEventKind::MessageUpdate { message }
            | ThreadEventKind::MessageEnd { message } => self.known.contains(&message.id),
            ThreadEventKind::ToolStart { tool_call_id, .. } => {
                let turn = event.ext.turn_id.map(|turn| turn.to_string()).unwrap_or_default();
                self.known.contains(&format!("{turn}/{tool_call_id}"))
            }
            _ => false,
        }
    }

    /// A mode has a model of its own.
    async fn send_model(&self) {
        let read: Result<ThreadSnapshot> = self.org.get(&["threads", &self.id.to_string()]).await;
        if let Ok(ThreadSnapshot { model_id: Some(model), .. }) = read {
            self.made(json!({"type": "model_changed", "modelId": model})).await;
        }
    }
}

/// Reads the figures of a thread that no event has, and sends them.
pub(super) async fn send_figures(
    org: &OrgApi,
    id: ThreadId,
    updates: &mpsc::Sender<ChatUpdate>,
) -> Result<()> {
    let id = id.to_string();
    let snapshot: ThreadSnapshot = org.get(&["threads", &id]).await?;
    let state: ThreadState = org.get(&["threads", &id, "state"]).await.unwrap_or_default();
    let thread = info(&snapshot);
    let figures = ChatFigures {
        credits_spent: thread.as_ref().map_or(0, |thread| thread.metadata.credits_spent),
        queued: snapshot.follow_ups,
        yolo: state.get("yolo").is_some_and(|yolo| *yolo == true),
        title: thread.and_then(|thread| thread.title),
    };
    let _ = updates.send(ChatUpdate::Figures(figures)).await;
    Ok(())
}

fn info(snapshot: &ThreadSnapshot) -> Option<ThreadInfo> {
    serde_json::from_value(snapshot.thread.clone()).ok()
}
