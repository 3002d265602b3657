//! Routes for the services that tools use.

use axum::Json;
use ostler_api::integration::{ConnectServiceRequest, ServiceConnection, ToolService};
use ostler_api::page::Page;
use ostler_domain::org::permission::OrgPermission::{Configure, View};
use ostler_runtime::operations;
use ostler_store::{IntegrationConnection, OrgIntegration};
use serde_json::json;

use super::{OrgRequest, PathId};
use crate::body::JsonBody;
use crate::error::Result;
use crate::route::{Route, get, post};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(
            View,
            "/services",
            "listServices",
            "List the services that tools use, which of them are connected, and what is wrong \
             with their keys",
            list,
        ),
        post(
            Configure,
            "/services/{service}/connect",
            "connectService",
            "Connect a service, so that agents get the tools that need it",
            connect,
        )
        .example(json!({"secret": "file:unsplash"})),
        post(
            Configure,
            "/services/{service}/disconnect",
            "disconnectService",
            "Disconnect a service; agents lose the tools that need it",
            disconnect,
        ),
    ]
}

async fn list(request: OrgRequest) -> Result<Json<Page<ToolService>>> {
    let found = request.hide_foreign_org(request.operations().services(request.host()).await)?;
    let items = found.into_iter().map(|one| {
        let operations::ToolService { service, connected, tools, secret, key_problem } = one;
        ToolService { service: service.to_string(), connected, tools, secret, key_problem }
    });
    Ok(Json(Page { items: items.collect(), next: None }))
}

async fn connect(
    request: OrgRequest,
    PathId(service): PathId,
    JsonBody(body): JsonBody<Option<ConnectServiceRequest>>,
) -> Result<Json<ServiceConnection>> {
    let ConnectServiceRequest { secret } = body.unwrap_or_default();
    let host = request.host();
    let connected = request.operations().connect_service(&service, secret, host).await;
    let (connected, note) = request.hide_foreign_org(connected)?;
    Ok(Json(wire(connected, note)))
}

async fn disconnect(
    request: OrgRequest,
    PathId(service): PathId,
) -> Result<Json<ServiceConnection>> {
    let disconnected = request.operations().disconnect(&service).await;
    Ok(Json(wire(request.hide_foreign_org(disconnected)?, None)))
}

fn wire(stored: OrgIntegration, note: Option<String>) -> ServiceConnection {
    ServiceConnection {
        service: stored.service.to_string(),
        connected: stored.connection == IntegrationConnection::Connected,
        secret: stored.secret,
        notes: note.into_iter().collect(),
    }
}
