//! Who stores, shows and reserves for a turn.

use std::future::Future;
use std::time::Duration;

use ostler_domain::money::Credits;
use ostler_domain::time::Timestamp;

use crate::history::{CallId, ToolCall};
use crate::outcome::Outcome;
use crate::turn::{Event, Path, Turn};

/// A call with an effect outside that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// The agent of the turn that makes it.
    pub path: Path,
    /// The call.
    pub call: ToolCall,
    /// The same for every try of the same call.
    pub key: String,
    /// How long it may take.
    pub timeout: Duration,
    /// Whether it may be made again when nobody knows how it ended.
    pub idempotent: bool,
}

/// What a turn needs of its surroundings.
pub trait Host: Send + Sync {
    /// What can go wrong with storing.
    type Error: Send;

    /// Stores the turn as it is, with what it is about to do outside. Nothing is
    /// done before this has succeeded.
    fn checkpoint(
        &self,
        turn: &Turn,
        intents: &[Intent],
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Stores what a call outside came to.
    fn outcome(
        &self,
        path: &Path,
        call: &CallId,
        outcome: &Outcome,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Reserves more, and says how much; nothing if there is no more.
    fn top_up(&self, more: Credits) -> impl Future<Output = Credits> + Send;

    /// Is told what happens. It never blocks, and loses what it cannot take.
    fn event(&self, path: &Path, event: &Event);

    /// The time.
    fn now(&self) -> Timestamp;
}
