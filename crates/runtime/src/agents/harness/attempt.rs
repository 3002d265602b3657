//! One call of the agent, guarded by the circuit breaker, a timeout and a panic
//! handler.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::task::Poll;

use futures_util::FutureExt;
use ostler_bus::now;
use ostler_domain::queue_agent::breaker::{
    BreakerOpen, BreakerOutcome, BreakerPermit, BreakerState,
};
use ostler_domain::queue_agent::failure::FailureClass;
use ostler_domain::time::Timestamp;
use ostler_engine::driver::TRACE_TARGET;
use tracing::{Instrument as _, Span, field};

use super::QueueAgentHarness;
use super::dispatch::NotHandled;
use crate::agents::agent::{AgentError, AgentReply};
use crate::agents::context::AgentContext;
use crate::trace_context::continue_trace;

type Answer = Result<Option<AgentReply>, AgentError>;

impl QueueAgentHarness {
    pub(super) async fn attempt(&self, context: &AgentContext) -> Result<Answer, NotHandled> {
        let permit = match self.try_admit() {
            Ok(permit) => permit,
            Err(_) => Box::pin(self.wait_for_permit()).await?,
        };
        let answer = self.process(context).await;
        let outcome = match &answer {
            Ok(_) => BreakerOutcome::Succeeded,
            Err(error) if error.class.counts_against_agent() => BreakerOutcome::Failed,
            Err(_) => BreakerOutcome::Abandoned,
        };
        if let Some(state) = self.report_to_breaker(permit, outcome) {
            Box::pin(self.on_breaker_changed(context, state)).await;
        }
        Ok(answer)
    }

    async fn process(&self, context: &AgentContext) -> Answer {
        let span = self.span(context);
        let processing = self.agent.process_dyn(context, &context.cause).instrument(span);
        let mut guarded = pin!(AssertUnwindSafe(processing).catch_unwind());
        // Many agents answer on the first poll and need no timer.
        let first = std::future::poll_fn(|cx| Poll::Ready(guarded.as_mut().poll(cx))).await;
        let ended = match first {
            Poll::Ready(ended) => Ok(ended),
            Poll::Pending => tokio::time::timeout(self.spec.timeout, guarded).await,
        };
        match ended {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(AgentError::new(FailureClass::Application, "the agent panicked")),
            Err(_) => {
                let millis = self.spec.timeout.as_millis();
                let reason = format!("the agent took longer than {millis} ms");
                Err(AgentError::new(FailureClass::Timeout, reason))
            }
        }
    }

    /// Returns the span of a call of the agent, in the trace of its message.
    fn span(&self, context: &AgentContext) -> Span {
        let cause = &context.cause;
        let span = tracing::info_span!(
            target: TRACE_TARGET,
            "process",
            otel.name = field::Empty,
            otel.kind = "consumer",
            messaging.operation.name = "process",
            messaging.message.id = %cause.message.id,
            gen_ai.agent.name = self.spec.name.as_str(),
            ostler.reference = %cause.reference,
        );
        if !span.is_disabled() {
            span.record("otel.name", format_args!("process {}", self.spec.name));
        }
        continue_trace(&span, cause.context.traceparent.as_ref());
        span
    }

    fn try_admit(&self) -> Result<BreakerPermit, BreakerOpen> {
        let mut breaker = self.breaker();
        // A closed breaker does not use the time.
        let closed = matches!(breaker.state(), BreakerState::Closed { .. });
        breaker.admit(if closed { Timestamp::default() } else { now() })
    }

    /// Waits until the breaker admits a message.
    async fn wait_for_permit(&self) -> Result<BreakerPermit, NotHandled> {
        loop {
            let changed = self.breaker_changed.notified();
            let tripped = match self.try_admit() {
                Ok(permit) => return Ok(permit),
                Err(tripped) => tripped,
            };
            tokio::select! {
                () = changed => {}
                () = wait_for_cooldown(tripped) => {}
                () = self.closing() => return Err(NotHandled::closing()),
            }
        }
    }

    /// Reports an outcome to the breaker. Returns its state if that opened or
    /// closed it.
    fn report_to_breaker(
        &self,
        permit: BreakerPermit,
        outcome: BreakerOutcome,
    ) -> Option<BreakerState> {
        let mut breaker = self.breaker();
        let before = breaker.state();
        let closed = |state| matches!(state, BreakerState::Closed { .. });
        let quiet = closed(before) && outcome == BreakerOutcome::Succeeded;
        breaker.report(permit, outcome, if quiet { Timestamp::default() } else { now() });
        let after = breaker.state();
        (!closed(before) || !closed(after)).then_some(after)
    }

    /// Wakes the messages waiting for the breaker, and updates the registry.
    async fn on_breaker_changed(&self, context: &AgentContext, state: BreakerState) {
        self.breaker_changed.notify_waiters();
        let agent = &self.spec.name;
        let updated = if matches!(state, BreakerState::Closed { .. }) {
            tracing::info!(%agent, "circuit breaker closed: agent available");
            context.runtime.renew(self).await
        } else {
            tracing::warn!(%agent, "circuit breaker open: agent unavailable");
            context.runtime.registry().withdraw(agent).await.map(drop)
        };
        if let Err(error) = updated {
            tracing::warn!(%agent, %error, "registry not updated after a circuit breaker change");
        }
    }
}

/// Waits until the breaker may admit a message again.
async fn wait_for_cooldown(tripped: BreakerOpen) {
    match tripped.until {
        Some(until) => tokio::time::sleep(until.since(now())).await,
        None => std::future::pending().await,
    }
}
