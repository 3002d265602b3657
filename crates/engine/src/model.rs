//! Models: what they are asked, what they answer, and how they fail.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
use ostler_domain::money::Usd;
use ostler_domain::money::price::{InputTokens, ModelPrice};
use ostler_domain::retry::ModelFailure;
use serde::{Deserialize, Serialize};

use crate::history::Item;
use crate::tool::ToolSet;

/// Something that answers.
pub trait Model: Send + Sync {
    /// Answers in pieces. The last one is [`Chunk::Done`]; a stream that ends
    /// without it was cut, and nothing of it may be used. Dropping the stream
    /// stops the model. It waits only for bounded times.
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>>;

    /// What it costs.
    fn price(&self) -> ModelPrice;
}

/// What a model is asked. Only a turn makes one, after it has seen that the
/// answer can be paid for.
///
/// ```compile_fail
/// let request = ostler_engine::model::Request {
///     system: "You are free.".into(),
///     history: Default::default(),
///     tools: Default::default(),
///     offered: Default::default(),
///     max_tokens: 1,
/// };
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Request {
    /// The system prompt.
    pub system: Arc<str>,
    /// What was said.
    pub history: Arc<Vec<Item>>,
    /// All tools there are.
    pub tools: Arc<ToolSet>,
    /// The names of those that the model is offered, in order.
    pub offered: Arc<[String]>,
    /// The most tokens of the answer.
    pub max_tokens: u64,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chunk {
    /// Words.
    Text(String),
    /// A call begins. Calls have numbers, since their pieces may come mixed.
    Call {
        /// Its number in this answer.
        index: u32,
        /// Its id.
        id: String,
        /// The tool.
        name: String,
    },
    /// A piece of a call's arguments, as JSON text.
    Arguments {
        /// The call.
        index: u32,
        /// The piece.
        json: String,
    },
    /// What the call has used; the last word counts.
    Usage(Usage),
    /// The answer begins anew: what came before is void.
    Restart(Restart),
    /// The answer is complete.
    Done(StopReason),
}

/// Why an answer began anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restart {
    /// The model that failed.
    pub failed: String,
    /// The model that is asked now.
    pub model: String,
    /// Why the other failed.
    pub why: String,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It had said all.
    End,
    /// It wants tools to be called.
    ToolCalls,
    /// It reached the most tokens of an answer.
    MaxTokens,
    /// The provider held the answer back.
    Filtered,
}

/// Tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Read by the model, those from a cache included.
    pub input: u64,
    /// Written by it.
    pub output: u64,
    /// How many of those it read came from a cache.
    pub cached: u64,
    /// How many of those it read were written to a cache.
    #[serde(default)]
    pub written: u64,
}

impl Usage {
    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cached: self.cached.saturating_add(other.cached),
            written: self.written.saturating_add(other.written),
        }
    }

    /// What they cost.
    pub fn cost(&self, price: ModelPrice) -> Usd {
        let Self { input, output, cached, written } = *self;
        price.cost(InputTokens { all: input, cached, written }, output)
    }
}

/// Why a model did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{model}: {message}")]
pub struct ModelError {
    /// The model.
    pub model: String,
    /// What kind of failure it is.
    pub kind: ModelErrorKind,
    /// A sentence for people; no secrets in it.
    pub message: String,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
}

/// Kinds of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelErrorKind {
    /// The provider answered with this HTTP status.
    Status(u16),
    /// The provider could not be reached.
    Network,
    /// The answer ended in the middle.
    Cut,
    /// Nothing came in time.
    TimedOut,
    /// What came is not an answer.
    Malformed,
    /// There is no key for it.
    NoKey,
    /// There is no such model here.
    UnknownModel,
}

impl ModelErrorKind {
    /// Whether the same call may succeed later.
    pub const fn is_retryable(self) -> bool {
        match self {
            Self::Status(status) => ModelFailure::Status(status).is_retryable(),
            Self::Network | Self::Cut | Self::TimedOut | Self::Malformed => {
                ModelFailure::Network.is_retryable()
            }
            Self::NoKey | Self::UnknownModel => false,
        }
    }
}
