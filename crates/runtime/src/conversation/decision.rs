//! Continues a conversation after a person decided on an approval, or after it expired, and
//! tells the person who approved a call if it failed.

use ostler_domain::event::{ApprovedCallReport, OrgEvent};
use ostler_domain::gate::approval::{Approval, ApprovalStatus};
use ostler_domain::id::{ApprovalId, InboxId};
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::session::status::SessionStatus;
use ostler_engine::history::{CallId, Item, ToolCall};
use ostler_engine::outcome::OutcomeStatus;
use ostler_store::{LeaseAction, StoreError, StoredApproval};
use serde_json::json;

use super::checkpoint::RecoveredRun;
use super::input::{ApprovedCall, Input};
use super::pipeline::answer;
use super::run::Run;
use super::run_context::RunContext;
use super::{housekeeping, texts};
use crate::records::decode;
use crate::records::message::Purpose;
use crate::records::run::RunOutcome;
use crate::records::session::Session;
use crate::run_error::RunError;

/// The most characters of a failed call's text that the person who approved it reads.
const MAX_REASON_CHARS: usize = 300;

/// An inbox entry about a decision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decision {
    pub(crate) entry: InboxId,
    pub(crate) approval: ApprovalId,
    /// Whether an approved call is made even while a person has the conversation.
    pub(crate) at_once: bool,
}

/// Continues with a decision. This happens once, because the commit also answers the inbox
/// entry. While a person has the conversation, an approved call is made only if they wanted
/// that, and the agent says nothing.
pub(crate) async fn run(
    context: &RunContext<'_>,
    Decision { entry, approval, at_once }: Decision,
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
    if let Some(why) = skip_reason(&stored.approval.status, entry) {
        return housekeeping::skip(context, entry, why, lease_action).await;
    }
    match session_status(context, &stored)? {
        Some(SessionStatus::Active) => {}
        Some(SessionStatus::HandedOff) if at_once && !is_rejected(&stored) => {}
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
        "A person approved your call of {tool}. It is made now; then tell the customer the \
         result."
    );
    let input = Input {
        agent: Some(stored.approval.agent),
        approved_call: approved_call(entry, &stored),
        ..Input::from_note(entry, note, lease_action)
    };
    Box::pin(answer(context, input, recovered)).await
}

const fn is_rejected(stored: &StoredApproval) -> bool {
    matches!(stored.approval.status, ApprovalStatus::Rejected { .. })
}

/// Returns why a decision needs nothing done, if so.
fn skip_reason(status: &ApprovalStatus, entry: InboxId) -> Option<&'static str> {
    match status {
        ApprovalStatus::Pending => Some("an approval that is still open"),
        // Another entry reports it.
        ApprovalStatus::Expired { .. } => Some("an approval that has expired"),
        ApprovalStatus::Withdrawn => Some("an approval that ended with its session"),
        // A later attempt continues the call that this entry began; no other entry repeats it.
        ApprovalStatus::Used { entry: user, .. } if *user != entry => {
            Some("an approved call that has run")
        }
        ApprovalStatus::Used { .. }
        | ApprovalStatus::Approved { .. }
        | ApprovalStatus::Rejected { .. } => None,
    }
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
fn approved_call(entry: InboxId, stored: &StoredApproval) -> Option<ApprovedCall> {
    let Approval { id, arguments, tool, status, .. } = &stored.approval;
    let (ApprovalStatus::Approved { by } | ApprovalStatus::Used { by, .. }) = status else {
        return None;
    };
    let call = ToolCall::new(CallId::new(&id.to_string()), tool.as_str(), &stored.payload);
    Some(ApprovedCall { approval: *id, by: *by, entry, arguments: *arguments, call })
}

/// Tells the person who approved a call if it did not do what was asked, or if it was made
/// while a person has the conversation, who then has to tell the customer.
pub(crate) fn report_call(run: &mut Run, approved: &ApprovedCall, outcome: &RunOutcome) {
    let results = run.finished_turns.iter().flat_map(|turn| &turn.new_items);
    let results = results.filter_map(|item| match item {
        Item::Results { results } => Some(results),
        _ => None,
    });
    let made = results.flatten().find(|result| result.call == approved.call.id);
    let (status, description, why) = match made.map(|result| &result.outcome) {
        Some(outcome) if outcome.status == OutcomeStatus::Ok && !run.is_silent => return,
        Some(outcome) => (outcome.status, outcome.status.description(), outcome.content.clone()),
        None => {
            keep_for_resume(run, approved);
            (OutcomeStatus::Failed, "not made", why_not_made(outcome))
        }
    };
    let report = ApprovedCallReport {
        approval: approved.approval,
        session: run.session.id,
        tool: approved.call.name.clone(),
        outcome: description.into(),
        why: why.chars().take(MAX_REASON_CHARS).collect(),
    };
    let (kind, event) = match status {
        OutcomeStatus::Ok => (NoticeKind::ApprovedCallMade, OrgEvent::ApprovedCallMade(report)),
        _ => (NoticeKind::ApprovedCallFailed, OrgEvent::ApprovedCallFailed(report)),
    };
    run.pending.add_event(&event);
    let by = NoticeRecipient::User(approved.by);
    run.pending.add_notice(kind, by, approved.approval.to_string(), event.to_json());
}

/// Keeps an approval that was not used until the agents get the conversation back.
fn keep_for_resume(run: &mut Run, approved: &ApprovedCall) {
    let unused = run.finished_turns.is_empty();
    let session = &mut run.session;
    if unused
        && session.status == SessionStatus::HandedOff
        && !session.pending_decisions.contains(&approved.approval)
    {
        session.pending_decisions.push(approved.approval);
    }
}

/// Returns why a run ended without its approved call.
fn why_not_made(outcome: &RunOutcome) -> String {
    let why = match outcome {
        RunOutcome::CreditsExhausted => "the credits are used up",
        RunOutcome::RateLimited => "the agent reached its daily limit; approve it again tomorrow",
        RunOutcome::NoAgent => "no agent can answer; approve it again later",
        RunOutcome::Failed { why } | RunOutcome::Escalated { reason: why } => why,
        _ => "a person took the conversation over",
    };
    why.to_owned()
}

/// Tells the customer, and the owner or the person who approved, that an approval expired.
pub(crate) async fn report_expiry(
    context: &RunContext<'_>,
    entry: InboxId,
    approval: ApprovalId,
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
    if matches!(session_status(context, &stored)?, Some(SessionStatus::Closed(_)) | None) {
        let why = "an expired approval of a session that is over";
        return housekeeping::skip(context, entry, why, lease_action).await;
    }
    let ApprovalStatus::Expired { approved_by } = stored.approval.status else {
        return housekeeping::skip(context, entry, "an approval that is open", lease_action).await;
    };
    housekeeping::change_session(
        context,
        entry,
        "approval expired",
        lease_action,
        |context, run| {
            run.session.pending_decisions.retain(|one| *one != approval);
            run.send_text(context, texts::APPROVAL_EXPIRED, Purpose::Notice);
            let id = stored.approval.id;
            let data = json!({"approval": id, "session": run.session.id,
                "tool": stored.approval.tool, "approved_by": approved_by});
            run.pending.add_notice(
                NoticeKind::ApprovalExpired,
                approved_by.map_or(NoticeRecipient::Owner, NoticeRecipient::User),
                id.to_string(),
                data,
            );
        },
    )
    .await
}
