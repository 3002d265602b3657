//! What is stored of a window, and what is shown of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::task::{Backoff, MemoryTask, TaskKind};
use crate::memory::{MemorySettings, MessageSpan};

/// Observed messages that wait for activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedChunk {
    pub span: MessageSpan,
    pub message_tokens: u64,
    pub observation_tokens: u64,
}

/// How far the memory of a thread has come. It is stored when a task starts and ends and
/// after an activation; an activation that was not stored is repeated.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryProgress {
    /// The last message that is no longer in the prompt.
    pub condensed_to: i64,
    /// The last message that is observed, is being observed, or will never be.
    pub observed_to: i64,
    /// Finished observations that wait for activation, oldest first.
    pub staged: Vec<StagedChunk>,
    pub running: Option<MemoryTask>,
    /// The number of tasks started.
    pub tasks: u64,
    /// The number of reflections.
    pub generation: u64,
    pub observer: Backoff,
    pub reflector: Backoff,
}

/// Whether something is prepared for the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BufferStatus {
    Idle,
    Running,
    /// It waits for activation.
    Complete,
}

/// The counts of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowStatus {
    /// The tokens of messages in the prompt.
    pub message_tokens: u64,
    pub message_threshold: u64,
    /// The tokens of observations in the prompt.
    pub observation_tokens: u64,
    pub observation_threshold: u64,
    pub buffering: BufferStatus,
    pub buffered_chunks: usize,
    /// The tokens of messages that an activation would remove.
    pub buffered_message_tokens: u64,
    /// The tokens of observations that it would add.
    pub buffered_observation_tokens: u64,
    pub reflection: BufferStatus,
    pub generation: u64,
}

impl MemoryProgress {
    pub(super) fn status(
        &self,
        settings: &MemorySettings,
        message_tokens: u64,
        observation_tokens: u64,
    ) -> WindowStatus {
        let kind = self.running.as_ref().map(|task| task.kind);
        let buffering = match kind {
            Some(TaskKind::Buffering | TaskKind::Observation) => BufferStatus::Running,
            _ if !self.staged.is_empty() => BufferStatus::Complete,
            _ => BufferStatus::Idle,
        };
        let is_reflecting = kind == Some(TaskKind::Reflection);
        WindowStatus {
            message_tokens,
            message_threshold: settings.observation_threshold,
            observation_tokens,
            observation_threshold: settings.reflection_threshold,
            buffering,
            buffered_chunks: self.staged.len(),
            buffered_message_tokens: self.staged.iter().map(|chunk| chunk.message_tokens).sum(),
            buffered_observation_tokens: self
                .staged
                .iter()
                .map(|chunk| chunk.observation_tokens)
                .sum(),
            reflection: if is_reflecting { BufferStatus::Running } else { BufferStatus::Idle },
            generation: self.generation,
        }
    }
}
