//! A person decided on a call, or nobody did in time: the conversation goes on
//! with that.

use ostler_domain::gate::approval::ApprovalStatus;
use ostler_domain::id::{ApprovalId, InboxId};
use ostler_domain::notice::{NoticeKind, Recipient};
use ostler_engine::history::{CallId, ToolCall};
use ostler_store::{AfterTurn, StoreError, StoredApproval};
use serde_json::json;

use super::answer::{Input, answer};
use super::case::Case;
use super::housekeeping;
use super::texts;
use super::worker::{Recovered, RunError};
use crate::talk::message::Purpose;

/// Goes on with what was decided. Whatever it is, this happens once: the row of
/// the inbox is answered in the same commit.
pub(super) async fn go_on(
    case: &Case<'_>,
    row: InboxId,
    approval: ApprovalId,
    recovered: Option<Recovered>,
    then: AfterTurn,
) -> Result<(), RunError> {
    let stored = match case.store().approval(approval).await {
        Ok(stored) => stored,
        Err(StoreError::NotFound(_)) => {
            return housekeeping::nothing(case, row, "an approval that is gone", then).await;
        }
        Err(other) => return Err(other.into()),
    };
    let call = call(&stored);
    let tool = stored.approval.tool.as_str();
    match &stored.approval.status {
        ApprovalStatus::Approved { .. } | ApprovalStatus::Used { .. } => {
            match case.store().use_approval(approval, stored.approval.arguments).await {
                // A try before this one had got so far.
                Ok(_) | Err(StoreError::Approval(_)) => {}
                Err(other) => return Err(other.into()),
            }
            let note = format!(
                "A person approved your call of {tool}. It is made now; then tell the customer \
                 what came of it."
            );
            let input = input(row, Some(note), Some(call), then);
            answer(case, input, recovered).await
        }
        ApprovalStatus::Rejected { reason, .. } => {
            let note = format!(
                "A person said no to your call of {tool}: {reason}. Tell the customer kindly, \
                 without naming the person."
            );
            answer(case, input(row, Some(note), None, then), recovered).await
        }
        ApprovalStatus::Expired => expired(case, row, &stored, then).await,
        ApprovalStatus::Pending => {
            housekeeping::nothing(case, row, "an approval that is still open", then).await
        }
    }
}

fn input(
    row: InboxId,
    note: Option<String>,
    approved: Option<ToolCall>,
    then: AfterTurn,
) -> Input<'static> {
    Input { rows: vec![row], arrived: &[], note, approved, settled: &[], then }
}

/// The call as it was asked for, or as the person changed it.
fn call(stored: &StoredApproval) -> ToolCall {
    let id = CallId::new(&stored.approval.id.to_string());
    ToolCall::new(id, stored.approval.tool.as_str(), &stored.payload)
}

/// Nobody decided in time: the customer and the owner are told.
async fn expired(
    case: &Case<'_>,
    row: InboxId,
    stored: &StoredApproval,
    then: AfterTurn,
) -> Result<(), RunError> {
    housekeeping::with(case, row, "approval expired", then, |case, run| {
        run.tell(case, texts::APPROVAL_EXPIRED, Purpose::Notice);
        let id = stored.approval.id;
        let data = json!({"approval": id, "session": run.session.id,
            "tool": stored.approval.tool});
        run.draft.notify(NoticeKind::ApprovalExpired, Recipient::Owner, id.to_string(), data);
    })
    .await
}
