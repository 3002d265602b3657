//! One dispatch to the agent: only when the breaker lets it, within its time,
//! and without a panic getting out.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::task::Poll;

use futures_util::FutureExt;
use ostler_bus::now;
use ostler_domain::dispatch::breaker::{BreakerState, Outcome, Permit, Tripped};
use ostler_domain::dispatch::failure::FailureClass;
use ostler_domain::time::Timestamp;

use super::Harness;
use super::dispatch::Undone;
use crate::queue::agent::{AgentError, Reply};
use crate::queue::context::AgentContext;

type Answer = Result<Option<Reply>, AgentError>;

impl Harness {
    pub(super) async fn attempt(&self, context: &AgentContext) -> Result<Answer, Undone> {
        let permit = match self.admit_now() {
            Ok(permit) => permit,
            Err(_) => Box::pin(self.admit()).await?,
        };
        let answer = self.process(context).await;
        let outcome = match &answer {
            Ok(_) => Outcome::Succeeded,
            Err(error) if error.class.counts_against_agent() => Outcome::Failed,
            Err(_) => Outcome::Abandoned,
        };
        if let Some(state) = self.report(permit, outcome) {
            Box::pin(self.breaker_changed(context, state)).await;
        }
        Ok(answer)
    }

    async fn process(&self, context: &AgentContext) -> Answer {
        let processing = self.agent.process_any(context, &context.cause);
        let mut guarded = pin!(AssertUnwindSafe(processing).catch_unwind());
        // Many agents answer at once, and no clock has to run for them.
        let first = std::future::poll_fn(|cx| Poll::Ready(guarded.as_mut().poll(cx))).await;
        let ended = match first {
            Poll::Ready(ended) => Ok(ended),
            Poll::Pending => tokio::time::timeout(self.spec.patience, guarded).await,
        };
        match ended {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(AgentError::new(FailureClass::Application, "the agent panicked")),
            Err(_) => {
                let millis = self.spec.patience.as_millis();
                let reason = format!("the agent took longer than {millis} ms");
                Err(AgentError::new(FailureClass::Timeout, reason))
            }
        }
    }

    fn admit_now(&self) -> Result<Permit, Tripped> {
        let mut breaker = self.breaker();
        // A closed breaker does not look at the clock.
        let closed = matches!(breaker.state(), BreakerState::Closed { .. });
        breaker.admit(if closed { Timestamp::default() } else { now() })
    }

    /// Waits until the breaker lets a message through.
    async fn admit(&self) -> Result<Permit, Undone> {
        loop {
            let moved = self.breaker_moved.notified();
            let tripped = match self.admit_now() {
                Ok(permit) => return Ok(permit),
                Err(tripped) => tripped,
            };
            tokio::select! {
                () = moved => {}
                () = cooled(tripped) => {}
                () = self.closing() => return Err(Undone::closing()),
            }
        }
    }

    /// Tells the breaker; returns its state if it opened or closed by that.
    fn report(&self, permit: Permit, outcome: Outcome) -> Option<BreakerState> {
        let mut breaker = self.breaker();
        let before = breaker.state();
        let closed = |state| matches!(state, BreakerState::Closed { .. });
        let quiet = closed(before) && outcome == Outcome::Succeeded;
        breaker.report(permit, outcome, if quiet { Timestamp::default() } else { now() });
        let after = breaker.state();
        (!closed(before) || !closed(after)).then_some(after)
    }

    /// Tells those who wait for the breaker, and the registry.
    async fn breaker_changed(&self, context: &AgentContext, state: BreakerState) {
        self.breaker_moved.notify_waiters();
        let agent = &self.spec.name;
        let told = if matches!(state, BreakerState::Closed { .. }) {
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
async fn cooled(tripped: Tripped) {
    match tripped.until {
        Some(until) => tokio::time::sleep(until.since(now())).await,
        None => std::future::pending().await,
    }
}
