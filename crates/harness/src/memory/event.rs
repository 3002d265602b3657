//! The events of a thread's memory, and the stream parts that carry them.
//!
//! Names and keys are a wire contract. A part with `operationType` `reflection` becomes an
//! `om_reflection_*` event, otherwise an `om_observation_*` event.

use ostler_domain::id::ThreadId;
use ostler_domain::memory::MessageSpan;
use ostler_domain::memory::window::{BufferStatus, MemoryTask, TaskKind, WindowStatus};
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of a thread's memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OmStatus {
    pub windows: OmWindows,
    /// The thread and the generation of its observations.
    pub record_id: String,
    pub thread_id: ThreadId,
    /// The step of the turn during which this was measured.
    pub step_number: u64,
    /// How often the observations were reflected on.
    pub generation_count: u64,
}

/// What is in the prompt, and what is prepared for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OmWindows {
    pub active: OmActiveWindows,
    pub buffered: OmBufferedWindows,
}

/// What is in the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OmActiveWindows {
    pub messages: OmWindow,
    pub observations: OmWindow,
}

/// The tokens of a window, and those at which something happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OmWindow {
    pub tokens: u64,
    pub threshold: u64,
}

/// What is prepared for the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OmBufferedWindows {
    pub observations: OmBufferedObservations,
    pub reflection: OmBufferedReflection,
}

/// Observations that wait for activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OmBufferedObservations {
    pub status: BufferStatus,
    pub chunks: usize,
    pub message_tokens: u64,
    /// The tokens of messages that an activation would remove from the prompt.
    pub projected_message_removal: u64,
    pub observation_tokens: u64,
}

/// A reflection that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OmBufferedReflection {
    pub status: BufferStatus,
    pub input_observation_tokens: u64,
    pub observation_tokens: u64,
}

impl OmStatus {
    pub(super) fn new(thread: ThreadId, step: u64, status: &WindowStatus) -> Self {
        let reflecting = status.reflection == BufferStatus::Running;
        let active = OmActiveWindows {
            messages: OmWindow {
                tokens: status.message_tokens,
                threshold: status.message_threshold,
            },
            observations: OmWindow {
                tokens: status.observation_tokens,
                threshold: status.observation_threshold,
            },
        };
        let buffered = OmBufferedWindows {
            observations: OmBufferedObservations {
                status: status.buffering,
                chunks: status.buffered_chunks,
                message_tokens: status.buffered_message_tokens,
                projected_message_removal: status.buffered_message_tokens,
                observation_tokens: status.buffered_observation_tokens,
            },
            reflection: OmBufferedReflection {
                status: status.reflection,
                input_observation_tokens: if reflecting { status.observation_tokens } else { 0 },
                observation_tokens: 0,
            },
        };
        Self {
            windows: OmWindows { active, buffered },
            record_id: format!("{thread}.{}", status.generation),
            thread_id: thread,
            step_number: step,
            generation_count: status.generation,
        }
    }
}

/// What a task does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OmOperation {
    Observation,
    Reflection,
}

/// A task of the observer or the reflector.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OmTask {
    /// The same for the start and the end of a task.
    pub cycle_id: String,
    pub operation_type: OmOperation,
    pub thread_id: ThreadId,
    /// The tokens to condense.
    pub tokens: u64,
    /// The messages to observe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<MessageSpan>,
    /// The first is 1.
    pub attempt: u32,
    /// At the end: the tokens of the observations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observation_tokens: Option<u64>,
    /// At the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When it is tried again after a failure; absent if not before more messages have come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
}

impl OmTask {
    /// Returns a task that starts.
    pub(super) fn new(thread: ThreadId, task: &MemoryTask) -> Self {
        let operation_type = match task.kind {
            TaskKind::Buffering | TaskKind::Observation => OmOperation::Observation,
            TaskKind::Reflection => OmOperation::Reflection,
        };
        Self {
            cycle_id: format!("{thread}.{}", task.number),
            operation_type,
            thread_id: thread,
            tokens: task.tokens,
            span: task.span,
            attempt: task.attempt,
            observation_tokens: None,
            duration_ms: None,
            error: None,
            retry_at: None,
        }
    }
}

/// Observations that took the place of messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OmActivation {
    pub operation_type: OmOperation,
    pub thread_id: ThreadId,
    pub chunks_activated: usize,
    pub span: MessageSpan,
    /// The tokens of messages that left the prompt.
    pub tokens_activated: u64,
    pub observation_tokens: u64,
}

/// An event of a thread's memory. Details beyond the contract are under `ext`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum MemoryEvent {
    #[serde(rename = "om_status")]
    Status(OmStatus),
    #[serde(rename = "om_observation_start")]
    ObservationStart { ext: OmTask },
    #[serde(rename = "om_observation_end")]
    ObservationEnd { ext: OmTask },
    #[serde(rename = "om_observation_failed")]
    ObservationFailed { ext: OmTask },
    #[serde(rename = "om_reflection_start")]
    ReflectionStart { ext: OmTask },
    #[serde(rename = "om_reflection_end")]
    ReflectionEnd { ext: OmTask },
    #[serde(rename = "om_reflection_failed")]
    ReflectionFailed { ext: OmTask },
    #[serde(rename = "om_buffering_start")]
    BufferingStart { ext: OmTask },
    #[serde(rename = "om_buffering_end")]
    BufferingEnd { ext: OmTask },
    #[serde(rename = "om_buffering_failed")]
    BufferingFailed { ext: OmTask },
    #[serde(rename = "om_activation")]
    Activation { ext: OmActivation },
}

/// A stream part that carries an event of the memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum MemoryPart {
    #[serde(rename = "data-om-status")]
    Status(OmStatus),
    #[serde(rename = "data-om-observation-start")]
    ObservationStart(OmTask),
    #[serde(rename = "data-om-observation-end")]
    ObservationEnd(OmTask),
    #[serde(rename = "data-om-observation-failed")]
    ObservationFailed(OmTask),
    #[serde(rename = "data-om-buffering-start")]
    BufferingStart(OmTask),
    #[serde(rename = "data-om-buffering-end")]
    BufferingEnd(OmTask),
    #[serde(rename = "data-om-buffering-failed")]
    BufferingFailed(OmTask),
    #[serde(rename = "data-om-activation")]
    Activation(OmActivation),
}

impl From<MemoryPart> for MemoryEvent {
    fn from(part: MemoryPart) -> Self {
        let is_reflection = |task: &OmTask| task.operation_type == OmOperation::Reflection;
        match part {
            MemoryPart::Status(status) => Self::Status(status),
            MemoryPart::ObservationStart(ext) if is_reflection(&ext) => {
                Self::ReflectionStart { ext }
            }
            MemoryPart::ObservationStart(ext) => Self::ObservationStart { ext },
            MemoryPart::ObservationEnd(ext) if is_reflection(&ext) => Self::ReflectionEnd { ext },
            MemoryPart::ObservationEnd(ext) => Self::ObservationEnd { ext },
            MemoryPart::ObservationFailed(ext) if is_reflection(&ext) => {
                Self::ReflectionFailed { ext }
            }
            MemoryPart::ObservationFailed(ext) => Self::ObservationFailed { ext },
            MemoryPart::BufferingStart(ext) => Self::BufferingStart { ext },
            MemoryPart::BufferingEnd(ext) => Self::BufferingEnd { ext },
            MemoryPart::BufferingFailed(ext) => Self::BufferingFailed { ext },
            MemoryPart::Activation(ext) => Self::Activation { ext },
        }
    }
}

impl From<MemoryEvent> for MemoryPart {
    fn from(event: MemoryEvent) -> Self {
        match event {
            MemoryEvent::Status(status) => Self::Status(status),
            MemoryEvent::ObservationStart { ext } | MemoryEvent::ReflectionStart { ext } => {
                Self::ObservationStart(ext)
            }
            MemoryEvent::ObservationEnd { ext } | MemoryEvent::ReflectionEnd { ext } => {
                Self::ObservationEnd(ext)
            }
            MemoryEvent::ObservationFailed { ext } | MemoryEvent::ReflectionFailed { ext } => {
                Self::ObservationFailed(ext)
            }
            MemoryEvent::BufferingStart { ext } => Self::BufferingStart(ext),
            MemoryEvent::BufferingEnd { ext } => Self::BufferingEnd(ext),
            MemoryEvent::BufferingFailed { ext } => Self::BufferingFailed(ext),
            MemoryEvent::Activation { ext } => Self::Activation(ext),
        }
    }
}
