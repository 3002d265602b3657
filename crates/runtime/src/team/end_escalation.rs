//! Ends an escalation: the session is the agent's again, with what the person resolved.

use ostler_domain::event::{EscalationChanged, OrgEvent};
use ostler_domain::human::escalation::EscalationEffect;
use ostler_domain::session::status::StatusChange;
use ostler_domain::time::Timestamp;

use crate::pending_commit::PendingCommit;
use crate::records::entry::InboxEntry;
use crate::records::message::{MessageAuthor, Purpose, ThreadMessage};
use crate::records::session::Session;

/// Applies the effects that end an escalation to its session.
pub(crate) fn end_escalation(
    session: &mut Session,
    pending: &mut PendingCommit,
    earlier: &[ThreadMessage],
    effects: &[EscalationEffect],
    now: Timestamp,
) {
    if effects.contains(&EscalationEffect::ActivateSession) {
        if let Ok(status) = session.status.after(StatusChange::Resume) {
            session.status = status;
        }
        session.last_escalation_end = Some(now);
        session.uncertain_replies = 0;
        if let Some(one) = &session.escalation {
            pending.add_event(&OrgEvent::Escalation(EscalationChanged {
                escalation: one.id,
                session: session.id,
                status: one.state.status,
                urgency: None,
                reason: None,
            }));
        }
    }
    if effects.contains(&EscalationEffect::ReturnToPrimary)
        && let Some(team) = &mut session.team
    {
        team.return_to_primary();
    }
    if effects.contains(&EscalationEffect::InjectResolution) {
        session.resolution = resolution(session, earlier);
    }
    if effects.contains(&EscalationEffect::ActivateSession) && !session.pending_notes.is_empty() {
        let notes = std::mem::take(&mut session.pending_notes);
        let told = session.resolution.take();
        session.resolution = Some(told.into_iter().chain(notes).collect::<Vec<_>>().join("\n"));
    }
}

/// Returns the entries that the conversation continues with when an agent has it again, each
/// with its idempotency key: decisions made meanwhile, and customer messages that nobody
/// has answered.
pub(crate) fn follow_up_entries(
    session: &mut Session,
    earlier: &[ThreadMessage],
    effects: &[EscalationEffect],
) -> Vec<(String, InboxEntry)> {
    let Some(escalation) = &session.escalation else { return Vec::new() };
    if !effects.contains(&EscalationEffect::ActivateSession) {
        return Vec::new();
    }
    let id = escalation.id;
    let decided = std::mem::take(&mut session.pending_decisions).into_iter();
    let mut all: Vec<(String, InboxEntry)> = decided
        .map(|approval| {
            let decided = InboxEntry::ApprovalDecided { approval, at_once: false };
            (format!("decided:{approval}:{id}"), decided)
        })
        .collect();
    if effects.contains(&EscalationEffect::AgentAnswers)
        && is_unanswered(earlier, escalation.found_until)
    {
        let handled_triggers = escalation.triggers.clone();
        all.push((format!("go_on:{id}"), InboxEntry::Continue { handled_triggers }));
    }
    all
}

/// Returns whether the last message, apart from requests to wait, is the customer's. What a
/// person left unanswered who took over after it stays so.
fn is_unanswered(earlier: &[ThreadMessage], found_until: Option<Timestamp>) -> bool {
    let talk = earlier.iter().rev().find(|one| {
        matches!(one.author, MessageAuthor::Customer { .. })
            || (one.purpose == Purpose::Talk && !one.text().trim().is_empty())
    });
    talk.is_some_and(|one| {
        let came_since = found_until.is_none_or(|until| one.at > until);
        came_since && matches!(one.author, MessageAuthor::Customer { .. })
    })
}

/// Returns what the person told the customer, for the prompt of the agent that continues.
fn resolution(session: &Session, earlier: &[ThreadMessage]) -> Option<String> {
    let since = session.escalation.as_ref()?.state.requested_at;
    let said: Vec<String> = earlier
        .iter()
        .filter(|one| matches!(one.author, MessageAuthor::Human { .. }) && one.at >= since)
        .map(|one| format!("- {}", one.text()))
        .collect();
    let what = if said.is_empty() { "- (nothing was written)".to_owned() } else { said.join("\n") };
    Some(format!("A colleague took over and told the customer:\n{what}"))
}
