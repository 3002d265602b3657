//! What happened to a session besides messages and calls: handoffs, escalations and what people
//! did.

use ostler_api::transcript::{EscalationEvent, HandoffEvent, SessionChange, SessionEvent};
use ostler_domain::team::TeamSession;
use ostler_runtime::operations::{OrgOperations, Result, SessionDetail};
use ostler_runtime::records::run::RunOutcome;

use super::changes;

/// Returns the events of a session, oldest first.
pub(crate) async fn timeline(
    operations: &OrgOperations<'_>,
    detail: &SessionDetail,
) -> Result<Vec<SessionEvent>> {
    let changes = changes::of_session(operations, detail.session.id, &detail.runs).await?;
    Ok(merge(detail, changes))
}

fn merge(detail: &SessionDetail, changes: Vec<SessionChange>) -> Vec<SessionEvent> {
    let history = detail.session.team.iter().flat_map(TeamSession::history);
    let handoffs = history.map(|one| {
        SessionEvent::Handoff(HandoffEvent {
            at: one.at,
            from: one.from,
            to: one.to,
            reason: one.reason.clone(),
            context_summary: one.context_summary.clone(),
        })
    });
    let escalations = detail.runs.iter().filter_map(|run| match &run.outcome {
        RunOutcome::Escalated { reason } => Some(SessionEvent::Escalation(EscalationEvent {
            at: run.at,
            run: run.id,
            reason: reason.clone(),
        })),
        _ => None,
    });
    let changes = changes.into_iter().map(SessionEvent::Change);
    let mut events: Vec<SessionEvent> = handoffs.chain(escalations).chain(changes).collect();
    events.sort_by_key(SessionEvent::at);
    events
}
