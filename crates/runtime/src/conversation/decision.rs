//! Continues a conversation after a person decided on an approval, or after it expired.

use ostler_domain::gate::approval::{Approval, ApprovalStatus};
use ostler_domain::id::{ApprovalId, InboxId};
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::session::status::SessionStatus;
use ostler_engine::history::{CallId, ToolCall};
use ostler_store::{LeaseAction, StoreError, StoredApproval};
use serde_json::json;

use super::checkpoint::RecoveredRun;
use super::input::{ApprovedCall, Input};
use super::pipeline::answer;
use super::run_context::RunContext;
use super::{housekeeping, texts};
use crate::records::decode;
use crate::records::message::Purpose;
use crate::records::session::Session;
use crate::run_error::RunError;

/// Continues with a decision. This happens once, because the commit also answers the inbox
/// entry.
pub(crate) async fn run(
    context: &RunContext<'_>,
    entry: InboxId,
    approval: ApprovalId,
    recovered: Option<Box<RecoveredRun>>,
    lease_action: LeaseAction,
) -> Result<(), RunError> {
    let stored = match context.store().approval(approval).await {
        Ok(stored) => stored,
        Err(StoreError::NotFound(_)) => {
            return housekeeping::skip(context, entry, "an approval that is gone", lease_action)
                .await;
        }
        Err(other) => return Err(other.into()),
    };
    match &stored.approval.status {
        ApprovalStatus::Expired => {
            return report_expiry(context, entry, &stored, lease_action).await;
        }
        ApprovalStatus::Pending => {
            return housekeeping::skip(
                context,
                entry,
                "an approval that is still open",
                lease_action,
            )
            .await;
        }
        // A later attempt continues the call that this entry began; no other entry repeats it.
        ApprovalStatus::Used { entry: user, .. } if *user != entry => {
            return housekeeping::skip(
                context,
                entry,
                "an approved call that has run",
                lease_action,
            )
            .await;
        }
        _ => {}
    }
    match session_status(context, &stored)? {
        Some(SessionStatus::Active) => {}
        Some(SessionStatus::HandedOff) => {
            let what = "a decision waits until the agent has the conversation again";
            return housekeeping::change_session(context, entry, what, lease_action, |_, run| {
                if !run.session.pending_decisions.contains(&approval) {
                    run.session.pending_decisions.push(approval);
                }
            })
            .await;
        }
        Some(SessionStatus::Closed(_)) | None => {
            return housekeeping::skip(
                context,
                entry,
                "a decision for a session that is over",
                lease_action,
            )
            .await;
        }
    }
    let tool = stored.approval.tool.as_str();
    if let ApprovalStatus::Rejected { reason, .. } = &stored.approval.status {
        let note = format!(
            "A person said no to your call of {tool}: {reason}. Tell the customer kindly, \
             without naming the person."
        );
        let input = Input::from_note(entry, note, lease_action);
        let input = Input { agent: Some(stored.approval.agent), ..input };
        return Box::pin(answer(context, input, recovered)).await;
    }
    let note = format!(
        "A person approved your call of {tool}. It is made now; then tell the customer what \
         came of it."
    );
    let input = Input {
        agent: Some(stored.approval.agent),
        approved_call: Some(approved_call(entry, &stored)),
        ..Input::from_note(entry, note, lease_action)
    };
    Box::pin(answer(context, input, recovered)).await
}

/// Returns the status of the session that asked, if it is still the conversation's newest.
fn session_status(
    context: &RunContext<'_>,
    stored: &StoredApproval,
) -> Result<Option<SessionStatus>, RunError> {
    let session = context.start.session.as_ref();
    let Some(session) = session.filter(|one| one.id == stored.approval.session) else {
        return Ok(None);
    };
    let session: Session = decode("session", &session.data)?;
    Ok(Some(session.status))
}

/// Returns the call as the agent asked for it, or as the person changed it.
fn approved_call(entry: InboxId, stored: &StoredApproval) -> ApprovedCall {
    let Approval { id, arguments, tool, .. } = &stored.approval;
    let call = ToolCall::new(CallId::new(&id.to_string()), tool.as_str(), &stored.payload);
    ApprovedCall { approval: *id, entry, arguments: *arguments, call }
}

/// Tells the customer and the owner that an approval expired.
async fn report_expiry(
    context: &RunContext<'_>,
    entry: InboxId,
    stored: &StoredApproval,
    lease_action: LeaseAction,
) -> Result<(), RunError> {
    housekeeping::change_session(
        context,
        entry,
        "approval expired",
        lease_action,
        |context, run| {
            run.send_text(context, texts::APPROVAL_EXPIRED, Purpose::Notice);
            let id = stored.approval.id;
            let data = json!({"approval": id, "session": run.session.id,
            "tool": stored.approval.tool});
            run.pending.add_notice(
                NoticeKind::ApprovalExpired,
                NoticeRecipient::Owner,
                id.to_string(),
                data,
            );
        },
    )
    .await
}
