//! Routes for refunds.

use axum::Json;
use ostler_api::page::Page;
use ostler_api::refund::{Refund, RefundState, RefundVerdict, SettleRefundRequest, SettledRefund};
use ostler_domain::id::RecordId;
use ostler_domain::org::permission::OrgPermission::{Operate, View};
use ostler_domain::refund::{RefundDecision, RefundStatus};
use ostler_domain::time::Timestamp;
use ostler_runtime::operations::OrderRefund;
use serde_json::json;

use super::{OrgRequest, PathId};
use crate::body::JsonBody;
use crate::error::{ApiError, Result};
use crate::route::{Route, get, post};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(View, "/refunds", "listRefunds", "List refunds, those of older orders first", list),
        post(
            Operate,
            "/refunds/{refund}/settle",
            "settleRefund",
            "Record that a refund was paid or refused; the agent tells the customer",
            settle,
        )
        .example(json!({"decision": "paid", "note": "By bank transfer"})),
    ]
}

/// Lists all refunds; they are as few as people can pay.
async fn list(request: OrgRequest) -> Result<Json<Page<Refund>>> {
    let found = request.hide_foreign_org(request.operations().refunds().await)?;
    Ok(Json(Page { items: found.into_iter().map(wire).collect(), next: None }))
}

async fn settle(
    request: OrgRequest,
    PathId(id): PathId,
    JsonBody(body): JsonBody<SettleRefundRequest>,
) -> Result<Json<SettledRefund>> {
    let all = request.hide_foreign_org(request.operations().refunds().await)?;
    let known = all.iter().map(|one| one.refund.id);
    let id: RecordId = super::find_id(&id, "refund", async { Ok(known.collect()) }).await?;
    let found = all.iter().find(|one| one.refund.id == id);
    let order = found.ok_or_else(|| ApiError::not_found("refund"))?.order;
    let decision = match body.decision {
        RefundVerdict::Paid => RefundDecision::Paid,
        RefundVerdict::Refused => RefundDecision::Refused,
    };
    let note = body.note.as_deref();
    let settled = request.operations().settle_refund(order, id, decision, note).await;
    let settled = request.hide_foreign_org(settled)?;
    let customer_is_told = settled.customer_is_told;
    Ok(Json(SettledRefund { refund: wire(settled.refund), customer_is_told }))
}

fn wire(stored: OrderRefund) -> Refund {
    let OrderRefund { order, order_number, refund } = stored;
    Refund {
        id: refund.id,
        order,
        order_number,
        amount: refund.amount.amount,
        currency: refund.amount.currency,
        reason: refund.reason,
        at: Timestamp::from_millis(refund.at.as_millisecond()),
        agent: refund.agent,
        session: refund.session,
        status: refund.status.description().to_owned(),
        state: match refund.status {
            RefundStatus::Requested => RefundState::Requested,
            RefundStatus::Made => RefundState::Paid,
            RefundStatus::Refused => RefundState::Refused,
        },
        note: refund.note,
    }
}
