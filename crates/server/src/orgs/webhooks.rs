//! Routes for webhooks: where the events of the org are sent, and the log of what was sent.

use axum::Json;
use axum::http::StatusCode;
use ostler_api::page::{Page, PageQuery};
use ostler_api::problem::ProblemCode;
use ostler_api::webhook::{
    CreatedWebhook, NewWebhook, RedeliverRequest, Redelivered, RotateKeyRequest, RotatedKey,
    Webhook, WebhookDelivery, WebhookPatch,
};
use ostler_domain::id::{WebhookDeliveryId, WebhookId};
use ostler_domain::org::permission::OrgPermission::{Configure, Operate, View};
use ostler_domain::webhook::{WebhookConfig, WebhookDeliveryState};
use ostler_runtime::operations::{KeyOverlap, WebhookChange};
use ostler_store::{Redelivery, StoredWebhook, StoredWebhookDelivery};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::tagged::{IfMatch, Numbered};
use super::{OrgRequest, PathId, PathIds};
use crate::body::{JsonBody, QueryParams};
use crate::error::{ApiError, Result};
use crate::route::{Route, delete, get, patch, post};

pub(crate) fn routes() -> Vec<Route> {
    let new = json!({"url": "https://crm.example/ostler", "description": "CRM",
        "events": ["session_closed", "escalation"]});
    let mut routes = vec![
        get(View, "/webhooks", "listWebhooks", "List webhooks", list),
        get(View, "/webhooks/{webhook}", "getWebhook", "Show a webhook", show),
        post(
            Configure,
            "/webhooks",
            "createWebhook",
            "Send events to an address; the answer has its signing key, once",
            create,
        )
        .example(new)
        .returns_secret(),
        patch(
            Configure,
            "/webhooks/{webhook}",
            "changeWebhook",
            "Change fields of a webhook; `enabled` switches it on and off",
            change,
        )
        .example(json!({"events": ["message"], "enabled": true})),
        delete(Configure, "/webhooks/{webhook}", "deleteWebhook", "Delete a webhook", remove),
        post(
            Configure,
            "/webhooks/{webhook}/rotate",
            "rotateWebhookKey",
            "Give a webhook a new signing key; the old one signs too for a day",
            rotate,
        )
        .example(json!({"at_once": false}))
        .returns_secret(),
        post(
            Configure,
            "/webhooks/{webhook}/test",
            "testWebhook",
            "Send a test event to a webhook",
            test,
        ),
    ];
    routes.extend(delivery_routes());
    routes
}

fn delivery_routes() -> Vec<Route> {
    vec![
        get(
            View,
            "/webhooks/{webhook}/deliveries",
            "listWebhookDeliveries",
            "List what was sent to a webhook, newest first",
            deliveries,
        ),
        get(
            View,
            "/webhooks/{webhook}/deliveries/{delivery}",
            "getWebhookDelivery",
            "Show a delivery with the body of its request",
            delivery,
        ),
        post(
            Operate,
            "/webhooks/{webhook}/deliveries/{delivery}/redeliver",
            "redeliverEvent",
            "Send a delivery again, with the same `webhook-id`",
            redeliver_one,
        ),
        post(
            Operate,
            "/webhooks/{webhook}/redeliver",
            "redeliverEvents",
            "Send all deliveries since a time again, with the same ids",
            redeliver,
        )
        .example(json!({"since": 1_700_000_000_000_i64, "failed_only": true})),
    ]
}

pub(crate) async fn list(request: OrgRequest) -> Result<Json<Page<Webhook>>> {
    let found = request.hide_foreign_org(request.operations().webhooks().await)?;
    Ok(Json(Page { items: found.iter().map(webhook).collect(), next: None }))
}

pub(crate) async fn show(request: OrgRequest, PathId(id): PathId) -> Result<Numbered<Webhook>> {
    let id = request.webhook_id(&id).await?;
    let found = request.hide_foreign_org(request.operations().webhook(id).await)?;
    Ok(Numbered { version: found.version, resource: webhook(&found) })
}

pub(crate) async fn create(
    request: OrgRequest,
    JsonBody(new): JsonBody<NewWebhook>,
) -> Result<(StatusCode, Json<CreatedWebhook>)> {
    let NewWebhook { url, description, events } = new;
    let config = WebhookConfig { url, description, events, ..WebhookConfig::default() };
    let created = request.operations().create_webhook(config).await;
    let (stored, secret) = request.hide_foreign_org(created)?;
    Ok((StatusCode::CREATED, Json(CreatedWebhook { webhook: webhook(&stored), secret })))
}

pub(crate) async fn change(
    request: OrgRequest,
    PathId(id): PathId,
    based_on: IfMatch,
    JsonBody(patch): JsonBody<WebhookPatch>,
) -> Result<Numbered<Webhook>> {
    let id = request.webhook_id(&id).await?;
    let WebhookPatch { url, description, events, enabled, skip_missed } = patch;
    let change = WebhookChange { url, description, events, enabled, skip_missed };
    // A tag that is no number is that of another resource, or of none.
    let expected = based_on.version().map(|version| version.parse().unwrap_or(-1));
    let changed = request.operations().change_webhook(id, change, expected).await;
    let changed = request.hide_foreign_org(changed)?;
    Ok(Numbered { version: changed.version, resource: webhook(&changed) })
}

pub(crate) async fn remove(request: OrgRequest, PathId(id): PathId) -> Result<StatusCode> {
    let id = request.webhook_id(&id).await?;
    request.hide_foreign_org(request.operations().delete_webhook(id).await)?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn rotate(
    request: OrgRequest,
    PathId(id): PathId,
    JsonBody(rotation): JsonBody<RotateKeyRequest>,
) -> Result<Json<RotatedKey>> {
    let id = request.webhook_id(&id).await?;
    let overlap = if rotation.at_once { KeyOverlap::None } else { KeyOverlap::Day };
    let rotated = request.operations().rotate_webhook_key(id, overlap).await;
    Ok(Json(RotatedKey { secret: request.hide_foreign_org(rotated)? }))
}

pub(crate) async fn test(
    request: OrgRequest,
    PathId(id): PathId,
) -> Result<(StatusCode, Json<WebhookDelivery>)> {
    let id = request.webhook_id(&id).await?;
    let sent = request.hide_foreign_org(request.operations().test_webhook(id).await)?;
    Ok((StatusCode::CREATED, Json(wire_delivery(&sent))))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct DeliveriesQuery {
    /// Only those in this state.
    state: Option<WebhookDeliveryState>,
    cursor: Option<String>,
    limit: Option<u32>,
}

pub(crate) async fn deliveries(
    request: OrgRequest,
    PathId(id): PathId,
    QueryParams(query): QueryParams<DeliveriesQuery>,
) -> Result<Json<Page<WebhookDelivery>>> {
    let id = request.webhook_id(&id).await?;
    let DeliveriesQuery { state, cursor, limit } = query;
    let limit = PageQuery { cursor: None, limit }.page_size();
    let before = cursor.as_deref().map(parse_cursor).transpose()?;
    let found = request.operations().webhook_deliveries(id, state, before, limit).await;
    let found = request.hide_foreign_org(found)?;
    let found = found.iter().map(wire_delivery).collect();
    Ok(Json(Page::from_items(found, limit, |item: &WebhookDelivery| item.id.to_string())))
}

fn parse_cursor(text: &str) -> Result<WebhookDeliveryId> {
    text.parse().map_err(|_| {
        ApiError::new(ProblemCode::BadRequest, "`cursor` must be the `next` of the previous page")
    })
}

pub(crate) async fn delivery(
    request: OrgRequest,
    PathIds(id, delivery): PathIds,
) -> Result<Json<WebhookDelivery>> {
    let (id, delivery) = request.delivery_id(&id, &delivery).await?;
    let found = request.operations().webhook_delivery(id, delivery).await;
    Ok(Json(wire_delivery(&request.hide_foreign_org(found)?)))
}

pub(crate) async fn redeliver_one(
    request: OrgRequest,
    PathIds(id, delivery): PathIds,
) -> Result<StatusCode> {
    let (id, delivery) = request.delivery_id(&id, &delivery).await?;
    let sent = request.operations().redeliver(id, Redelivery::One(delivery)).await;
    request.hide_foreign_org(sent)?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn redeliver(
    request: OrgRequest,
    PathId(id): PathId,
    JsonBody(which): JsonBody<RedeliverRequest>,
) -> Result<Json<Redelivered>> {
    let id = request.webhook_id(&id).await?;
    let RedeliverRequest { since, failed_only } = which;
    let which = Redelivery::Since { time: since, failed_only };
    let count = request.hide_foreign_org(request.operations().redeliver(id, which).await)?;
    Ok(Json(Redelivered { count }))
}

impl OrgRequest {
    /// Returns the webhook that a path names.
    async fn webhook_id(&self, text: &str) -> Result<WebhookId> {
        super::find_id(text, "webhook", async {
            let all = self.hide_foreign_org(self.operations().webhooks().await)?;
            Ok(all.iter().map(|one| one.id).collect())
        })
        .await
    }

    /// Returns the webhook and the delivery that a path names.
    async fn delivery_id(
        &self,
        webhook: &str,
        text: &str,
    ) -> Result<(WebhookId, WebhookDeliveryId)> {
        let id = self.webhook_id(webhook).await?;
        let delivery = super::find_id(text, "delivery", async {
            let recent =
                self.operations().webhook_deliveries(id, None, None, super::SEARCH_LIMIT).await;
            Ok(self.hide_foreign_org(recent)?.iter().map(|one| one.id).collect())
        });
        Ok((id, delivery.await?))
    }
}

fn webhook(stored: &StoredWebhook) -> Webhook {
    let WebhookConfig { url, description, events, .. } = stored.config.clone();
    Webhook {
        id: stored.id,
        url,
        description,
        events,
        status: stored.status,
        reason: Some(stored.reason.clone()).filter(|reason| !reason.is_empty()),
        failing_since: stored.health.failing_since,
        old_key_until: stored.keys.iter().filter_map(|key| key.expires_at).max(),
        created_at: stored.created_at,
        updated_at: stored.updated_at,
    }
}

fn wire_delivery(stored: &StoredWebhookDelivery) -> WebhookDelivery {
    let is_pending = stored.state == WebhookDeliveryState::Pending;
    WebhookDelivery {
        id: stored.id,
        event: stored.kind,
        state: stored.state,
        attempts: stored.attempts,
        status: stored.answer,
        millis: stored.took.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
        reason: Some(stored.reason.clone()).filter(|reason| !reason.is_empty()),
        created_at: stored.created_at,
        attempted_at: stored.attempted_at,
        next_at: is_pending.then_some(stored.due_at),
        payload: serde_json::from_str(&stored.payload).unwrap_or_default(),
    }
}
