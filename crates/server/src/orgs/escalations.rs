//! Routes for escalations.

use axum::Json;
use ostler_api::escalation::QueuedEscalation;
use ostler_api::page::Page;

use super::OrgRequest;
use crate::error::Result;
use crate::route::{Route, get};
use crate::wire;
use ostler_domain::org::permission::OrgPermission::View;

pub(crate) fn routes() -> Vec<Route> {
    vec![get(View, "/escalations", "listEscalations", "List what waits for a person", list)]
}

/// Lists the whole queue in its order. It is not paged: it holds only what people
/// can answer.
pub(crate) async fn list(request: OrgRequest) -> Result<Json<Page<QueuedEscalation>>> {
    let found = request.hide_foreign_org(request.operations().escalations().await)?;
    Ok(Json(Page { items: found.iter().map(wire::queued_escalation).collect(), next: None }))
}
