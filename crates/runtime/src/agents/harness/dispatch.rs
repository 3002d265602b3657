//! The path of a message through the harness.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ostler_bus::{Delivery, Disposition, Failure};
use ostler_domain::queue_agent::authority::Authority;
use ostler_domain::queue_agent::failure::FailureClass;

use super::QueueAgentHarness;
use super::gate::GateOutcome;
use super::recovery::DispatchOutcome;
use crate::agents::agent::AgentError;
use crate::agents::context::AgentContext;
use crate::agents::coordination::is_coordination;
use crate::agents::error::QueueError;
use crate::agents::runtime::AgentRuntime;

/// Why a message was not handled.
pub(super) enum NotHandled {
    Retry(Failure),
    DeadLetter(Failure),
}

impl NotHandled {
    pub(super) fn dead_letter(class: FailureClass, reason: impl Into<String>) -> Self {
        Self::DeadLetter(Failure { class, reason: reason.into() })
    }

    pub(super) fn closing() -> Self {
        let reason = "the agent was stopped before it handled this message".to_owned();
        Self::Retry(Failure { class: FailureClass::Infrastructure, reason })
    }
}

impl From<QueueError> for NotHandled {
    /// Failures of our own infrastructure are retried; all others are final.
    fn from(error: QueueError) -> Self {
        let error = AgentError::from(error);
        match error.class {
            FailureClass::Infrastructure | FailureClass::ResourceExhaustion => {
                Self::Retry(error.into())
            }
            _ => Self::DeadLetter(error.into()),
        }
    }
}

impl From<AgentError> for NotHandled {
    fn from(error: AgentError) -> Self {
        Self::DeadLetter(error.into())
    }
}

/// Counts a message in progress until dropped.
struct InProgressGuard<'a>(&'a QueueAgentHarness);

impl<'a> InProgressGuard<'a> {
    fn begin(harness: &'a QueueAgentHarness) -> Self {
        harness.in_progress.fetch_add(1, Ordering::SeqCst);
        harness.started.fetch_add(1, Ordering::SeqCst);
        Self(harness)
    }
}

impl Drop for InProgressGuard<'_> {
    fn drop(&mut self) {
        if self.0.in_progress.fetch_sub(1, Ordering::SeqCst) > 1 {
            return;
        }
        if self.0.idle_watched.load(Ordering::Relaxed) {
            self.0.became_idle.notify_one();
        }
        if self.0.is_closing() {
            self.0.drained.notify_waiters();
        }
    }
}

impl QueueAgentHarness {
    /// Handles a message from the agent's own queue or a shared one.
    pub(in crate::agents) async fn handle(self: Arc<Self>, delivery: Delivery) -> Disposition {
        let in_progress = InProgressGuard::begin(&self);
        let result = self.process_delivery(delivery).await;
        drop(in_progress);
        match result {
            Ok(()) => Disposition::Done,
            Err(NotHandled::Retry(failure)) => Disposition::Retry(failure),
            Err(NotHandled::DeadLetter(failure)) => Disposition::DeadLetter(failure),
        }
    }

    async fn process_delivery(self: &Arc<Self>, delivery: Delivery) -> Result<(), NotHandled> {
        let inner = self.runtime.upgrade().ok_or_else(NotHandled::closing)?;
        let _slot = match &self.slots {
            Some(slots) => Some(self.acquire_slot(slots).await?),
            None => None,
        };
        let context = AgentContext {
            runtime: AgentRuntime(inner),
            harness: Arc::clone(self),
            cause: delivery.envelope,
            attempt: delivery.attempt,
            redelivered: delivery.redelivered,
        };
        // The rare case is boxed to keep the common future small.
        if is_coordination(&context.cause.message.kind) {
            return Box::pin(self.handle_coordination(&context)).await;
        }
        if let Some(authority) = self.authority_without_approval(&context) {
            return self.dispatch(&context, &authority).await;
        }
        Box::pin(self.process_gated(&context)).await
    }

    /// Handles a message that carries claims or needs approval.
    async fn process_gated(&self, context: &AgentContext) -> Result<(), NotHandled> {
        match self.gate(context).await? {
            GateOutcome::Allowed(authority) => self.dispatch(context, &authority).await,
            GateOutcome::AwaitingApproval => Ok(()),
            GateOutcome::Approved(authority, key) => {
                self.dispatch(context, &authority).await?;
                Ok(context.runtime.plans().forget(&key).await?)
            }
        }
    }

    /// Acquires a slot for a message in progress. Fails if too many messages
    /// wait for one.
    async fn acquire_slot<'a>(
        &self,
        slots: &'a tokio::sync::Semaphore,
    ) -> Result<tokio::sync::SemaphorePermit<'a>, NotHandled> {
        let allowed = u32::from(self.spec.concurrency) + u32::from(self.spec.max_waiting);
        if self.in_progress() > allowed {
            let reason =
                format!("{allowed} messages are already waiting for this agent in this process");
            return Err(NotHandled::dead_letter(FailureClass::ResourceExhaustion, reason));
        }
        tokio::select! {
            biased;
            slot = slots.acquire() => slot.map_err(|_| NotHandled::closing()),
            () = self.closing() => Err(NotHandled::closing()),
        }
    }

    /// Runs the agent and delivers its reply.
    pub(super) async fn dispatch(
        &self,
        context: &AgentContext,
        authority: &Authority,
    ) -> Result<(), NotHandled> {
        match self.run_with_recovery(context).await? {
            DispatchOutcome::Handled(reply) => self.deliver_reply(context, authority, reply).await,
            DispatchOutcome::Forwarded => Ok(()),
        }
    }
}
