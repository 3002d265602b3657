//! Recovery from failures: retry now or later, forward to another agent, use
//! the fallback reply, or give up.

use std::sync::Arc;
use std::time::Duration;

use ostler_domain::queue_agent::failure::{Recovery, RecoveryState};
use ostler_domain::queue_agent::name::AgentName;

use super::QueueAgentHarness;
use super::dispatch::NotHandled;
use crate::agents::agent::{AgentError, AgentReply};
use crate::agents::context::AgentContext;
use crate::agents::error::{QueueError, Result as QueueResult};

/// What happened to a message.
pub(super) enum DispatchOutcome {
    /// Handled, with an optional reply.
    Handled(Option<AgentReply>),
    /// Forwarded to another agent.
    Forwarded,
}

impl QueueAgentHarness {
    pub(super) async fn run_with_recovery(
        &self,
        context: &AgentContext,
    ) -> Result<DispatchOutcome, NotHandled> {
        let mut state = RecoveryState::default();
        loop {
            let error = match self.attempt(context).await? {
                Ok(reply) => return Ok(DispatchOutcome::Handled(reply)),
                Err(error) => error,
            };
            if let Some(outcome) = Box::pin(self.recover(context, &mut state, error)).await? {
                return Ok(outcome);
            }
        }
    }

    /// Takes the next recovery step. Returns `None` if the agent is to be
    /// called again.
    async fn recover(
        &self,
        context: &AgentContext,
        state: &mut RecoveryState,
        error: AgentError,
    ) -> Result<Option<DispatchOutcome>, NotHandled> {
        let message = context.cause.message.id;
        let chance = (message.as_u128() % 1001) as u32;
        loop {
            let step = self.spec.recovery.next(state, error.class, chance);
            tracing::info!(
                agent = %self.spec.name, %message, class = %error.class, reason = error.reason,
                step = ?step, "run_with_recovery"
            );
            match step {
                Recovery::RetryNow => return Ok(None),
                Recovery::RetryAfter(wait) => {
                    self.wait_before_retry(wait, &error).await?;
                    return Ok(None);
                }
                Recovery::Reroute => {
                    if let Some(other) = self.forward(context).await? {
                        tracing::info!(agent = %self.spec.name, %message, %other, "message forwarded to another agent");
                        return Ok(Some(DispatchOutcome::Forwarded));
                    }
                }
                Recovery::Fallback => {
                    if let Some(reply) = self.agent.fallback_dyn(&context.cause) {
                        return Ok(Some(DispatchOutcome::Handled(Some(reply))));
                    }
                }
                Recovery::GiveUp => return Err(error.into()),
            }
        }
    }

    /// Waits before a retry. If the agent is stopped meanwhile, the message is
    /// requeued.
    async fn wait_before_retry(
        &self,
        wait: Duration,
        error: &AgentError,
    ) -> Result<(), NotHandled> {
        tokio::select! {
            () = tokio::time::sleep(wait) => Ok(()),
            () = self.closing() => Err(NotHandled::Retry(error.clone().into())),
        }
    }

    /// Forwards the message to another agent with the same capability, if there
    /// is one. Messages with claims are not forwarded, because claims are for
    /// this agent only; nor are messages already forwarded once.
    async fn forward(&self, context: &AgentContext) -> QueueResult<Option<AgentName>> {
        let envelope = &context.cause;
        if !envelope.claims.is_empty() || envelope.context.forwarded_by.is_some() {
            return Ok(None);
        }
        for capability in &self.spec.capabilities {
            let other = match context.runtime.choose(capability, Some(&self.spec.name)).await {
                Ok(other) => other,
                Err(QueueError::NoAgentAvailable(_)) => continue,
                Err(error) => return Err(error),
            };
            let mut copy = (**envelope).clone();
            copy.context.forwarded_by = Some(self.spec.name.clone());
            context.runtime.send_shared(&other, Arc::new(copy)).await?;
            return Ok(Some(other));
        }
        Ok(None)
    }
}
