//! A person decided on a call, or nobody did in time: the conversation goes on
//! with that.

use ostler_domain::gate::approval::{Approval, ApprovalStatus};
use ostler_domain::id::{AgentId, ApprovalId, InboxId};
use ostler_domain::notice::{NoticeKind, Recipient};
use ostler_domain::session::status::SessionStatus;
use ostler_engine::history::{CallId, ToolCall};
use ostler_store::{AfterTurn, StoreError, StoredApproval};
use serde_json::json;

use super::answer::answer;
use super::case::Case;
use super::housekeeping;
use super::input::{Approved, Input};
use super::texts;
use super::worker::{Recovered, RunError};
use crate::talk::message::Purpose;
use crate::talk::read;
use crate::talk::session::Session;

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
    match &stored.approval.status {
        ApprovalStatus::Expired => return expired(case, row, &stored, then).await,
        ApprovalStatus::Pending => {
            return housekeeping::nothing(case, row, "an approval that is still open", then).await;
        }
        // A try before this one has begun the call; nobody else's is begun again.
        ApprovalStatus::Used { .. } if case.attempt == 1 => {
            return housekeeping::nothing(case, row, "an approved call that has run", then).await;
        }
        _ => {}
    }
    match status_of(case, &stored)? {
        Some(SessionStatus::Active) => {}
        Some(SessionStatus::HandedOff) => {
            let what = "a decision waits until the agent has the conversation again";
            return housekeeping::with(case, row, what, then, |_, run| {
                if !run.session.decided.contains(&approval) {
                    run.session.decided.push(approval);
                }
            })
            .await;
        }
        Some(SessionStatus::Closed(_)) | None => {
            return housekeeping::nothing(case, row, "a decision for a session that is over", then)
                .await;
        }
    }
    let tool = stored.approval.tool.as_str();
    if let ApprovalStatus::Rejected { reason, .. } = &stored.approval.status {
        let note = format!(
            "A person said no to your call of {tool}: {reason}. Tell the customer kindly, \
             without naming the person."
        );
        return Box::pin(answer(
            case,
            input(row, Some(note), None, stored.approval.agent, then),
            recovered,
        ))
        .await;
    }
    let note = format!(
        "A person approved your call of {tool}. It is made now; then tell the customer what \
         came of it."
    );
    let input = input(row, Some(note), Some(approved(&stored)), stored.approval.agent, then);
    Box::pin(answer(case, input, recovered)).await
}

/// The status of the session that asked, if it is still the conversation's own.
fn status_of(case: &Case<'_>, stored: &StoredApproval) -> Result<Option<SessionStatus>, RunError> {
    let session = case.beginning.session.as_ref();
    let Some(session) = session.filter(|one| one.id == stored.approval.session) else {
        return Ok(None);
    };
    let session: Session = read("session", &session.data)?;
    Ok(Some(session.status))
}

fn input(
    row: InboxId,
    note: Option<String>,
    approved: Option<Approved>,
    agent: AgentId,
    then: AfterTurn,
) -> Input<'static> {
    let agent = Some(agent);
    Input { rows: vec![row], arrived: &[], note, approved, agent, settled: &[], then }
}

/// The call as it was asked for, or as the person changed it.
fn approved(stored: &StoredApproval) -> Approved {
    let Approval { id, arguments, tool, .. } = &stored.approval;
    let call = ToolCall::new(CallId::new(&id.to_string()), tool.as_str(), &stored.payload);
    Approved { id: *id, arguments: *arguments, call }
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
