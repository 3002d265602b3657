//! One dispatch to the agent: only when the breaker lets it, within its time,
//! and without a panic getting out.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use ostler_bus::now;
use ostler_domain::dispatch::breaker::{BreakerState, Outcome, Permit, Tripped};
use ostler_domain::dispatch::failure::FailureClass;
use ostler_domain::time::Timestamp;

use super::Harness;
use super::dispatch::Undone;
use crate::queue::agent::{AgentError, Reply};
use crate::queue::context::AgentContext;

impl Harness {
    pub(super) async fn attempt(
        &self,
        context: &AgentContext,
    ) -> Result<Result<Option<Reply>, AgentError>, Undone> {
        let permit = self.admit().await?;
        let processing = self.agent.process_any(context, &context.cause);
        let guarded = AssertUnwindSafe(processing).catch_unwind();
        let result = match tokio::time::timeout(self.spec.patience, guarded).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(AgentError::new(FailureClass::Application, "the agent panicked")),
            Err(_) => {
                let reason =
                    format!("the agent took longer than {} ms", self.spec.patience.as_millis());
                Err(AgentError::new(FailureClass::Timeout, reason))
            }
        };
        let outcome = match &result {
            Ok(_) => Outcome::Succeeded,
            Err(error) if error.class.counts_against_agent() => Outcome::Failed,
            Err(_) => Outcome::Abandoned,
        };
        self.report(context, permit, outcome).await;
        Ok(result)
    }

    /// Waits until the breaker lets a message through.
    async fn admit(&self) -> Result<Permit, Undone> {
        loop {
            let moved = self.breaker_moved.notified();
            let now = now();
            let tripped = match self.breaker().admit(now) {
                Ok(permit) => return Ok(permit),
                Err(tripped) => tripped,
            };
            tokio::select! {
                () = moved => {}
                () = cooled(tripped, now) => {}
                () = self.closing() => return Err(Undone::closing()),
            }
        }
    }

    /// Tells the breaker; if it opens or closes by that, the registry too.
    async fn report(&self, context: &AgentContext, permit: Permit, outcome: Outcome) {
        let (before, after) = {
            let mut breaker = self.breaker();
            let before = breaker.state();
            breaker.report(permit, outcome, now());
            (before, breaker.state())
        };
        let closed = |state| matches!(state, BreakerState::Closed { .. });
        if closed(before) && closed(after) {
            return;
        }
        self.breaker_moved.notify_waiters();
        let agent = &self.spec.name;
        let told = if closed(after) {
            tracing::info!(%agent, "the agent works again");
            context.runtime.renew(self).await
        } else {
            tracing::warn!(%agent, "the agent failed too often and is left alone for a while");
            context.runtime.registry().withdraw(agent).await.map(drop)
        };
        if let Err(error) = told {
            tracing::warn!(%agent, %error, "the registry was not told of the agent's breaker");
        }
    }
}

/// Returns when it makes sense to ask the breaker again.
async fn cooled(tripped: Tripped, now: Timestamp) {
    match tripped.until {
        Some(until) => tokio::time::sleep(until.since(now)).await,
        None => std::future::pending().await,
    }
}
