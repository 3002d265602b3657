//! Cells: what happened in a thread, as a list that events fold into. Nothing here knows a
//! width, a colour or a key, so that the same events give the same cells everywhere.

mod ask;
mod fold;
mod history;
mod tool;

use std::collections::BTreeMap;

use ostler_api::thread_event::{
    NamedCommand, ThreadContextBudget, ThreadMessagePart, ThreadTask, ThreadUsage,
};
use serde_json::Value;

pub(crate) use ask::{Ask, AskKind};
pub(crate) use tool::{AgentRun, ToolCell, ToolStatus};

use crate::text::line::Line;
use crate::text::markdown::MarkdownStream;
use crate::text::sanitize::one_line;

/// An entry of the transcript.
#[derive(Debug, Clone)]
pub(crate) enum Cell {
    /// What the person has written.
    User {
        text: String,
        /// What was added to the text, in words.
        attachments: Vec<String>,
    },
    Answer(AnswerCell),
    Tool(ToolCell),
    /// A question of the agent and its answer.
    Question {
        question: String,
        answer: String,
    },
    /// A plan and what the person said to it.
    Plan {
        title: Option<String>,
        plan: String,
        verdict: String,
    },
    /// The task list as it was written; `whole` if the person wants to see it.
    Tasks {
        tasks: Vec<ThreadTask>,
        whole: bool,
    },
    Error(String),
    Notice(String),
}

/// A text of the agent.
#[derive(Debug, Clone, Default)]
pub(crate) struct AnswerCell {
    pub(crate) message: String,
    pub(crate) text: String,
    pub(crate) state: AnswerState,
}

/// Where the text of an answer stands.
#[derive(Debug, Clone, Default)]
pub(crate) enum AnswerState {
    /// The text streams in; lines that are final are kept.
    Streaming { stream: MarkdownStream, lines: Vec<Line> },
    #[default]
    Complete,
    /// The person has stopped it.
    Stopped,
    /// Another model begins again.
    Discarded,
}

impl Cell {
    /// Returns whether the cell will never change again.
    pub(crate) fn is_final(&self) -> bool {
        match self {
            Self::Answer(answer) => !matches!(answer.state, AnswerState::Streaming { .. }),
            Self::Tool(tool) => tool.status.is_final(),
            _ => true,
        }
    }
}

/// What a thread does at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Activity {
    #[default]
    Idle,
    Working,
    /// A turn of a process that is gone waits to be continued.
    Interrupted,
}

/// A thread as it is shown.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    pub(crate) cells: Vec<Cell>,
    /// The questions that wait for an answer, the oldest first.
    pub(crate) asks: Vec<Ask>,
    pub(crate) tasks: Vec<ThreadTask>,
    pub(crate) usage: ThreadUsage,
    pub(crate) budget: ThreadContextBudget,
    /// The commands of the workspace that a message may begin with.
    pub(crate) commands: Vec<NamedCommand>,
    pub(crate) mode: String,
    pub(crate) model: String,
    pub(crate) activity: Activity,
    pub(crate) queued: usize,
    pub(crate) observing: bool,
    /// When the turn began, in milliseconds.
    pub(crate) started_at: i64,
    /// The number of the last stored event.
    seen: i64,
    /// The question or plan that was asked last.
    asked: Option<AskKind>,
    /// The arguments of calls that were asked about.
    pending_args: BTreeMap<String, Value>,
    /// Stored calls whose result is shown in another form, with their tool.
    own_form_calls: BTreeMap<String, String>,
}

/// Describes what was added to a message.
fn attachment(part: &ThreadMessagePart) -> String {
    match part {
        ThreadMessagePart::Image { name, size } => {
            let name = name.as_deref().map_or_else(|| "image".to_owned(), one_line);
            match size {
                0 => name,
                size => format!("{name}, {}", byte_count(*size)),
            }
        }
        ThreadMessagePart::Text { text } => format!("{} characters", text.chars().count()),
        _ => "file".to_owned(),
    }
}

/// Returns a number of bytes as people read it.
pub(crate) fn byte_count(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", bytes.div_ceil(1024)),
        _ => format!("{}.{} MiB", bytes >> 20, ((bytes & 0xf_ffff) * 10) >> 20),
    }
}

impl Transcript {
    /// Adds a notice of the program itself.
    pub(crate) fn notice(&mut self, text: impl Into<String>) {
        self.cells.push(Cell::Notice(text.into()));
    }
}
