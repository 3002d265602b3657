//! Events of a thread of the interactive harness, as clients read them.
//!
//! `docs/EVENTS.md` is written from these types. An event of a kind that this version does not know is
//! [`ThreadEventKind::Other`], so that an older client can follow a newer server.

use ostler_domain::id::{RunId, ThreadId};
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// An event of a thread.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub struct ThreadEvent {
    #[serde(flatten)]
    pub kind: ThreadEventKind,
    pub ext: ThreadEventDetails,
}

/// What is known of an event beyond the keys of its kind.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadEventDetails {
    /// The number of an event that is stored.
    #[serde(default)]
    pub id: Option<i64>,
    pub at: Timestamp,
    #[serde(default)]
    pub thread_id: Option<ThreadId>,
    #[serde(default)]
    pub turn_id: Option<RunId>,
    /// The tool calls that lead to the subagent that the event is about.
    #[serde(default)]
    pub path: Vec<String>,
    /// What was added to the text by `message_update`.
    #[serde(default)]
    pub delta: Option<String>,
    /// The tool of `tool_end`.
    #[serde(default)]
    pub tool_name: Option<String>,
    /// The status of `tool_end`, such as `ok` or `denied`.
    #[serde(default)]
    pub status: Option<String>,
    /// Why a call is asked about or was refused, in words.
    #[serde(default)]
    pub why: Option<String>,
    /// The risk of a call that is asked about: `read`, `write` or `destructive`.
    #[serde(default)]
    pub risk: Option<String>,
    /// The rule that "always" would write.
    #[serde(default)]
    pub always: Option<AlwaysProposal>,
}

/// The rule that would have allowed a call.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AlwaysProposal {
    pub tool: String,
    #[serde(default)]
    pub arguments: Value,
    /// The rule as it would be written.
    pub toml: String,
    /// Where it can be written to: `session`, `project`, `user`.
    pub scopes: Vec<String>,
    /// How many earlier calls of the conversation it covers.
    #[serde(default)]
    pub past_calls: usize,
}

/// The kind of an event, with its keys.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ThreadEventKind {
    /// Another mode is active.
    ModeChanged {
        mode_id: String,
        #[serde(default)]
        previous_mode_id: Option<String>,
    },
    /// Another model answers.
    ModelChanged { model_id: String },
    /// A value of the thread's state was set.
    StateChanged {
        #[serde(default)]
        state: Value,
        #[serde(default)]
        changed_keys: Vec<String>,
    },
    /// A thread was created.
    ThreadCreated { thread: ThreadInfo },
    /// Another thread is open.
    ThreadChanged { thread_id: ThreadId },
    /// The agent has changed its task list; this is all of it.
    TaskUpdated { tasks: Vec<ThreadTask> },
    /// The tokens of the thread so far.
    UsageUpdate { usage: ThreadUsage },
    /// The permissions files were read.
    PermissionRulesLoaded {
        #[serde(default)]
        rules: usize,
        #[serde(default)]
        notes: Vec<String>,
    },
    /// Messages wait for the end of the turn.
    FollowUpQueued { count: usize },
    /// A turn failed. What it has streamed is void.
    Error {
        error: String,
        #[serde(default)]
        retryable: Option<bool>,
    },
    /// A turn begins.
    AgentStart {},
    /// A turn has ended.
    AgentEnd {
        /// `complete`, `aborted` or `error`.
        reason: String,
    },
    /// A turn of a process that is gone has not ended; `resume` continues it.
    TurnInterrupted {},
    /// An answer begins to stream.
    MessageStart { message: ThreadMessage },
    /// The answer as far as it was written.
    MessageUpdate { message: ThreadMessage },
    /// A message is complete: of the person, of the agent, or the results of calls.
    MessageEnd { message: ThreadMessage },
    /// A call runs.
    ToolStart {
        tool_call_id: String,
        tool_name: String,
        #[serde(default)]
        args: Value,
    },
    /// Output of a command that is running.
    ToolOutput { tool_call_id: String, text: String },
    /// A call has ended, or was refused; `ext` has its tool, its status and why.
    ToolEnd { tool_call_id: String, result: String, is_error: bool },
    /// A call waits for a person; `ext` has the reason, the risk and the rule that "always"
    /// would write.
    ToolApprovalRequired {
        tool_call_id: String,
        tool_name: String,
        #[serde(default)]
        args: Value,
    },
    /// The agent asks the person.
    AskQuestion {
        question_id: String,
        question: String,
        #[serde(default)]
        options: Option<Vec<String>>,
    },
    /// A plan waits for approval.
    PlanApprovalRequired {
        plan_id: String,
        #[serde(default)]
        title: Option<String>,
        plan: String,
    },
    /// A question was answered, or its turn has ended.
    AskClosed { ask_id: String },
    /// A subagent begins; `path` leads to the call that started it.
    SubagentStart { agent_type: String, task: String },
    /// Text that a subagent writes.
    SubagentText { text: String },
    /// A subagent has ended.
    SubagentEnd { agent_type: String, duration_ms: u64 },
    /// The workspace is being opened or closed.
    WorkspaceStatusChanged { status: String },
    /// The workspace can be used.
    WorkspaceReady {},
    /// The workspace cannot be used.
    WorkspaceError { error: String },
    /// Files for agents were read or have changed, or a message mentions files.
    ContextUpdated(ThreadContext),
    /// Old messages have left the prompt.
    ContextCompacted {
        messages: i64,
        #[serde(default)]
        first_message: i64,
    },
    /// What of the thread and its memory is in the prompt.
    OmStatus {
        #[serde(default)]
        windows: Value,
    },
    /// The memory condenses old messages.
    OmObservationStart {},
    /// Old messages were condensed.
    OmObservationEnd {},
    /// Old messages could not be condensed; it is tried again.
    OmObservationFailed {},
    /// The memory condenses its observations.
    OmReflectionStart {},
    /// The observations were condensed.
    OmReflectionEnd {},
    /// The observations could not be condensed; it is tried again.
    OmReflectionFailed {},
    /// Observations are prepared in the background.
    OmBufferingStart {},
    /// Prepared observations are ready.
    OmBufferingEnd {},
    /// Observations could not be prepared.
    OmBufferingFailed {},
    /// Prepared observations are in the prompt now.
    OmActivation {},
    /// A kind that this version does not know.
    #[schemars(skip)]
    #[serde(other)]
    Other,
}

/// A message of a thread.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadMessage {
    /// The same while the message streams and when it is stored.
    pub id: String,
    /// `user`, `assistant` or `tool`.
    pub role: String,
    #[serde(default)]
    pub content: Vec<ThreadMessagePart>,
    /// Whether the message was stopped before it was complete.
    #[serde(default)]
    pub partial: bool,
}

impl ThreadMessage {
    /// Returns the texts of the message, separated by empty lines.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|part| match part {
            ThreadMessagePart::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n\n")
    }
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ThreadMessagePart {
    Text {
        text: String,
    },
    ToolCall {
        tool_call_id: String,
        tool_name: String,
        #[serde(default)]
        args: Value,
    },
    ToolResult {
        tool_call_id: String,
        result: String,
        is_error: bool,
    },
    Image {
        #[serde(default)]
        name: Option<String>,
        /// In bytes; 0 if it is not known.
        #[serde(default)]
        size: u64,
    },
    File {},
    #[serde(other)]
    Other,
}

/// A task of the agent's list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadTask {
    pub content: String,
    /// `pending`, `in_progress` or `completed`.
    pub status: String,
    /// What is shown while it is being done.
    pub active_form: String,
}

/// The tokens of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ThreadUsage {
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
}

/// What the prompt of the next turn consists of.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ThreadContext {
    pub instructions: Vec<NamedFile>,
    pub commands: Vec<NamedCommand>,
    pub mentions: Vec<String>,
    pub problems: Vec<String>,
    pub budget: ThreadContextBudget,
}

/// A file of instructions.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct NamedFile {
    pub path: String,
}

/// A command that a message may begin with.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct NamedCommand {
    pub name: String,
    #[serde(default)]
    pub description: String,
}

/// Estimated tokens of the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ThreadContextBudget {
    pub messages: u64,
    pub total: u64,
    /// Tokens of messages at which a memory condenses them.
    pub message_threshold: Option<u64>,
}

/// A thread in a list.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadInfo {
    pub id: ThreadId,
    #[serde(default)]
    pub title: Option<String>,
    pub updated_at: Timestamp,
    #[serde(default)]
    pub message_count: i64,
    #[serde(default)]
    pub metadata: ThreadFigures,
}

/// Figures of a thread.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ThreadFigures {
    pub token_usage: ThreadUsage,
    /// Credits spent by the turns of the thread.
    pub credits_spent: u64,
    pub tasks: Vec<ThreadTask>,
}
