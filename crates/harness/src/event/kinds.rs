//! The kinds of events and their keys.

use ostler_domain::id::ThreadId;
use ostler_engine::turn::EndReason;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::HarnessMessage;
use crate::task::TaskItem;
use crate::thread::HarnessThread;
use crate::usage::TokenUsage;

/// The kind of an event, with the keys of that kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum EventKind {
    Session(SessionEvent),
    Turn(TurnLifeEvent),
    Message(MessageEvent),
    Tool(ToolEvent),
    Ask(AskEvent),
    Subagent(SubagentEvent),
    Workspace(WorkspaceEvent),
}

impl EventKind {
    /// Returns whether the event is stored. Progress is not: what it reports is contained
    /// in a later event.
    pub const fn is_durable(&self) -> bool {
        !matches!(
            self,
            Self::Message(MessageEvent::MessageStart { .. } | MessageEvent::MessageUpdate { .. })
                | Self::Subagent(SubagentEvent::SubagentText { .. })
                | Self::Tool(ToolEvent::ToolOutput { .. })
                | Self::Workspace(_)
        )
    }
}

macro_rules! into_kind {
    ($($event:ident => $variant:ident),* $(,)?) => {$(
        impl From<$event> for EventKind {
            fn from(event: $event) -> Self {
                Self::$variant(event)
            }
        }
    )*};
}

into_kind!(
    SessionEvent => Session,
    TurnLifeEvent => Turn,
    MessageEvent => Message,
    ToolEvent => Tool,
    AskEvent => Ask,
    SubagentEvent => Subagent,
    WorkspaceEvent => Workspace,
);

/// Changes of modes, models, state, threads and tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SessionEvent {
    ModeChanged {
        mode_id: String,
        previous_mode_id: String,
    },
    ModelChanged {
        model_id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scope: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode_id: Option<String>,
    },
    StateChanged {
        state: Value,
        changed_keys: Vec<String>,
    },
    ThreadCreated {
        thread: HarnessThread,
    },
    ThreadChanged {
        thread_id: ThreadId,
        previous_thread_id: Option<ThreadId>,
    },
    TaskUpdated {
        tasks: Vec<TaskItem>,
    },
    UsageUpdate {
        usage: TokenUsage,
    },
    FollowUpQueued {
        count: usize,
    },
    Error {
        error: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retryable: Option<bool>,
    },
}

/// Begin and end of turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum TurnLifeEvent {
    AgentStart {},
    AgentEnd {
        reason: EndReason,
    },
    /// A turn of a process that is gone has not ended; `resume` continues it.
    TurnInterrupted {},
}

/// Messages of the thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MessageEvent {
    MessageStart { message: HarnessMessage },
    MessageUpdate { message: HarnessMessage },
    MessageEnd { message: HarnessMessage },
}

/// Tool calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ToolEvent {
    ToolStart {
        tool_call_id: String,
        tool_name: String,
        args: Value,
    },
    /// Output of a command that is running.
    ToolOutput {
        tool_call_id: String,
        text: String,
    },
    ToolEnd {
        tool_call_id: String,
        result: String,
        is_error: bool,
    },
}

/// Questions to a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum AskEvent {
    ToolApprovalRequired {
        tool_call_id: String,
        tool_name: String,
        args: Value,
    },
    AskQuestion {
        question_id: String,
        question: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        options: Option<Vec<String>>,
    },
    PlanApprovalRequired {
        plan_id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        plan: String,
    },
    /// A question was answered, or its turn has ended.
    AskClosed {
        ask_id: String,
    },
}

/// Subagents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SubagentEvent {
    SubagentStart {
        agent_type: String,
        task: String,
    },
    /// Text that a subagent writes.
    SubagentText {
        text: String,
    },
    SubagentEnd {
        agent_type: String,
        duration_ms: u64,
    },
}

/// The workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum WorkspaceEvent {
    WorkspaceStatusChanged { status: WorkspacePhase },
    WorkspaceReady {},
    WorkspaceError { error: String },
}

/// The state of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspacePhase {
    Initializing,
    Ready,
    Error,
    Destroying,
    Destroyed,
}
