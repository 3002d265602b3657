//! Souls of agents and the prompts that result.

use ostler_domain::soul::{Soul, SoulVersion};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The versions of a soul, from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SoulVersions {
    pub items: Vec<SoulVersion>,
}

/// Body of `POST agents/AGENT/soul/rollback`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RollbackRequest {
    /// The version to restore as a new one.
    pub version: u32,
}

/// Body of `POST agents/AGENT/prompt`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptRequest {
    /// The soul to use instead of the current one.
    pub soul: Soul,
}

/// The system prompt of an agent in a new conversation, without documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptPreview {
    pub prompt: String,
}
