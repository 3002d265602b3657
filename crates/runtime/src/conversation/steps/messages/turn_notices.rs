//! What the owner of an agent is told about a turn, and asked to approve.

use ostler_domain::event::{ApprovalWanted, OrgEvent, ToolDisabled};
use ostler_domain::gate::approval::{Approval, ApprovalStatus};
use ostler_domain::gate::{DenyReason, GateDecision};
use ostler_domain::id::ApprovalId;
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::tool::ToolName;
use ostler_engine::turn::{GateRecord, Question, QuestionKind};
use ostler_store::StoredApproval;
use serde_json::json;

use crate::conversation::run::Run;
use crate::conversation::run_context::RunContext;
use crate::conversation::steps::turn::FinishedTurn;
use crate::ids::fresh;
use crate::org_view::AgentView;

/// Notifies the owner of each tool that the turn's failures disabled.
pub(super) fn notify_disabled_tools(run: &mut Run, agent: &AgentView, finished: &FinishedTurn) {
    let before = run.session.errors.disabled().clone();
    run.session.errors = finished.errors.clone();
    let new: Vec<ToolName> = run
        .session
        .errors
        .disabled()
        .keys()
        .filter(|tool| !before.contains_key(*tool))
        .cloned()
        .collect();
    for tool in new {
        let (session, agent) = (run.session.id, agent.agent.id);
        let event = OrgEvent::ToolDisabled(ToolDisabled { tool: tool.clone(), session, agent });
        run.pending.add_event(&event);
        run.pending.add_notice(
            NoticeKind::ToolDisabled,
            NoticeRecipient::Owner,
            tool.as_str(),
            event.to_json(),
        );
    }
}

/// Notifies the owner of calls that may or may not have taken effect.
pub(super) fn notify_unknown_outcomes(
    context: &RunContext<'_>,
    run: &mut Run,
    agent: &AgentView,
    finished: &FinishedTurn,
) {
    if finished.unknown_outcomes == 0 {
        return;
    }
    let data = json!({"session": run.session.id, "agent": agent.agent.id,
        "calls": finished.unknown_outcomes});
    let (kind, subject) = (NoticeKind::UnknownOutcome, context.run_id.to_string());
    run.pending.add_notice(kind, NoticeRecipient::Owner, subject, data);
}

/// Notifies the owner of each tool that was too expensive.
pub(super) fn notify_unpaid_tools(run: &mut Run, agent: &AgentView, finished: &FinishedTurn) {
    for GateRecord { tool, verdict, .. } in &finished.record.decisions {
        let GateDecision::Deny(DenyReason::OverBudget(short)) = verdict else { continue };
        let data = json!({"tool": tool, "session": run.session.id, "agent": agent.agent.id,
            "costs": short.wanted, "left": short.remaining, "limit": short.limit});
        run.pending.add_notice(NoticeKind::ToolUnpaid, NoticeRecipient::Owner, tool.as_str(), data);
    }
}

/// Creates an approval for each call that waits for a person.
pub(super) fn request_approvals(
    context: &RunContext<'_>,
    run: &mut Run,
    agent: &AgentView,
    finished: &mut FinishedTurn,
) {
    for Question { call, kind } in &finished.deferred_questions {
        let QuestionKind::Approval { why, risk, arguments } = kind else { continue };
        let Ok(tool) = call.name.parse::<ToolName>() else { continue };
        let id = fresh(ApprovalId::from_u128);
        let approval = Approval {
            id,
            session: run.session.id,
            agent: agent.agent.id,
            tool,
            risk: *risk,
            ask_reason: why.clone(),
            arguments: *arguments,
            requested_at: context.now,
            expires_at: context.now + context.view.settings.approvals.expire_after,
            status: ApprovalStatus::Pending,
        };
        let event = OrgEvent::ApprovalWanted(ApprovalWanted {
            approval: id,
            session: run.session.id,
            agent: agent.agent.id,
            tool: approval.tool.clone(),
            risk: *risk,
            expires_at: approval.expires_at,
            arguments: call.arguments.clone().into(),
        });
        run.pending.add_event(&event);
        run.pending.add_notice(
            NoticeKind::ApprovalWanted,
            NoticeRecipient::Owner,
            id.to_string(),
            event.to_json(),
        );
        run.pending.add_approval(StoredApproval { approval, payload: call.arguments.to_string() });
        run.session.pending_approvals += 1;
        finished.record.approvals.push(id);
    }
}
