//! The way of a message through the harness.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ostler_bus::{Delivery, Failure, Verdict};
use ostler_domain::dispatch::authority::Authority;
use ostler_domain::dispatch::failure::FailureClass;

use super::Harness;
use super::gate::Passed;
use super::recovery::Outcome;
use crate::queue::agent::AgentError;
use crate::queue::context::AgentContext;
use crate::queue::coordination::is_coordination;
use crate::queue::error::QueueError;
use crate::queue::runtime::AgentRuntime;

/// Why a message is not done.
pub(super) enum Undone {
    /// It is to be delivered again.
    Again(Failure),
    /// It is a dead letter.
    Dead(Failure),
}

impl Undone {
    pub(super) fn dead(class: FailureClass, reason: impl Into<String>) -> Self {
        Self::Dead(Failure { class, reason: reason.into() })
    }

    pub(super) fn closing() -> Self {
        let reason = "the agent was stopped before it came to this message".to_owned();
        Self::Again(Failure { class: FailureClass::Infrastructure, reason })
    }
}

impl From<QueueError> for Undone {
    /// Our own parts may work the next time; anything else will not.
    fn from(error: QueueError) -> Self {
        let error = AgentError::from(error);
        match error.class {
            FailureClass::Infrastructure | FailureClass::ResourceExhaustion => {
                Self::Again(error.into())
            }
            _ => Self::Dead(error.into()),
        }
    }
}

impl From<AgentError> for Undone {
    fn from(error: AgentError) -> Self {
        Self::Dead(error.into())
    }
}

/// A message in work. Dropped, it is not any more.
struct InWork<'a>(&'a Harness);

impl<'a> InWork<'a> {
    fn begin(harness: &'a Harness) -> Self {
        harness.in_work.fetch_add(1, Ordering::SeqCst);
        harness.begun.fetch_add(1, Ordering::SeqCst);
        Self(harness)
    }
}

impl Drop for InWork<'_> {
    fn drop(&mut self) {
        if self.0.in_work.fetch_sub(1, Ordering::SeqCst) > 1 {
            return;
        }
        if self.0.watched.load(Ordering::Relaxed) {
            self.0.emptied.notify_one();
        }
        if self.0.is_closing() {
            self.0.drained.notify_waiters();
        }
    }
}

impl Harness {
    /// Handles a message of the agent's own queue or of one that it shares.
    pub(in crate::queue) async fn handle(self: Arc<Self>, delivery: Delivery) -> Verdict {
        let in_work = InWork::begin(&self);
        let done = self.go(delivery).await;
        drop(in_work);
        match done {
            Ok(()) => Verdict::Done,
            Err(Undone::Again(failure)) => Verdict::Again(failure),
            Err(Undone::Dead(failure)) => Verdict::Dead(failure),
        }
    }

    async fn go(self: &Arc<Self>, delivery: Delivery) -> Result<(), Undone> {
        let inner = self.runtime.upgrade().ok_or_else(Undone::closing)?;
        let _place = match &self.places {
            Some(places) => Some(self.place(places).await?),
            None => None,
        };
        let context = AgentContext {
            runtime: AgentRuntime(inner),
            harness: Arc::clone(self),
            cause: delivery.envelope,
            attempt: delivery.attempt,
            redelivered: delivery.redelivered,
        };
        // What happens seldom is boxed, so that the usual way stays small.
        if is_coordination(&context.cause.message.kind) {
            return Box::pin(self.coordinate(&context)).await;
        }
        if let Some(authority) = self.free_way(&context) {
            return self.carry_out(&context, &authority).await;
        }
        Box::pin(self.guarded_way(&context)).await
    }

    /// The way of a message that carries claims or needs approval.
    async fn guarded_way(&self, context: &AgentContext) -> Result<(), Undone> {
        match self.gate(context).await? {
            Passed::Go(authority) => self.carry_out(context, &authority).await,
            Passed::Held => Ok(()),
            Passed::Approved(authority, key) => {
                self.carry_out(context, &authority).await?;
                Ok(context.runtime.plans().forget(&key).await?)
            }
        }
    }

    /// A place among those in work; refused if too many wait for one.
    async fn place<'a>(
        &self,
        places: &'a tokio::sync::Semaphore,
    ) -> Result<tokio::sync::SemaphorePermit<'a>, Undone> {
        let allowed = u32::from(self.spec.at_once) + u32::from(self.spec.waiting);
        if self.in_work() > allowed {
            let reason = format!("{allowed} messages wait for this agent here already");
            return Err(Undone::dead(FailureClass::ResourceExhaustion, reason));
        }
        tokio::select! {
            biased;
            place = places.acquire() => place.map_err(|_| Undone::closing()),
            () = self.closing() => Err(Undone::closing()),
        }
    }

    /// Has the agent handle the message, and passes on what it says.
    pub(super) async fn carry_out(
        &self,
        context: &AgentContext,
        authority: &Authority,
    ) -> Result<(), Undone> {
        match self.recovering(context).await? {
            Outcome::Handled(reply) => self.deliver(context, authority, reply).await,
            Outcome::PassedOn => Ok(()),
        }
    }
}
