//! Threads of the interactive harness. Keys are those of its events (`docs/HARNESS.md`), so
//! that a client has one form of a thread and of a message.

use ostler_domain::gate::permission::PermissionRules;
use ostler_domain::id::{BlobId, RunId, ThreadId};
use ostler_domain::tool::{ToolCategory, ToolName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Name of the event that says what is going on in a thread. A stream sends it after the
/// events that the client has missed.
pub const SNAPSHOT_EVENT: &str = "snapshot";
/// Name of the event that ends the stream of a thread that was deleted.
pub const DELETED_EVENT: &str = "deleted";

/// A thread and what is going on in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSnapshot {
    /// As in the event `thread_created`.
    pub thread: Value,
    /// The process that works on the thread, if it is another one. What follows is known to
    /// that process only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_id: Option<String>,
    /// The modes that can be chosen.
    #[serde(default)]
    pub modes: Vec<ThreadMode>,
    /// The turn that is running or waits for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<RunId>,
    /// How many messages wait in the queue.
    #[serde(default)]
    pub follow_ups: usize,
    #[serde(default)]
    pub tasks: Vec<Value>,
    /// The events of the questions that wait for an answer.
    #[serde(default)]
    pub asks: Vec<Value>,
    /// The last event of the answer that is being written; it has the text so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<Value>,
}

/// A mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadMode {
    pub id: String,
    pub name: String,
}

/// Body of `POST threads`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateThreadRequest {
    #[serde(default)]
    pub title: Option<String>,
    /// The mode that it begins with.
    #[serde(default)]
    pub mode_id: Option<String>,
}

/// Body of `PATCH threads/ID`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RenameThreadRequest {
    pub title: String,
}

/// Body of `POST threads/ID/clone`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CloneThreadRequest {
    #[serde(default)]
    pub title: Option<String>,
    /// The id of the last message to take over; without it, all are.
    #[serde(default)]
    pub up_to: Option<String>,
}

/// Body of the routes that send a message.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadInput {
    #[serde(default)]
    pub text: String,
    /// Images that were uploaded to the thread; the model sees them after the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<BlobId>,
}

/// Response to `POST threads/ID/images`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UploadedImage {
    /// For `images` of a message.
    pub id: BlobId,
    pub media_type: String,
    /// In bytes.
    pub size: u64,
}

/// What can be chosen for a thread: the response to `GET thread-choices`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ThreadChoices {
    pub modes: Vec<ThreadMode>,
    pub models: Vec<ThreadModel>,
}

/// A model that a thread can use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadModel {
    /// `provider/model`.
    pub id: String,
    pub provider: String,
    /// Whether threads use it where none is chosen.
    pub is_default: bool,
    pub key: ModelKey,
    /// How to set the key, if it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_hint: Option<String>,
    /// Dollars for a million tokens, such as `$3.00`.
    pub input_price: String,
    pub output_price: String,
}

/// Whether the key of a model is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelKey {
    Present,
    NotNeeded,
    Missing,
}

/// Response to the routes that start a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnStarted {
    pub thread_id: ThreadId,
    /// Absent if the message waits in the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<RunId>,
    /// `complete`, `aborted` or `error`, if the request waited for the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Response to `POST threads/ID/abort`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnAborted {
    /// Whether a turn was running.
    pub aborted: bool,
}

/// Body of `POST threads/ID/answers`: the answer to a question, by the id of the question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum AskAnswer {
    Question {
        id: String,
        text: String,
    },
    Approval {
        id: String,
        decision: ApprovalDecision,
        /// Other arguments, with `approve`.
        #[serde(default)]
        arguments: Option<Value>,
        /// Shown to the model, with `decline`.
        #[serde(default)]
        reason: Option<String>,
    },
    Plan {
        id: String,
        decision: PlanDecision,
        /// What to change, with `reject`.
        #[serde(default)]
        feedback: Option<String>,
    },
}

/// The decision about a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalDecision {
    Approve,
    Decline,
    /// Approves, and stops asking for tools of the category while the thread is open.
    Always,
}

/// The decision about a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanDecision {
    Approve,
    Reject,
}

/// Body of `PUT threads/ID/mode`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModeChange {
    pub mode_id: String,
}

/// Body of `PUT threads/ID/model`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelChange {
    pub model_id: String,
    #[serde(default)]
    pub scope: ModelChangeScope,
}

/// Where a chosen model holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelChangeScope {
    #[default]
    Thread,
    /// In the current mode of the thread.
    Mode,
}

/// The permissions of the caller's threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadPermissions {
    /// Stored, for all threads of the caller.
    pub rules: PermissionRules,
    /// Until the thread is closed.
    pub grants: ThreadGrants,
}

/// Tools and categories that are not asked about while a thread is open.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ThreadGrants {
    pub tools: Vec<ToolName>,
    pub categories: Vec<ToolCategory>,
}

/// Body of `PATCH threads/ID/permissions`. What is absent stays.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PermissionChange {
    /// Replaces the stored rules.
    pub rules: Option<PermissionRules>,
    /// Adds grants.
    pub grants: Option<ThreadGrants>,
}

/// The state of the caller's threads: an object of fields.
pub type ThreadState = Map<String, Value>;
