//! Routes for escalations.

use axum::Json;
use ostler_api::escalation::QueuedEscalation;
use ostler_api::page::Page;

use super::{OrgRequest, view};
use crate::error::Result;

/// Lists the whole queue in its order. It is not paged: it holds only what people
/// can answer.
pub(crate) async fn list(request: OrgRequest) -> Result<Json<Page<QueuedEscalation>>> {
    let found = request.hide_foreign_org(request.operations().escalations().await)?;
    let queue = found.iter().map(|item| QueuedEscalation {
        escalation: view::escalation(&item.escalation),
        session: view::session(&item.session),
    });
    Ok(Json(Page { items: queue.collect(), next: None }))
}
