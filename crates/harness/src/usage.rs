//! Token counts.

use ostler_engine::model::Usage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The tokens of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenUsage {
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
    pub total_tokens: u64,
}

impl TokenUsage {
    pub(crate) const fn add(&mut self, usage: Usage) {
        self.prompt_tokens = self.prompt_tokens.saturating_add(usage.input);
        self.completion_tokens = self.completion_tokens.saturating_add(usage.output);
        self.total_tokens = self.prompt_tokens.saturating_add(self.completion_tokens);
    }
}
