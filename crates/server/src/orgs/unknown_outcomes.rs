//! Routes for unknown outcomes.

use axum::Json;
use axum::http::StatusCode;
use ostler_api::page::{Page, PageQuery};
use ostler_api::unknown_outcome::{ResolveRequest, UnknownOutcome};
use ostler_domain::id::CallId;

use super::{OrgRequest, PathId};
use crate::body::{self, JsonBody, QueryParams};
use crate::error::Result;
use crate::route::{Route, get, post};
use crate::wire;
use ostler_domain::org::permission::OrgPermission::{Operate, View};
use serde_json::json;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(
            View,
            "/unknown-outcomes",
            "listUnknownOutcomes",
            "List calls that may or may not have taken effect",
            list,
        ),
        post(
            Operate,
            "/unknown-outcomes/{call}/resolve",
            "resolveUnknownOutcome",
            "Say what happened, in words for the agent, which then continues",
            resolve,
        )
        .example(json!({"outcome": "The refund was made"})),
    ]
}

pub(crate) async fn list(
    request: OrgRequest,
    QueryParams(turn): QueryParams<PageQuery>,
) -> Result<Json<Page<UnknownOutcome>>> {
    let limit = turn.page_size();
    let after = body::parse_cursor(turn.cursor.as_deref())?;
    let found = request.hide_foreign_org(request.operations().unknown_calls(after, limit).await)?;
    let found = found.into_iter().map(wire::unknown_outcome).collect();
    Ok(Json(Page::from_items(found, limit, |item: &UnknownOutcome| item.id.to_string())))
}

pub(crate) async fn resolve(
    request: OrgRequest,
    PathId(id): PathId,
    JsonBody(body): JsonBody<ResolveRequest>,
) -> Result<StatusCode> {
    let id = request.call_id(&id).await?;
    request.hide_foreign_org(request.operations().resolve_unknown(id, &body.outcome).await)?;
    Ok(StatusCode::NO_CONTENT)
}

impl OrgRequest {
    /// Returns the call that a path names.
    async fn call_id(&self, text: &str) -> Result<CallId> {
        super::find_id(text, "call", async {
            let recent = self.operations().unknown_calls(None, super::SEARCH_LIMIT).await;
            Ok(self.hide_foreign_org(recent)?.iter().map(|call| call.intent.call).collect())
        })
        .await
    }
}
