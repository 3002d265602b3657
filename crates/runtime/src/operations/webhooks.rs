//! Webhooks: addresses of an org's own systems, to which its events are sent.

use std::collections::BTreeSet;

use ostler_channels::signature::SigningKeys;
use ostler_domain::event::{OrgEvent, OrgEventKind, WebhookTested};
use ostler_domain::id::{WebhookDeliveryId, WebhookId};
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::webhook::{
    ROTATION_OVERLAP, WebhookConfig, WebhookDeliveryState, WebhookStatus, payload,
};
use ostler_store::{
    NewWebhookDelivery, Redelivery, StoreError, StoredWebhook, StoredWebhookDelivery, WebhookKey,
    WebhookWrite,
};
use serde_json::{Value, json};

use super::{OperationError, OrgOperations, Result};
use crate::ids::fresh;

/// A change of a webhook. `None` leaves a field as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WebhookChange {
    pub url: Option<String>,
    pub description: Option<String>,
    pub events: Option<BTreeSet<OrgEventKind>>,
    pub enabled: Option<bool>,
    /// Whether what happened until now is not sent.
    pub skip_missed: bool,
}

/// Until when the key before a rotation signs too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyOverlap {
    /// For a day, so that the receiver can take the new one in the meantime.
    Day,
    /// Not at all, because somebody else has it.
    None,
}

impl OrgOperations<'_> {
    /// Returns the webhooks of the org, oldest first.
    pub async fn webhooks(&self) -> Result<Vec<StoredWebhook>> {
        Ok(self.authorize(OrgPermission::View).await?.webhooks().await?)
    }

    /// Returns a webhook.
    pub async fn webhook(&self, id: WebhookId) -> Result<StoredWebhook> {
        Ok(self.authorize(OrgPermission::View).await?.webhook(id).await?)
    }

    /// Creates a webhook, which gets the events from now on, and returns it with its signing
    /// key, which nobody can read again.
    pub async fn create_webhook(&self, config: WebhookConfig) -> Result<(StoredWebhook, String)> {
        let store = self.authorize(OrgPermission::Configure).await?;
        config.check()?;
        let id = fresh(WebhookId::from_u128);
        let secret = new_secret()?;
        let after = audit_data(&config, WebhookStatus::Enabled);
        let audit = self.audit_change("create_webhook", &id, &Value::Null, &after);
        let keys = vec![WebhookKey { secret: secret.clone(), expires_at: None }];
        let new = WebhookWrite { config, keys, status: WebhookStatus::Enabled };
        store.audited(audit).create_webhook(id, new).await?;
        Ok((store.webhook(id).await?, secret))
    }

    /// Changes a webhook. Fails if it has another version than the one that the change is
    /// based on.
    pub async fn change_webhook(
        &self,
        id: WebhookId,
        change: WebhookChange,
        expected: Option<i64>,
    ) -> Result<StoredWebhook> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let stored = store.webhook(id).await?;
        if expected.is_some_and(|expected| expected != stored.version) {
            return Err(OperationError::Changed);
        }
        let before = stored.config.clone();
        let (events, newer_events) = match change.events {
            Some(events) => (events, BTreeSet::new()),
            None => (before.events.clone(), before.newer_events.clone()),
        };
        let config = WebhookConfig {
            url: change.url.unwrap_or(before.url.clone()),
            description: change.description.unwrap_or(before.description.clone()),
            events,
            newer_events,
        };
        config.check()?;
        let status = match change.enabled {
            Some(true) => WebhookStatus::Enabled,
            Some(false) => WebhookStatus::Disabled,
            None => stored.status,
        };
        let (was, is) = (audit_data(&before, stored.status), audit_data(&config, status));
        let audit = self.audit_change("change_webhook", &id, &was, &is);
        let write = WebhookWrite { config, keys: stored.keys, status };
        let changed =
            store.audited(audit).change_webhook(id, stored.version, write, change.skip_missed);
        changed.await.map_err(changed_meanwhile)?;
        Ok(store.webhook(id).await?)
    }

    /// Gives a webhook a new signing key and returns it. Nobody can read it again.
    pub async fn rotate_webhook_key(&self, id: WebhookId, overlap: KeyOverlap) -> Result<String> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let stored = store.webhook(id).await?;
        let secret = new_secret()?;
        let mut keys = vec![WebhookKey { secret: secret.clone(), expires_at: None }];
        if overlap == KeyOverlap::Day
            && let Some(newest) = stored.keys.first()
        {
            let expires_at = Some(self.inner().clock.now() + ROTATION_OVERLAP);
            keys.push(WebhookKey { secret: newest.secret.clone(), expires_at });
        }
        let data = json!({"old_key_signs_too": overlap == KeyOverlap::Day});
        let audit = self.audit_entry("rotate_webhook_key", &id, &data);
        let write = WebhookWrite { config: stored.config, keys, status: stored.status };
        let changed = store.audited(audit).change_webhook(id, stored.version, write, false);
        changed.await.map_err(changed_meanwhile)?;
        Ok(secret)
    }

    /// Deletes a webhook with the log of its deliveries. Fails if it is not at the expected
    /// version.
    pub async fn delete_webhook(&self, id: WebhookId, expected: Option<i64>) -> Result<()> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let stored = store.webhook(id).await?;
        if expected.is_some_and(|expected| expected != stored.version) {
            return Err(OperationError::Changed);
        }
        let before = audit_data(&stored.config, stored.status);
        let audit = self.audit_change("delete_webhook", &id, &before, &Value::Null);
        Ok(store.audited(audit).delete_webhook(id).await?)
    }

    /// Sends a test event to a webhook, and to no other, and returns its delivery. It is sent by
    /// a running server or worker.
    pub async fn test_webhook(&self, id: WebhookId) -> Result<StoredWebhookDelivery> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let stored = store.webhook(id).await?;
        if stored.status != WebhookStatus::Enabled {
            return Err(OperationError::WebhookOff);
        }
        let event = OrgEvent::WebhookTest(WebhookTested { webhook: id });
        let (kind, now) = (event.kind(), self.inner().clock.now());
        let new = NewWebhookDelivery {
            id: fresh(WebhookDeliveryId::from_u128),
            kind,
            payload: payload(self.org, kind, now, event.to_json()).to_string(),
        };
        let delivery = new.id;
        let audit = self.audit_entry("test_webhook", &id, &json!({"delivery": delivery}));
        store.audited(audit).add_webhook_delivery(id, new).await?;
        Ok(store.webhook_delivery(id, delivery).await?)
    }

    /// Returns a page of the deliveries of a webhook, newest first. `before` is the last one of
    /// the page before.
    pub async fn webhook_deliveries(
        &self,
        id: WebhookId,
        state: Option<WebhookDeliveryState>,
        before: Option<WebhookDeliveryId>,
        limit: u32,
    ) -> Result<Vec<StoredWebhookDelivery>> {
        let store = self.authorize(OrgPermission::View).await?;
        store.webhook(id).await?;
        Ok(store.webhook_deliveries(id, state, before, limit).await?)
    }

    /// Returns a delivery.
    pub async fn webhook_delivery(
        &self,
        id: WebhookId,
        delivery: WebhookDeliveryId,
    ) -> Result<StoredWebhookDelivery> {
        let store = self.authorize(OrgPermission::View).await?;
        Ok(store.webhook_delivery(id, delivery).await?)
    }

    /// Sends deliveries again and returns how many. They keep their ids, so that a receiver
    /// recognizes what it has.
    pub async fn redeliver(&self, id: WebhookId, which: Redelivery) -> Result<u64> {
        let store = self.authorize(OrgPermission::Operate).await?;
        store.webhook(id).await?;
        let data = match which {
            Redelivery::One(delivery) => json!({"delivery": delivery}),
            Redelivery::Since { time, failed_only } => {
                json!({"since": time, "failed_only": failed_only})
            }
        };
        let audit = self.audit_entry("redeliver", &id, &data);
        Ok(store.audited(audit).redeliver(id, which).await?)
    }
}

fn changed_meanwhile(error: StoreError) -> OperationError {
    match error {
        StoreError::ConfigChanged => OperationError::Changed,
        other => other.into(),
    }
}

fn new_secret() -> Result<String> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|_| OperationError::NoRandomNumbers)?;
    Ok(SigningKeys::encode_key(&key))
}

/// Returns what the audit log keeps of a webhook.
fn audit_data(config: &WebhookConfig, status: WebhookStatus) -> Value {
    let WebhookConfig { url, description, .. } = config;
    let data = json!(config);
    json!({"url": url, "description": description, "events": data["events"], "status": status})
}
