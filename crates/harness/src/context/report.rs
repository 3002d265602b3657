//! What the context of a thread consists of, and how many tokens it takes.

use serde::{Deserialize, Serialize};

/// What the next request of a thread consists of, besides the messages themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextReport {
    /// Files of instructions that the model was shown.
    pub instructions: Vec<ContextFile>,
    pub skills: Vec<ContextSkill>,
    /// Commands that a message may begin with: `/name`.
    pub commands: Vec<ContextCommand>,
    /// Files that the last message mentioned.
    pub mentions: Vec<String>,
    /// Mistakes in the files, and mentions that could not be added, in sentences.
    pub problems: Vec<String>,
    pub budget: ContextBudget,
}

/// A file of instructions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextFile {
    /// The path relative to the root of the workspace.
    pub path: String,
    pub tokens: u64,
    /// Whether only the beginning of the file is in the prompt.
    pub is_truncated: bool,
}

/// A skill that the model knows of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextSkill {
    pub name: String,
    pub description: String,
    pub path: String,
}

/// A command that stands for a prompt or a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextCommand {
    pub name: String,
    pub description: String,
}

/// Estimated tokens of the next request, by what takes them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextBudget {
    /// The agent's own instructions.
    pub agent: u64,
    /// Instructions and skills of the workspace.
    pub workspace: u64,
    /// The definitions of the tools.
    pub tools: u64,
    /// The conversation, with observations that stand for old messages.
    pub messages: u64,
    pub total: u64,
    /// Tokens of messages at which a memory condenses them; absent without a memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_threshold: Option<u64>,
}
