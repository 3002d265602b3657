//! The host of a replayed turn: it stores nothing and reserves credits for its model.

use std::sync::{Mutex, PoisonError};

use ostler_domain::money::Credits;
use ostler_domain::time::Timestamp;
use ostler_engine::driver::{Host, Intent};
use ostler_engine::history::CallId;
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::turn::{AgentPath, Turn, TurnEvent};

use crate::assembly::credits::{TurnFunds, top_up};
use crate::deps::Deps;

pub(super) struct ReplayHost<'a> {
    deps: &'a Deps,
    funds: TurnFunds,
    held: Mutex<Credits>,
}

impl<'a> ReplayHost<'a> {
    pub(super) const fn new(deps: &'a Deps, funds: TurnFunds) -> Self {
        Self { deps, funds, held: Mutex::new(funds.held) }
    }
}

impl Host for ReplayHost<'_> {
    type Error = std::convert::Infallible;

    async fn checkpoint(&self, _: &Turn, _: &[Intent]) -> Result<(), Self::Error> {
        Ok(())
    }

    async fn store_outcome(
        &self,
        _: &AgentPath,
        _: &CallId,
        _: &ToolOutcome,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    async fn top_up(&self, amount: Credits) -> Credits {
        let held = *self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let TurnFunds { payer, reservation, .. } = self.funds;
        let added = top_up(self.deps, payer, reservation, held, amount).await;
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = held + added;
        added
    }

    fn on_event(&self, _: &AgentPath, _: &TurnEvent) {}

    fn now(&self) -> Timestamp {
        self.deps.clock.now()
    }
}
