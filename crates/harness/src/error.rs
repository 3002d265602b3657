//! Errors of a harness.

use ostler_domain::id::{BlobId, RunId, ThreadId};
use ostler_domain::memory::MemorySettingsError;
use ostler_domain::time::Timestamp;
use ostler_engine::subagent::SubagentError;
use ostler_engine::tool::ToolSetError;
use ostler_engine::turn::LoadError;
use ostler_store::StoreError;
use ostler_workspace::error::WorkspaceError;

use crate::permission_files::PermissionFileError;

/// The reason why a harness cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("a harness needs a mode; add one with `mode`")]
    NoMode,
    #[error("there are two modes named `{0}`; give one of them another id")]
    DuplicateMode(String),
    #[error("{0} modes are marked as the default; mark exactly one with `default_mode`")]
    DefaultMode(usize),
    #[error("a harness needs models; set them with `models`")]
    NoModels,
    #[error("the initial state is not valid: {0}")]
    InvalidState(String),
    #[error("the schema of the state cannot be used: {0}")]
    StateSchema(String),
    #[error(transparent)]
    Tools(#[from] ToolSetError),
    #[error(transparent)]
    Subagents(#[from] SubagentError),
    #[error(transparent)]
    Memory(#[from] MemorySettingsError),
    #[error("there are two heartbeats named `{0}`; give one of them another id")]
    DuplicateHeartbeat(String),
}

/// The reason why an operation of a harness failed. It changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum HarnessError {
    #[error("there is no mode `{0}`")]
    UnknownMode(String),
    #[error("there is no model `{0}`")]
    UnknownModel(String),
    /// The model has no key.
    #[error("the model `{model}` cannot be used: {hint}")]
    ModelNotReady { model: String, hint: String },
    #[error("there is no subagent `{0}`")]
    UnknownSubagent(String),
    #[error("there is no run {0} of a subagent")]
    UnknownSubagentRun(RunId),
    #[error("there is no thread {0}")]
    UnknownThread(ThreadId),
    #[error("no thread is selected; create or select one first")]
    NoThread,
    #[error("the harness does not work on the thread {0} any more")]
    ThreadClosed(ThreadId),
    #[error("the turn stopped because the program has a fault; select the thread to resume it")]
    TurnPanicked,
    #[error("the thread is in use by {holder}; close it there first")]
    ThreadInUse { holder: String, until: Timestamp },
    /// Another process has taken the thread over.
    #[error("another process works on this thread now; select it again to take it back")]
    ThreadLost,
    #[error("a turn is running; use `follow_up` to queue the message or `steer` to replace it")]
    Busy,
    /// The ledger of the org does not pay for another turn.
    #[error("the organization has no credits left; grant some first")]
    NoCredits,
    #[error("there is nothing to resume or retry")]
    NothingToResume,
    #[error("the question {0} is not open; it was answered, or its turn has ended")]
    AskNotOpen(String),
    #[error("{ask} is {expected}; this answer is for another kind of question")]
    OtherKindOfAsk { ask: String, expected: &'static str },
    #[error("the arguments do not match the schema of the tool: {0}")]
    InvalidArguments(String),
    #[error(transparent)]
    PermissionFile(#[from] PermissionFileError),
    #[error("the rule is not valid: {0}")]
    InvalidRule(String),
    #[error(
        "this rule would not allow the call, so nothing was written; see what asked in `ext.why` \
         of the question"
    )]
    RuleCannotAnswer,
    #[error("the state is not valid: {0}")]
    InvalidState(String),
    #[error("the message is empty")]
    EmptyMessage,
    #[error("there are already {0} follow-ups in the queue")]
    QueueFull(usize),
    #[error("there is a heartbeat `{0}` already")]
    DuplicateHeartbeat(String),
    #[error("a stored message cannot be read: {0}")]
    UnreadableMessage(String),
    #[error(transparent)]
    UnreadableTurn(#[from] LoadError),
    #[error(transparent)]
    Tools(#[from] ToolSetError),
    #[error(transparent)]
    Subagents(#[from] SubagentError),
    #[error("this is no image; PNG, JPEG, GIF and WebP are understood")]
    NotAnImage,
    #[error("an image has at most {0} bytes")]
    ImageTooLarge(u64),
    #[error("there are already {0} images in the thread")]
    TooManyImages(u64),
    #[error("there is no image {0} in the thread")]
    UnknownImage(BlobId),
    #[error("there is no workspace")]
    NoWorkspace,
    #[error("the thread has no memory; give the harness one with `memory`")]
    NoMemory,
    #[error(transparent)]
    MemorySettings(#[from] MemorySettingsError),
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(transparent)]
    Store(#[from] StoreError),
}
