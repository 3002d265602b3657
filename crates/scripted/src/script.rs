//! Parsed scripts: rules in order, and their answers.

use std::path::Path;
use std::time::Duration;

use ostler_domain::money::price::ModelPrice;
use ostler_engine::model::{ModelErrorKind, StopReason, Usage};
use serde::Deserialize;

use super::condition::Condition;
use super::error::ScriptError;
use super::parse::{self, positive};
use super::template::{JsonTemplate, Template};

/// The size limit of a script.
const MAX_BYTES: u64 = 1024 * 1024;

/// A parsed script: what a model says, and when. The language is described in
/// `docs/SCRIPTED_MODEL.md`.
#[derive(Debug)]
pub struct Script {
    pub(super) model: String,
    pub(super) price: ModelPrice,
    pub(super) strict: bool,
    pub(super) rules: Vec<Rule>,
    pub(super) default: Option<Answers>,
}

impl Script {
    /// Parses a script. `file` is its name in errors.
    ///
    /// ```
    /// use ostler_scripted::Script;
    ///
    /// let wrong = "rules:\n  - when: { usr: hello }\n    answer: Hi!\n";
    /// let error = Script::parse("hello.yaml", wrong).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "hello.yaml:2:13: unknown key `usr`; did you mean `user`?"
    /// );
    /// ```
    pub fn parse(file: &str, text: &str) -> Result<Self, ScriptError> {
        parse::script(text).map_err(|error| error.in_file(file))
    }

    /// Reads and parses a file.
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        let file = path.display().to_string();
        let unreadable = |why: String| ScriptError::Unreadable { file: file.clone(), why };
        let size = std::fs::metadata(path).map_err(|error| unreadable(error.to_string()))?.len();
        if size > MAX_BYTES {
            return Err(unreadable(format!("a script has at most {MAX_BYTES} bytes")));
        }
        let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
        Self::parse(&file, &text)
    }

    /// Returns the name of the model.
    pub fn model(&self) -> &str {
        &self.model
    }
}

#[derive(Debug)]
pub(super) struct Rule {
    pub(super) when: Condition,
    /// How often it answers at most.
    pub(super) times: Option<u64>,
    pub(super) answers: Answers,
}

/// The answers of a rule.
#[derive(Debug)]
pub(super) enum Answers {
    One(Answer),
    /// One after the other, within a turn.
    Steps(Vec<Answer>),
}

impl Answers {
    pub(super) const fn has_steps(&self) -> bool {
        matches!(self, Self::Steps(_))
    }

    /// Returns the answer for a step, starting with 1.
    pub(super) fn at(&self, step: u64) -> Option<&Answer> {
        match self {
            Self::One(answer) => Some(answer),
            Self::Steps(answers) => answers.get(usize::try_from(step).ok()?.checked_sub(1)?),
        }
    }
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) text: Option<Template>,
    pub(super) calls: Vec<Call>,
    pub(super) stop: Option<StopReason>,
    /// The reported usage; `None` means an estimate.
    pub(super) usage: Option<Usage>,
    pub(super) timing: Timing,
    pub(super) fault: Option<Fault>,
    pub(super) wire: WireQuirks,
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) tool: Template,
    pub(super) id: Option<Template>,
    pub(super) arguments: Arguments,
}

#[derive(Debug)]
pub(super) enum Arguments {
    Json(JsonTemplate),
    /// A text that need not be JSON.
    Raw(Template),
}

/// The timing of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Timing {
    /// The wait before the first chunk.
    pub(crate) delay: Duration,
    /// The wait between chunks.
    pub(crate) pause: Duration,
    /// The characters of a chunk; `None` means one chunk.
    pub(crate) chunk: Option<usize>,
}

impl Timing {
    pub(crate) const fn is_instant(self) -> bool {
        self.delay.is_zero() && self.pause.is_zero()
    }
}

/// A failure of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: ModelErrorKind,
    /// After how many chunks it occurs.
    pub(crate) after: usize,
    pub(crate) message: Option<String>,
    pub(crate) retry_after: Option<Duration>,
}

/// Unusual but valid behaviour on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct WireQuirks {
    /// The bytes of each write.
    #[serde(deserialize_with = "positive")]
    pub(crate) split: Option<usize>,
    /// Whether comments or pings are sent between chunks.
    pub(crate) keep_alive: bool,
    /// Whether the final `[DONE]` is missing.
    pub(crate) no_done: bool,
}
