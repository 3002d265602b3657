//! What is done about a failure: try again, now or later, have another agent do
//! it, answer with what was prepared, or give up.

use std::sync::Arc;
use std::time::Duration;

use ostler_domain::dispatch::failure::{Recovery, RecoveryState};
use ostler_domain::dispatch::name::AgentName;

use super::Harness;
use super::dispatch::Undone;
use crate::queue::agent::{AgentError, Reply};
use crate::queue::context::AgentContext;
use crate::queue::error::{QueueError, Result as QueueResult};

/// What became of a message.
pub(super) enum Outcome {
    /// It is handled, perhaps with a reply.
    Handled(Option<Reply>),
    /// Another agent has it.
    PassedOn,
}

impl Harness {
    pub(super) async fn recovering(&self, context: &AgentContext) -> Result<Outcome, Undone> {
        let mut state = RecoveryState::default();
        loop {
            let error = match self.attempt(context).await? {
                Ok(reply) => return Ok(Outcome::Handled(reply)),
                Err(error) => error,
            };
            if let Some(outcome) = Box::pin(self.recover(context, &mut state, error)).await? {
                return Ok(outcome);
            }
        }
    }

    /// Takes the next step about a failure; nothing if it is to be tried again.
    async fn recover(
        &self,
        context: &AgentContext,
        state: &mut RecoveryState,
        error: AgentError,
    ) -> Result<Option<Outcome>, Undone> {
        let message = context.cause.message.id;
        let chance = (message.as_u128() % 1001) as u32;
        loop {
            let step = self.spec.recovery.next(state, error.class, chance);
            tracing::info!(
                agent = %self.spec.name, %message, class = %error.class, reason = error.reason,
                step = ?step, "recovering"
            );
            match step {
                Recovery::RetryNow => return Ok(None),
                Recovery::RetryAfter(wait) => {
                    self.pause(wait, &error).await?;
                    return Ok(None);
                }
                Recovery::Reroute => {
                    if let Some(other) = self.pass_on(context).await? {
                        tracing::info!(agent = %self.spec.name, %message, %other, "passed on");
                        return Ok(Some(Outcome::PassedOn));
                    }
                }
                Recovery::Fallback => {
                    if let Some(reply) = self.agent.fallback_any(&context.cause) {
                        return Ok(Some(Outcome::Handled(Some(reply))));
                    }
                }
                Recovery::GiveUp => return Err(error.into()),
            }
        }
    }

    /// Waits before another try; if the agent is stopped meanwhile, the message
    /// goes back.
    async fn pause(&self, wait: Duration, error: &AgentError) -> Result<(), Undone> {
        tokio::select! {
            () = tokio::time::sleep(wait) => Ok(()),
            () = self.closing() => Err(Undone::Again(error.clone().into())),
        }
    }

    /// Gives the message to another agent that can do the same, if there is
    /// one. A claim is for this agent alone, and once is enough.
    async fn pass_on(&self, context: &AgentContext) -> QueueResult<Option<AgentName>> {
        let envelope = &context.cause;
        if !envelope.claims.is_empty() || envelope.context.passed_on_by.is_some() {
            return Ok(None);
        }
        for capability in &self.spec.capabilities {
            let other = match context.runtime.choose(capability, Some(&self.spec.name)).await {
                Ok(other) => other,
                Err(QueueError::NobodyAble(_)) => continue,
                Err(error) => return Err(error),
            };
            let mut copy = (**envelope).clone();
            copy.context.passed_on_by = Some(self.spec.name.clone());
            context.runtime.send_shared(&other, Arc::new(copy)).await?;
            return Ok(Some(other));
        }
        Ok(None)
    }
}
