//! The host: stores a turn, publishes its events and reserves its credits.

use std::future::Future;
use std::time::Duration;

use ostler_domain::money::Credits;
use ostler_domain::time::Timestamp;

use crate::extensions::Extensions;
use crate::history::{CallId, ToolCall};
use crate::outcome::ToolOutcome;
use crate::turn::{AgentPath, Turn, TurnEvent};

/// A call with an external effect that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// The agent that makes the call.
    pub path: AgentPath,
    pub call: ToolCall,
    /// The same for every attempt of the same call.
    pub idempotency_key: String,
    pub timeout: Duration,
    /// Whether the call may be repeated when its outcome is unknown.
    pub idempotent: bool,
}

/// The environment a turn runs in.
pub trait Host: Send + Sync {
    /// A storage failure.
    type Error: Send;

    /// Stores the turn together with the external calls it is about to make. The driver
    /// makes no such call before this has succeeded.
    fn checkpoint(
        &self,
        turn: &Turn,
        intents: &[Intent],
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Stores the outcome of an external call.
    fn store_outcome(
        &self,
        path: &AgentPath,
        call: &CallId,
        outcome: &ToolOutcome,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Reserves more credits and returns how many; zero if there are none left.
    fn top_up(&self, amount: Credits) -> impl Future<Output = Credits> + Send;

    /// Receives an event. Must not block; drops events it cannot take.
    fn on_event(&self, path: &AgentPath, event: &TurnEvent);

    /// Returns whether the turn is to be stored although no external call is made, because
    /// an event reported something that must not be lost.
    fn wants_checkpoint(&self) -> bool {
        false
    }

    /// Returns what the tools of the turn are given.
    fn extensions(&self) -> Extensions {
        Extensions::default()
    }

    /// Returns the current time.
    fn now(&self) -> Timestamp;
}
