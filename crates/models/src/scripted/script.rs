//! A script that has been read: rules in order, and what they answer.

use std::path::Path;
use std::time::Duration;

use ostler_domain::money::price::ModelPrice;
use ostler_engine::model::{ModelErrorKind, StopReason, Usage};

use super::condition::When;
use super::error::ScriptError;
use super::read;
use super::template::{JsonTemplate, Template};

/// The most bytes of a script.
const MAX_BYTES: u64 = 1024 * 1024;

/// What a scripted model says, and when. It is read once and never changes; the
/// language is described in `docs/SCRIPTED_MODEL.md`.
#[derive(Debug)]
pub struct Script {
    pub(super) model: String,
    pub(super) price: ModelPrice,
    pub(super) strict: bool,
    pub(super) rules: Vec<Rule>,
    pub(super) default: Option<Answers>,
}

impl Script {
    /// Reads a script. `file` is what errors call it.
    ///
    /// ```
    /// use ostler_models::scripted::Script;
    ///
    /// let wrong = "rules:\n  - when: { usr: hello }\n    answer: Hi!\n";
    /// let error = Script::parse("hello.yaml", wrong).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "hello.yaml:2:13: `when` has no `usr`; did you mean `user`?"
    /// );
    /// ```
    pub fn parse(file: &str, text: &str) -> Result<Self, ScriptError> {
        read::script(text).map_err(|wrong| wrong.in_file(file))
    }

    /// Reads the script in a file.
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

    /// What the model is called.
    pub fn model(&self) -> &str {
        &self.model
    }
}

/// One rule.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) when: When,
    /// How often it answers, at most.
    pub(super) times: Option<u64>,
    pub(super) answers: Answers,
}

/// What is answered.
#[derive(Debug)]
pub(super) enum Answers {
    /// This.
    One(Answer),
    /// One after the other, as long as a turn lasts.
    Steps(Vec<Answer>),
}

impl Answers {
    pub(super) const fn are_steps(&self) -> bool {
        matches!(self, Self::Steps(_))
    }

    /// The answer of a step, the first being 1.
    pub(super) fn at(&self, step: u64) -> Option<&Answer> {
        match self {
            Self::One(answer) => Some(answer),
            Self::Steps(answers) => answers.get(usize::try_from(step).ok()?.checked_sub(1)?),
        }
    }
}

/// One answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) text: Option<Template>,
    pub(super) calls: Vec<Call>,
    pub(super) stop: Option<StopReason>,
    /// What it claims to have used; estimated if it does not say.
    pub(super) usage: Option<Usage>,
    pub(super) pace: Pace,
    pub(super) fault: Option<Fault>,
    pub(super) wire: Wire,
}

/// A call of a tool.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) tool: Template,
    pub(super) id: Option<Template>,
    pub(super) arguments: Arguments,
}

/// The arguments of a call.
#[derive(Debug)]
pub(super) enum Arguments {
    Json(JsonTemplate),
    /// A text instead, which need not be JSON.
    Raw(Template),
}

/// How fast an answer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Pace {
    /// The wait before the first piece.
    pub(crate) delay: Duration,
    /// The wait between two pieces.
    pub(crate) pause: Duration,
    /// The characters of a piece; everything at once if it does not say.
    pub(crate) chunk: Option<usize>,
}

impl Pace {
    pub(crate) const fn is_instant(self) -> bool {
        self.delay.is_zero() && self.pause.is_zero()
    }
}

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: ModelErrorKind,
    /// After how many pieces of the answer.
    pub(crate) after: usize,
    pub(crate) message: Option<String>,
    pub(crate) retry_after: Option<Duration>,
}

/// What is odd about an answer on the wire, without being wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Wire {
    /// The bytes of each write.
    pub(crate) split: Option<usize>,
    /// Whether comments or pings come between the pieces.
    pub(crate) keep_alive: bool,
    /// Whether the last line, `[DONE]`, is missing.
    pub(crate) no_done: bool,
}
