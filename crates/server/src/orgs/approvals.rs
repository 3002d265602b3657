//! Routes for approvals.

use axum::Json;
use ostler_api::approval::{Approval, ApprovalState, ApproveRequest, RejectRequest};
use ostler_api::page::{Page, PageQuery};
use ostler_domain::id::ApprovalId;
use ostler_runtime::operations::ApprovalTiming;
use ostler_store::DecisionState;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{OrgRequest, PathId};
use crate::body::{self, JsonBody, QueryParams};
use crate::error::Result;
use crate::route::{Route, get, post};
use crate::wire;
use ostler_domain::org::permission::OrgPermission::{Operate, View};
use serde_json::json;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(View, "/approvals", "listApprovals", "List approvals by their status", list),
        get(View, "/approvals/{approval}", "getApproval", "Show an approval", show),
        post(
            Operate,
            "/approvals/{approval}/approve",
            "approveCall",
            "Approve a call, optionally with other arguments",
            approve,
        )
        .example(json!({"now": true})),
        post(Operate, "/approvals/{approval}/reject", "rejectCall", "Reject a call", reject)
            .example(json!({"reason": "The order is older than 30 days"})),
    ]
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ApprovalsQuery {
    #[serde(default)]
    which: ApprovalState,
    cursor: Option<String>,
    limit: Option<u32>,
}

pub(crate) async fn list(
    request: OrgRequest,
    QueryParams(listing): QueryParams<ApprovalsQuery>,
) -> Result<Json<Page<Approval>>> {
    let ApprovalsQuery { which, cursor, limit } = listing;
    let state = match which {
        ApprovalState::Pending => DecisionState::Pending,
        ApprovalState::Approved => DecisionState::Approved,
        ApprovalState::Used => DecisionState::Used,
        ApprovalState::Rejected => DecisionState::Rejected,
        ApprovalState::Expired => DecisionState::Expired,
        ApprovalState::Withdrawn => DecisionState::Withdrawn,
    };
    let limit = PageQuery { cursor: None, limit }.page_size();
    let after = body::parse_cursor(cursor.as_deref())?;
    let found =
        request.hide_foreign_org(request.operations().approvals(state, after, limit).await)?;
    let found = found.iter().map(wire::approval).collect();
    Ok(Json(Page::from_items(found, limit, |item: &Approval| item.id.to_string())))
}

pub(crate) async fn show(request: OrgRequest, PathId(id): PathId) -> Result<Json<Approval>> {
    let id = request.approval_id(&id).await?;
    Ok(Json(wire::approval(&request.hide_foreign_org(request.operations().approval(id).await)?)))
}

pub(crate) async fn approve(
    request: OrgRequest,
    PathId(id): PathId,
    JsonBody(body): JsonBody<Option<ApproveRequest>>,
) -> Result<Json<Approval>> {
    let id = request.approval_id(&id).await?;
    let ApproveRequest { arguments, now } = body.unwrap_or_default();
    let timing = if now { ApprovalTiming::AtOnce } else { ApprovalTiming::WithAgent };
    let decided = request.operations().approve_with(id, arguments.as_ref(), timing).await;
    Ok(Json(wire::approval(&request.hide_foreign_org(decided)?)))
}

pub(crate) async fn reject(
    request: OrgRequest,
    PathId(id): PathId,
    JsonBody(body): JsonBody<RejectRequest>,
) -> Result<Json<Approval>> {
    let id = request.approval_id(&id).await?;
    Ok(Json(wire::approval(
        &request.hide_foreign_org(request.operations().reject(id, &body.reason).await)?,
    )))
}

impl OrgRequest {
    /// Returns the approval that a path names.
    async fn approval_id(&self, text: &str) -> Result<ApprovalId> {
        super::find_id(text, "approval", async {
            let pending = DecisionState::Pending;
            let recent = self.operations().approvals(pending, None, super::SEARCH_LIMIT).await;
            Ok(self.hide_foreign_org(recent)?.iter().map(|approval| approval.approval.id).collect())
        })
        .await
    }
}
