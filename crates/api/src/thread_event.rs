//! Events of a thread of the interactive harness, as clients read them.
//!
//! `docs/HARNESS.md` lists them. An event of a kind that this version does not know is
//! [`ThreadEventKind::Other`], so that an older client can follow a newer server.

use ostler_domain::id::{RunId, ThreadId};
use ostler_domain::time::Timestamp;
use serde::Deserialize;
use serde_json::Value;

/// An event of a thread.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ThreadEvent {
    #[serde(flatten)]
    pub kind: ThreadEventKind,
    pub ext: ThreadEventDetails,
}

/// What is known of an event beyond the keys of its kind.
#[derive(Debug, Clone, PartialEq, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ThreadEventKind {
    ModeChanged {
        mode_id: String,
    },
    ModelChanged {
        model_id: String,
    },
    ThreadCreated {
        thread: ThreadInfo,
    },
    ThreadChanged {
        thread_id: ThreadId,
    },
    TaskUpdated {
        tasks: Vec<ThreadTask>,
    },
    UsageUpdate {
        usage: ThreadUsage,
    },
    PermissionRulesLoaded {
        #[serde(default)]
        rules: usize,
        #[serde(default)]
        notes: Vec<String>,
    },
    FollowUpQueued {
        count: usize,
    },
    Error {
        error: String,
        #[serde(default)]
        retryable: Option<bool>,
    },
    AgentStart {},
    AgentEnd {
        /// `complete`, `aborted` or `error`.
        reason: String,
    },
    TurnInterrupted {},
    MessageStart {
        message: ThreadMessage,
    },
    MessageUpdate {
        message: ThreadMessage,
    },
    MessageEnd {
        message: ThreadMessage,
    },
    ToolStart {
        tool_call_id: String,
        tool_name: String,
        #[serde(default)]
        args: Value,
    },
    ToolOutput {
        tool_call_id: String,
        text: String,
    },
    ToolEnd {
        tool_call_id: String,
        result: String,
        is_error: bool,
    },
    ToolApprovalRequired {
        tool_call_id: String,
        tool_name: String,
        #[serde(default)]
        args: Value,
    },
    AskQuestion {
        question_id: String,
        question: String,
        #[serde(default)]
        options: Option<Vec<String>>,
    },
    PlanApprovalRequired {
        plan_id: String,
        #[serde(default)]
        title: Option<String>,
        plan: String,
    },
    AskClosed {
        ask_id: String,
    },
    SubagentStart {
        agent_type: String,
        task: String,
    },
    SubagentText {
        text: String,
    },
    SubagentEnd {
        agent_type: String,
        duration_ms: u64,
    },
    WorkspaceError {
        error: String,
    },
    ContextUpdated(ThreadContext),
    ContextCompacted {
        messages: i64,
    },
    OmObservationStart {},
    OmObservationEnd {},
    OmObservationFailed {},
    #[serde(other)]
    Other,
}

/// A message of a thread.
#[derive(Debug, Clone, PartialEq, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Deserialize)]
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
    Image {},
    File {},
    #[serde(other)]
    Other,
}

/// A task of the agent's list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadTask {
    pub content: String,
    /// `pending`, `in_progress` or `completed`.
    pub status: String,
    /// What is shown while it is being done.
    pub active_form: String,
}

/// The tokens of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ThreadUsage {
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
}

/// What the prompt of the next turn consists of.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ThreadContext {
    pub instructions: Vec<NamedFile>,
    pub commands: Vec<NamedCommand>,
    pub mentions: Vec<String>,
    pub problems: Vec<String>,
    pub budget: ThreadContextBudget,
}

/// A file of instructions.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NamedFile {
    pub path: String,
}

/// A command that a message may begin with.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NamedCommand {
    pub name: String,
    #[serde(default)]
    pub description: String,
}

/// Estimated tokens of the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ThreadContextBudget {
    pub messages: u64,
    pub total: u64,
    /// Tokens of messages at which a memory condenses them.
    pub message_threshold: Option<u64>,
}

/// A thread in a list.
#[derive(Debug, Clone, PartialEq, Deserialize)]
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
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ThreadFigures {
    pub token_usage: ThreadUsage,
    /// Credits spent by the turns of the thread.
    pub credits_spent: u64,
    pub tasks: Vec<ThreadTask>,
}
