//! A host of turns that have nothing to store.

use std::convert::Infallible;

use ostler_domain::money::Credits;
use ostler_domain::time::Timestamp;

use super::host::{Host, Intent};
use crate::history::CallId;
use crate::outcome::ToolOutcome;
use crate::turn::{AgentPath, Turn, TurnEvent};

/// A host that stores nothing, drops all events and adds no credits. Its value tells the
/// time.
pub struct UnstoredHost<C>(pub C);

impl<C: Fn() -> Timestamp + Send + Sync> Host for UnstoredHost<C> {
    type Error = Infallible;

    async fn checkpoint(&self, _: &Turn, _: &[Intent]) -> Result<(), Infallible> {
        Ok(())
    }

    async fn store_outcome(
        &self,
        _: &AgentPath,
        _: &CallId,
        _: &ToolOutcome,
    ) -> Result<(), Infallible> {
        Ok(())
    }

    async fn top_up(&self, _: Credits) -> Credits {
        Credits::ZERO
    }

    fn on_event(&self, _: &AgentPath, _: &TurnEvent) {}

    fn now(&self) -> Timestamp {
        (self.0)()
    }
}
