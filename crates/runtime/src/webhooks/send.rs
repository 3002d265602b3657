//! Sends deliveries of one webhook.

use std::time::Instant;

use ostler_channels::secret::ChannelSecret;
use ostler_channels::signature::SigningKeys;
use ostler_channels::{EventRequest, EventResponse};
use ostler_domain::id::{NoticeId, OrgId, WebhookId};
use ostler_domain::time::Timestamp;
use ostler_domain::webhook::AttemptOutcome;
use ostler_store::{DueWebhookDelivery, StoreError, StoredWebhook, WebhookAttempt};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::WebhookWorker;
use crate::ids::fresh;

impl WebhookWorker {
    /// Sends due deliveries of a webhook, unless another process does, and lets it go. After a
    /// failure the others wait for its next turn.
    pub(super) async fn send_batch(
        &self,
        org: OrgId,
        id: WebhookId,
        stop: &watch::Receiver<bool>,
    ) -> Result<(), StoreError> {
        let store = self.store.org(org);
        let claimed = store.claim_webhook(id, self.options.lease, self.options.batch).await?;
        let Some(mut claim) = claimed else { return Ok(()) };
        let until = Instant::now() + self.options.lease / 2;
        let mut waiting = std::mem::take(&mut claim.deliveries).into_iter().peekable();
        while waiting.peek().is_some() && !*stop.borrow() && Instant::now() < until {
            if !self.is_unchanged(org, &claim.webhook).await? {
                break;
            }
            let group = waiting.by_ref().take(self.options.requests.max(1));
            if !self.send_group(org, &claim.webhook, group).await {
                break;
            }
        }
        store.release_webhook(&claim).await
    }

    /// Returns whether a webhook still has the address and the keys that were read.
    async fn is_unchanged(&self, org: OrgId, webhook: &StoredWebhook) -> Result<bool, StoreError> {
        match self.store.org(org).webhook(webhook.id).await {
            Ok(now) => Ok(now.version == webhook.version),
            Err(StoreError::NotFound(_)) => Ok(false),
            Err(other) => Err(other),
        }
    }

    /// Sends some deliveries at the same time. Returns whether all were delivered.
    async fn send_group(
        &self,
        org: OrgId,
        webhook: &StoredWebhook,
        group: impl Iterator<Item = DueWebhookDelivery>,
    ) -> bool {
        let mut sends = JoinSet::new();
        for delivery in group {
            let (worker, webhook) = (self.clone(), webhook.clone());
            sends.spawn(async move { worker.send(org, &webhook, &delivery).await });
        }
        let mut all_delivered = true;
        while let Some(sent) = sends.join_next().await {
            all_delivered &= sent.unwrap_or(false);
        }
        all_delivered
    }

    /// Sends a delivery and stores the outcome. If it cannot be stored, the delivery is sent
    /// again, with the same id, when the lease has ended.
    async fn send(
        &self,
        org: OrgId,
        webhook: &StoredWebhook,
        delivery: &DueWebhookDelivery,
    ) -> bool {
        let begin = Instant::now();
        let now = self.clock.now();
        let id = delivery.id.to_string();
        let response = match signing_keys(webhook, now) {
            Some(keys) => {
                let (url, body) = (webhook.config.url.as_str(), delivery.payload.as_str());
                let request = EventRequest { url, keys: &keys, id: &id, body, now };
                self.channels.send_event(request).await
            }
            None => EventResponse {
                outcome: AttemptOutcome::Failed { retry_after: None },
                status: None,
                reason: "the webhook has no usable key; rotate it".to_owned(),
            },
        };
        let EventResponse { outcome, status, reason } = response;
        let attempt = WebhookAttempt {
            version: webhook.version,
            outcome,
            answer: status,
            took: begin.elapsed(),
            reason,
            random_permille: random_permille(),
            notice: fresh(NoticeId::from_u128),
        };
        let store = self.store.org(org);
        match store.record_webhook_attempt(webhook.id, delivery.id, attempt).await {
            Ok(true) => {
                tracing::warn!(%org, webhook = %webhook.id, "webhook switched off");
                false
            }
            Ok(false) => outcome == AttemptOutcome::Delivered,
            Err(error) => {
                let webhook = webhook.id;
                tracing::warn!(%error, %org, %webhook, "webhook attempt not stored, will retry");
                false
            }
        }
    }
}

/// Returns the keys that sign at this time.
fn signing_keys(webhook: &StoredWebhook, now: Timestamp) -> Option<SigningKeys> {
    let valid = webhook.keys.iter().filter(|key| key.expires_at.is_none_or(|end| now < end));
    let secrets: Vec<&str> = valid.map(|key| key.secret.as_str()).collect();
    SigningKeys::parse(&ChannelSecret::new(secrets.join(" ")))
}

/// Returns a random number from 0 to 1000.
fn random_permille() -> u32 {
    let mut bytes = [0; 4];
    // Without random numbers waits do not vary, which does no harm.
    let _ = getrandom::fill(&mut bytes);
    u32::from_be_bytes(bytes) % 1001
}
