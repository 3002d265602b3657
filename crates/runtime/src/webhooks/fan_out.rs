//! Makes deliveries of the events that a webhook has not got yet.

use ostler_domain::event::OrgEventKind;
use ostler_domain::id::{OrgId, WebhookDeliveryId, WebhookId};
use ostler_domain::webhook::{WebhookConfig, payload};
use ostler_store::{NewWebhookDelivery, StoreError, StoredEvent};

use super::WebhookWorker;
use crate::ids::fresh;

/// Events per read.
const BATCH: u32 = 200;

impl WebhookWorker {
    /// Makes deliveries of the next events. Returns whether there may be more events.
    pub(super) async fn fan_out(&self, org: OrgId, id: WebhookId) -> Result<bool, StoreError> {
        let store = self.store.org(org);
        let webhook = match store.webhook(id).await {
            Err(StoreError::NotFound(_)) => return Ok(false),
            other => other?,
        };
        let events = match store.events_after(webhook.cursor, BATCH).await {
            Err(StoreError::EventsPruned { go_on_from }) => {
                tracing::warn!(%org, webhook = %id, "events were pruned before they were sent");
                let from = webhook.cursor;
                return store.add_webhook_deliveries(id, from, go_on_from, Vec::new()).await;
            }
            other => other?,
        };
        let Some(last) = events.last() else { return Ok(false) };
        let deliveries: Vec<NewWebhookDelivery> =
            events.iter().filter_map(|event| delivery(org, &webhook.config, event)).collect();
        let moved =
            store.add_webhook_deliveries(id, webhook.cursor, last.cursor, deliveries).await?;
        // Another process was faster, and goes on.
        Ok(moved && events.len() >= BATCH as usize)
    }
}

/// Returns the delivery of an event that a webhook wants. Events of kinds that are not in the
/// list are not sent.
fn delivery(org: OrgId, config: &WebhookConfig, event: &StoredEvent) -> Option<NewWebhookDelivery> {
    let kind: OrgEventKind = event.kind.parse().ok()?;
    if !config.wants(kind) {
        return None;
    }
    let data = serde_json::from_str(&event.data).unwrap_or_default();
    let payload = payload(org, kind, event.at, data).to_string();
    Some(NewWebhookDelivery { id: fresh(WebhookDeliveryId::from_u128), kind, payload })
}
