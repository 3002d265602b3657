//! Routes for approvals.

use axum::Json;
use ostler_api::approval::{
    Approval, ApprovalDetail, ApprovalState, ApproveRequest, ApprovedCall, CallTiming,
    RejectRequest,
};
use ostler_api::page::{Page, PageQuery};
use ostler_api::transcript::DecisionRule;
use ostler_domain::gate::GateDecision;
use ostler_domain::gate::blast_radius::BlastRadius;
use ostler_domain::id::ApprovalId;
use ostler_domain::tool::catalogue;
use ostler_runtime::operations::{
    self, ApprovalTiming, DecidedCall, OperationError, OrgOperations,
};
use ostler_store::{DecisionState, StoredApproval};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{OrgRequest, PathId};
use crate::body::{self, JsonBody, QueryParams};
use crate::error::Result;
use crate::route::{Route, get, post};
use crate::transcript::decision_rule;
use crate::wire;
use ostler_domain::org::permission::OrgPermission::{Operate, View};
use serde_json::json;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(View, "/approvals", "listApprovals", "List approvals by their status", list),
        get(View, "/approvals/{approval}", "getApproval", "Show an approval and its rule", show),
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

pub(crate) async fn show(request: OrgRequest, PathId(id): PathId) -> Result<Json<ApprovalDetail>> {
    let id = request.approval_id(&id).await?;
    let stored = request.hide_foreign_org(request.operations().approval(id).await)?;
    let rule = request.hide_foreign_org(rule_of(&request.operations(), &stored).await)?;
    let approval = wire::approval(&stored);
    let specs = catalogue::built_in();
    let spec = specs.iter().find(|spec| spec.name == approval.tool);
    let blast_radius = BlastRadius::of(spec, stored.approval.risk, &approval.arguments);
    Ok(Json(ApprovalDetail { approval, rule, blast_radius }))
}

/// Finds the setting by which a call asks, as it is now.
async fn rule_of(
    operations: &OrgOperations<'_>,
    stored: &StoredApproval,
) -> std::result::Result<DecisionRule, OperationError> {
    let approval = &stored.approval;
    let agents = operations.agents().await?;
    let Some(agent) = agents.iter().find(|agent| agent.id == approval.agent) else {
        return Ok(DecisionRule { setting: None });
    };
    let decided = DecidedCall {
        agent,
        tool: approval.tool.as_str(),
        decision: &GateDecision::Ask(approval.ask_reason.clone()),
        arguments: &serde_json::from_str(&stored.payload).unwrap_or_default(),
        approval: Some(approval.id),
        at: None,
    };
    Ok(decision_rule(operations.rule_sources().await?.find(&decided).await?))
}

pub(crate) async fn approve(
    request: OrgRequest,
    PathId(id): PathId,
    JsonBody(body): JsonBody<Option<ApproveRequest>>,
) -> Result<Json<ApprovedCall>> {
    let id = request.approval_id(&id).await?;
    let ApproveRequest { arguments, now } = body.unwrap_or_default();
    let timing = if now { ApprovalTiming::AtOnce } else { ApprovalTiming::WithAgent };
    let operations = request.operations();
    let call = match request.hide_foreign_org(operations.call_timing(id).await)? {
        operations::CallTiming::Now => CallTiming::Now,
        operations::CallTiming::AfterTurn => CallTiming::AfterTurn,
        operations::CallTiming::AfterTakeover => CallTiming::AfterTakeover,
        operations::CallTiming::AfterResume => CallTiming::AfterResume,
    };
    let decided = operations.approve_with(id, arguments.as_ref(), timing).await;
    let approval = wire::approval(&request.hide_foreign_org(decided)?);
    Ok(Json(ApprovedCall { approval, call }))
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
