//! Chat completions in the form of the OpenAI API, where an agent is a model.

use ostler_domain::id::{ApprovalId, RunId, SessionId};
use ostler_domain::money::Credits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A message to an agent, with the conversation before it.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub struct CompletionRequest {
    /// The agent: its slug or id, or `ORG/SLUG` for an agent of another organization in which
    /// the caller may work.
    pub model: String,
    /// The conversation so far; the agent answers what follows the last message of the
    /// assistant.
    #[schemars(length(min = 1, max = 1000))]
    pub messages: Vec<CompletionMessage>,
    /// Whether the answer is sent as it is written.
    #[serde(default)]
    pub stream: Option<bool>,
    #[serde(default)]
    pub stream_options: Option<CompletionStreamOptions>,
    /// The most tokens of an answer; the agent's own limit may be lower.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_completion_tokens: Option<u64>,
    /// The older name of `max_completion_tokens`.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u64>,
    /// Who writes, for the record.
    #[serde(default)]
    #[schemars(length(max = 128))]
    pub user: Option<String>,
    #[serde(default)]
    pub metadata: Option<CompletionMetadata>,
    /// Other options of the OpenAI API. Those that cannot be honoured are refused.
    #[serde(flatten)]
    pub options: Map<String, Value>,
}

/// What belongs to a request besides its messages.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompletionMetadata {
    /// The name of a conversation that the server keeps. Earlier messages of the request are
    /// then ignored, because the agent knows them.
    #[serde(default)]
    #[schemars(length(min = 1, max = 128))]
    pub conversation: Option<String>,
}

/// What a stream has besides the answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
pub struct CompletionStreamOptions {
    /// Whether a last chunk has the usage.
    #[serde(default)]
    pub include_usage: Option<bool>,
    /// Accepted and without effect.
    #[serde(default)]
    pub include_obfuscation: Option<bool>,
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub struct CompletionMessage {
    pub role: CompletionRole,
    #[serde(default)]
    pub content: Option<CompletionContent>,
    #[serde(default)]
    pub name: Option<String>,
    /// Calls of tools that the client runs are refused.
    #[serde(default)]
    pub tool_calls: Option<Value>,
}

/// Who wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompletionRole {
    System,
    Developer,
    User,
    Assistant,
    /// Refused: the agent's tools run on the server.
    Tool,
    /// Refused, as `tool`.
    Function,
}

/// The content of a message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CompletionContent {
    Text(String),
    Parts(Vec<CompletionPart>),
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CompletionPart {
    Text { text: String },
    Refusal { refusal: String },
    ImageUrl { image_url: CompletionImage },
}

/// An image.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct CompletionImage {
    /// A `data:` URL with the image in base64.
    pub url: String,
    /// Accepted and without effect.
    #[serde(default)]
    pub detail: Option<String>,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Completion {
    pub id: RunId,
    /// `chat.completion`.
    pub object: String,
    /// In seconds since 1970.
    pub created: i64,
    pub model: String,
    /// One choice.
    pub choices: Vec<CompletionChoice>,
    pub usage: CompletionUsage,
    pub ostler: CompletionRun,
}

/// An answer, of which there is one.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CompletionChoice {
    pub index: u32,
    pub message: CompletionAnswer,
    pub finish_reason: CompletionFinish,
    /// Always `null`.
    pub logprobs: Option<Value>,
}

/// The message of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CompletionAnswer {
    /// `assistant`.
    pub role: String,
    pub content: String,
    /// Always `null`; an answer that a provider withheld has the reason `content_filter`.
    pub refusal: Option<String>,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompletionFinish {
    Stop,
    /// The limit of tokens was reached.
    Length,
    /// The provider withheld the answer.
    ContentFilter,
}

/// Tokens of all model calls of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CompletionUsage {
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
    pub total_tokens: u64,
    pub prompt_tokens_details: CachedTokens,
}

/// How many tokens came from a cache of the provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CachedTokens {
    pub cached_tokens: u64,
}

/// What the OpenAI API does not have: where the answer is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CompletionRun {
    pub run: RunId,
    pub session: SessionId,
    /// Calls that wait for a person.
    pub approvals: Vec<ApprovalId>,
    /// The cost.
    pub credits: Credits,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CompletionChunk {
    pub id: RunId,
    /// `chat.completion.chunk`.
    pub object: &'static str,
    pub created: i64,
    pub model: String,
    /// One, or none in the chunk with the usage.
    pub choices: Vec<CompletionChunkChoice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<CompletionUsage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ostler: Option<CompletionRun>,
}

/// A piece of the one answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CompletionChunkChoice {
    pub index: u32,
    pub delta: CompletionDelta,
    pub finish_reason: Option<CompletionFinish>,
}

/// What a piece adds to the message.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct CompletionDelta {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

/// The agents that a caller may write to, as models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CompletionModels {
    /// `list`.
    pub object: String,
    pub data: Vec<CompletionModel>,
}

/// An agent, as a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CompletionModel {
    /// What a request names as `model`.
    pub id: String,
    /// `model`.
    pub object: String,
    /// In seconds since 1970.
    pub created: i64,
    /// The slug of the organization.
    pub owned_by: String,
    /// The name that customers see.
    pub name: String,
}

/// An error in the form of the OpenAI API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CompletionError {
    pub error: CompletionErrorDetail,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CompletionErrorDetail {
    /// What happened and what to do about it.
    pub message: String,
    #[serde(rename = "type")]
    pub kind: String,
    /// The part of the request that is wrong.
    pub param: Option<String>,
    pub code: Option<String>,
}
