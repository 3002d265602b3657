//! Routes for organizations: those that the caller may view, and clients of an agency.

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use ostler_api::org::{CreatedClient, NewClientRequest, OrgSummary};
use ostler_api::page::Page;
use ostler_domain::org::permission::OrgPermission::{Configure, View};
use ostler_domain::org::{Org, OrgPlace};
use ostler_runtime::operations::NewClient;
use serde_json::json;

use super::OrgRequest;
use crate::body::JsonBody;
use crate::caller::Caller;
use crate::error::Result;
use crate::route::{Access, Route, get, post};
use crate::server::Server;

pub(crate) fn routes() -> Vec<Route> {
    let client = json!({"slug": "trattoria", "name": "Trattoria", "time_zone": "Europe/Rome",
        "owners": ["rosa@example.com"]});
    vec![
        get(
            Access::Caller,
            "/orgs",
            "listOrgs",
            "List the organizations that the caller may view, by slug",
            list,
        ),
        get(View, "/clients", "listClients", "List the clients of the organization", clients),
        post(
            Configure,
            "/clients",
            "createClient",
            "Create a client with its owners, first agents and a web chat",
            create_client,
        )
        .example(client),
    ]
}

async fn list(
    State(server): State<Server>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Page<OrgSummary>>> {
    let orgs = server.deps.operations.visible_orgs(caller.actor()).await?;
    Ok(Json(Page { items: orgs.iter().map(summary).collect(), next: None }))
}

async fn clients(request: OrgRequest) -> Result<Json<Page<OrgSummary>>> {
    let orgs = request.hide_foreign_org(request.operations().clients().await)?;
    Ok(Json(Page { items: orgs.iter().map(summary).collect(), next: None }))
}

async fn create_client(
    request: OrgRequest,
    JsonBody(body): JsonBody<NewClientRequest>,
) -> Result<(StatusCode, Json<CreatedClient>)> {
    let NewClientRequest { slug, name, time_zone, owners, coordinator } = body;
    let new = NewClient { slug, name, time_zone, owners, coordinator };
    let made = request.operations().create_client(&new, request.host()).await;
    let made = request.hide_foreign_org(made)?;
    let created =
        CreatedClient { org: summary(&made.org), existed: made.existed, missing: made.missing };
    Ok((StatusCode::CREATED, Json(created)))
}

fn summary(org: &Org) -> OrgSummary {
    OrgSummary {
        id: org.id,
        slug: org.slug.clone(),
        name: org.name.clone(),
        parent: org.parent(),
        platform: org.place == OrgPlace::Platform,
        plan: org.plan,
        time_zone: org.time_zone.clone(),
        retention_days: org.retention_days,
        archived: org.archived,
    }
}
