//! Webhooks: addresses to which the events of an org are sent.

use std::collections::BTreeSet;

use ostler_domain::event::OrgEventKind;
use ostler_domain::id::{OrgId, WebhookDeliveryId, WebhookId};
use ostler_domain::time::Timestamp;
use ostler_domain::webhook::{WebhookDeliveryState, WebhookStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A webhook. Its signing key is shown once, when it is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Webhook {
    pub id: WebhookId,
    pub url: String,
    /// What it is for.
    pub description: String,
    /// The events that it gets; all if it is empty.
    pub events: BTreeSet<OrgEventKind>,
    pub status: WebhookStatus,
    /// Why it was switched off.
    pub reason: Option<String>,
    /// Since when every attempt has failed.
    pub failing_since: Option<Timestamp>,
    /// Until when the key before the last rotation signs too.
    pub old_key_until: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A webhook to create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewWebhook {
    /// `https://…`; `http://` only for addresses of the server's own network.
    pub url: String,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// The events that it gets; all if it is empty.
    #[serde(default)]
    pub events: BTreeSet<OrgEventKind>,
}

/// A new webhook with its signing key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedWebhook {
    #[serde(flatten)]
    pub webhook: Webhook,
    /// `whsec_…`, as libraries of Standard Webhooks take it. It is not shown again.
    pub secret: String,
}

/// A change of a webhook; what is absent stays.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct WebhookPatch {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// An empty list means all events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<BTreeSet<OrgEventKind>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Whether events until now are left out. Without it, a webhook that is enabled again gets
    /// what happened meanwhile, as far as the event log still has it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip_missed: bool,
}

/// A rotation of the signing key.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RotateKeyRequest {
    /// Whether the old key stops signing at once. Otherwise both sign for a day.
    #[serde(default)]
    pub at_once: bool,
}

/// A new signing key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RotatedKey {
    /// `whsec_…`. It is not shown again.
    pub secret: String,
}

/// An event that was sent, or is to be sent, to a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookDelivery {
    /// The header `webhook-id`, the same at every attempt.
    pub id: WebhookDeliveryId,
    /// Null if this version of the server does not know the kind.
    pub event: Option<OrgEventKind>,
    pub state: WebhookDeliveryState,
    pub attempts: u32,
    /// The HTTP status of the last answer.
    pub status: Option<u16>,
    /// How many milliseconds the last attempt took.
    pub millis: Option<u64>,
    /// Why the last attempt failed.
    pub reason: Option<String>,
    pub created_at: Timestamp,
    pub attempted_at: Option<Timestamp>,
    /// When it is tried next.
    pub next_at: Option<Timestamp>,
    /// The body of the request.
    pub payload: Value,
}

/// Which deliveries to send again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RedeliverRequest {
    /// Deliveries since this time.
    pub since: Timestamp,
    /// Whether only those are sent that did not arrive.
    #[serde(default)]
    pub failed_only: bool,
}

/// How many deliveries are sent again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Redelivered {
    pub count: u64,
}

/// The body of a request to a webhook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookPayload {
    #[serde(rename = "type")]
    pub kind: OrgEventKind,
    /// When the event happened, as RFC 3339 writes it, in UTC.
    pub timestamp: String,
    pub org: OrgId,
    /// The data of the event, without words of people and agents.
    pub data: Value,
}
