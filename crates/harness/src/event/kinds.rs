//! The kinds of events and their keys.

use ostler_domain::id::ThreadId;
use ostler_engine::history::CallArguments;
use ostler_engine::turn::EndReason;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::context::ContextReport;
use crate::memory::{MemoryEvent, OmStatus};
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
    Context(ContextEvent),
    Memory(OmEvent),
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
                | Self::Context(ContextEvent::ContextUpdated(_))
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
    ContextEvent => Context,
    OmEvent => Memory,
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
    /// The permissions files were read.
    PermissionRulesLoaded {
        rules: usize,
        /// What people should know: tests that fail, files that cannot be used.
        notes: Vec<String>,
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
        args: CallArguments,
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
        args: CallArguments,
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

/// The prompt of the thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ContextEvent {
    /// Files for agents were read or have changed, or a message mentions files.
    ContextUpdated(ContextReport),
    /// Old messages have left the prompt.
    ContextCompacted {
        /// How many have left it.
        messages: i64,
        /// The number of the first message that the model still sees.
        first_message: i64,
    },
}

/// The memory of a thread. What it reports beyond the keys below is in `ext`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum OmEvent {
    #[serde(rename = "om_status")]
    Status(OmStatus),
    #[serde(rename = "om_observation_start")]
    ObservationStart {},
    #[serde(rename = "om_observation_end")]
    ObservationEnd {},
    #[serde(rename = "om_observation_failed")]
    ObservationFailed {},
    #[serde(rename = "om_reflection_start")]
    ReflectionStart {},
    #[serde(rename = "om_reflection_end")]
    ReflectionEnd {},
    #[serde(rename = "om_reflection_failed")]
    ReflectionFailed {},
    #[serde(rename = "om_buffering_start")]
    BufferingStart {},
    #[serde(rename = "om_buffering_end")]
    BufferingEnd {},
    #[serde(rename = "om_buffering_failed")]
    BufferingFailed {},
    #[serde(rename = "om_activation")]
    Activation {},
}

impl OmEvent {
    /// Splits an event of a memory into its kind and its details.
    pub(crate) fn split(event: &MemoryEvent) -> (Self, Map<String, Value>) {
        let (kind, task) = match event {
            MemoryEvent::Status(status) => return (Self::Status(status.clone()), Map::new()),
            MemoryEvent::Activation { ext } => {
                return (Self::Activation {}, details(serde_json::to_value(ext)));
            }
            MemoryEvent::ObservationStart { ext } => (Self::ObservationStart {}, ext),
            MemoryEvent::ObservationEnd { ext } => (Self::ObservationEnd {}, ext),
            MemoryEvent::ObservationFailed { ext } => (Self::ObservationFailed {}, ext),
            MemoryEvent::ReflectionStart { ext } => (Self::ReflectionStart {}, ext),
            MemoryEvent::ReflectionEnd { ext } => (Self::ReflectionEnd {}, ext),
            MemoryEvent::ReflectionFailed { ext } => (Self::ReflectionFailed {}, ext),
            MemoryEvent::BufferingStart { ext } => (Self::BufferingStart {}, ext),
            MemoryEvent::BufferingEnd { ext } => (Self::BufferingEnd {}, ext),
            MemoryEvent::BufferingFailed { ext } => (Self::BufferingFailed {}, ext),
        };
        (kind, details(serde_json::to_value(task)))
    }
}

/// Returns the details of an event, without what every event has.
fn details(value: serde_json::Result<Value>) -> Map<String, Value> {
    match value {
        Ok(Value::Object(mut fields)) => {
            fields.remove("threadId");
            fields
        }
        _ => Map::new(),
    }
}
