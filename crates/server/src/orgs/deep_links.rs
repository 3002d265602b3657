//! Routes for links that open a conversation with an org.

use axum::Json;
use axum::http::StatusCode;
use ostler_api::deep_link::{DeepLink, NewDeepLink, NewDeepLinkRequest};
use ostler_api::page::Page;
use ostler_api::problem::ProblemCode;
use ostler_domain::hierarchy::deep_link::MAX_LINK_DAYS;
use ostler_domain::id::RecordId;
use ostler_domain::org::permission::OrgPermission::{Configure, View};
use serde_json::json;

use super::{OrgRequest, PathId};
use crate::body::JsonBody;
use crate::error::{ApiError, Result};
use crate::route::{Route, get, post};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(View, "/deep-links", "listDeepLinks", "List the links, newest first", list),
        post(
            Configure,
            "/deep-links",
            "createDeepLink",
            "Create a link that opens a conversation; it is shown only once",
            create,
        )
        .example(json!({"days": 7}))
        .runs_again(),
        post(
            Configure,
            "/deep-links/{link}/revoke",
            "revokeDeepLink",
            "Revoke a link; those who entered by it leave with their next message",
            revoke,
        ),
    ]
}

async fn list(request: OrgRequest) -> Result<Json<Page<DeepLink>>> {
    let links = request.hide_foreign_org(request.operations().deep_links().await)?;
    let items = links.into_iter().map(|one| DeepLink {
        id: one.id,
        agent: one.link.agent,
        created_at: one.created_at,
        expires_at: one.link.expires_at,
        revoked_at: one.link.revoked_at,
    });
    Ok(Json(Page { items: items.collect(), next: None }))
}

async fn create(
    request: OrgRequest,
    JsonBody(body): JsonBody<NewDeepLinkRequest>,
) -> Result<(StatusCode, Json<NewDeepLink>)> {
    let NewDeepLinkRequest { agent, days } = body;
    if !(1..=MAX_LINK_DAYS).contains(&days) {
        let detail = format!("a link is valid for 1 to {MAX_LINK_DAYS} days");
        return Err(ApiError::new(ProblemCode::Invalid, detail));
    }
    let created = request.operations().create_deep_link(agent.as_deref(), days).await;
    let created = request.hide_foreign_org(created)?;
    let link = NewDeepLink {
        id: created.id,
        url: created.url,
        start: created.payload,
        expires_at: created.expires_at,
    };
    Ok((StatusCode::CREATED, Json(link)))
}

async fn revoke(request: OrgRequest, PathId(link): PathId) -> Result<StatusCode> {
    let operations = request.operations();
    let known = async {
        let links = request.hide_foreign_org(operations.deep_links().await)?;
        Ok(links.into_iter().map(|one| one.id).collect())
    };
    let id: RecordId = super::find_id(&link, "deep link", known).await?;
    request.hide_foreign_org(operations.revoke_deep_link(id).await)?;
    Ok(StatusCode::NO_CONTENT)
}
