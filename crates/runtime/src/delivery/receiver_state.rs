//! The state of a receiver: when all messages of a binding wait because it fails (the circuit
//! breaker) or asks for a pause (too many requests), and when they go on.

use std::time::Duration;

use ostler_channels::outcome::SendOutcome;
use ostler_domain::channel::delivery::SendFailure;
use ostler_domain::id::{BindingId, OrgId};
use ostler_store::{OutboxEntry, StoreError};

use super::attempt::SendRoute;
use super::worker::DeliveryWorker;

impl DeliveryWorker {
    /// Counts a failure of the receiver. An answer of it, also a refusal, closes the circuit
    /// breaker: all that waits is sent, in order.
    pub(super) async fn record_receiver_state(
        &self,
        row: &OutboxEntry,
        route: &SendRoute<'_>,
        outcome: &SendOutcome,
    ) {
        let binding = route.bound.binding.id;
        let recorded = match outcome.failure() {
            Some(failure) if failure.is_outage() => {
                self.count_failure(row.org, binding, outcome.reason()).await
            }
            Some(SendFailure::Transient { .. }) => Ok(()),
            _ if route.has_failures => self.release_binding(row.org, binding).await,
            _ => Ok(()),
        };
        if let Err(error) = recorded {
            tracing::warn!(%error, %binding, "state of a receiver not stored");
        }
    }

    async fn count_failure(
        &self,
        org: OrgId,
        binding: BindingId,
        reason: &str,
    ) -> Result<(), StoreError> {
        let breaker = self.options.breaker;
        if self.store.org(org).count_send_failure(binding, breaker, reason).await? {
            tracing::warn!(%org, %binding, reason, "receiver fails, its messages wait");
        }
        Ok(())
    }

    /// The dead letters of the outage come first, so that later messages do not overtake them.
    async fn release_binding(&self, org: OrgId, binding: BindingId) -> Result<(), StoreError> {
        let org_store = self.store.org(org);
        if org_store.retry_dead_letters_of_outage(binding).await? > 0 {
            while self.store.retry_due_dead_letter().await? {}
        }
        org_store.close_send_breaker(binding).await?;
        self.bell.ring();
        Ok(())
    }

    /// Pauses a binding for as long as its provider asked, for all its messages.
    pub(super) async fn pause_binding(
        &self,
        row: &OutboxEntry,
        route: &SendRoute<'_>,
        failure: SendFailure,
    ) -> Option<Duration> {
        let SendFailure::Transient { retry_after: Some(wait) } = failure else { return None };
        let (org_store, id) = (self.store.org(row.org), route.bound.binding.id);
        if let Err(error) = org_store.pause_binding(id, wait).await {
            tracing::warn!(%error, binding = %id, "binding not paused");
        }
        Some(wait)
    }
}
