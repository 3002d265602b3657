//! The model interface: requests, streamed answers, errors.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
use ostler_domain::money::Usd;
use ostler_domain::money::price::{InputTokens, ModelPrice};
use ostler_domain::retry::ModelFailure;
use serde::{Deserialize, Serialize};

use crate::history::Item;
use crate::tool::ToolSet;

/// A language model.
pub trait Model: Send + Sync {
    /// Streams an answer. The last item is [`Chunk::Done`]; an answer whose stream ends
    /// without it is incomplete and must not be used. Dropping the stream cancels the
    /// request. All waits are bounded.
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>>;

    /// Returns the price of the model.
    fn price(&self) -> ModelPrice;
}

/// A request to a model. Only a turn can create one, after checking that the answer
/// can be paid for:
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
    pub system: Arc<str>,
    pub history: Arc<Vec<Item>>,
    /// All tools that exist.
    pub tools: Arc<ToolSet>,
    /// The names of the tools the model may call, in order.
    pub offered: Arc<[String]>,
    /// The most tokens the answer may have.
    pub max_tokens: u64,
}

/// A part of a streamed answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chunk {
    Text(String),
    /// The start of a call. Calls have an index, because their parts may be
    /// interleaved.
    Call {
        index: u32,
        id: String,
        name: String,
    },
    /// A part of a call's arguments, as JSON text.
    Arguments {
        index: u32,
        json: String,
    },
    /// The tokens used so far; the last value counts.
    Usage(Usage),
    /// The answer starts again. Everything before it is discarded.
    Restart(Restart),
    /// The answer is complete.
    Done(StopReason),
}

/// The reason why an answer started again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restart {
    /// The model that failed.
    pub failed: String,
    /// The model asked next.
    pub model: String,
    pub why: String,
}

/// The reason why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The answer is finished.
    End,
    ToolCalls,
    MaxTokens,
    /// The provider withheld the answer.
    Filtered,
}

/// Token counts of one or more model calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// All input tokens, including cached ones.
    pub input: u64,
    pub output: u64,
    /// The input tokens read from a cache.
    pub cached: u64,
    /// The input tokens written to a cache.
    #[serde(default)]
    pub written: u64,
}

impl Usage {
    /// Adds two counts.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cached: self.cached.saturating_add(other.cached),
            written: self.written.saturating_add(other.written),
        }
    }

    /// Returns the cost at a price.
    pub fn cost(&self, price: ModelPrice) -> Usd {
        let Self { input, output, cached, written } = *self;
        price.cost(InputTokens { total: input, cached, cache_written: written }, output)
    }
}

/// The failure of a model call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{model}: {message}")]
pub struct ModelError {
    pub model: String,
    pub kind: ModelErrorKind,
    /// A sentence for people. Contains no secrets.
    pub message: String,
    /// The wait requested by the provider.
    pub retry_after: Option<Duration>,
}

/// The kind of a [`ModelError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelErrorKind {
    /// The provider answered with this HTTP status.
    Status(u16),
    /// The provider could not be reached.
    Network,
    /// The stream ended before the answer was complete.
    Incomplete,
    TimedOut,
    /// The response is not a valid answer.
    Malformed,
    /// No API key is configured.
    NoKey,
    UnknownModel,
}

impl ModelErrorKind {
    /// Returns whether the same request may succeed later.
    pub const fn is_retryable(self) -> bool {
        match self {
            Self::Status(status) => ModelFailure::Status(status).is_retryable(),
            Self::Network | Self::Incomplete | Self::TimedOut | Self::Malformed => {
                ModelFailure::Network.is_retryable()
            }
            Self::NoKey | Self::UnknownModel => false,
        }
    }
}
