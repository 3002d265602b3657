//! The end of an escalation: the session is the agent's again, with what the
//! person resolved.

use ostler_domain::human::escalation::Effect;
use ostler_domain::session::status::StatusChange;
use ostler_domain::time::Timestamp;
use serde_json::json;

use crate::inbound::draft::Draft;
use crate::talk::entry::Entry;
use crate::talk::message::{MessageAuthor, Purpose, ThreadMessage};
use crate::talk::session::Session;

/// Carries out what the end of an escalation does to its session.
pub(crate) fn settle(
    session: &mut Session,
    draft: &mut Draft,
    earlier: &[ThreadMessage],
    effects: &[Effect],
    now: Timestamp,
) {
    if effects.contains(&Effect::ActivateSession) {
        if let Ok(status) = session.status.after(StatusChange::Resume) {
            session.status = status;
        }
        session.calm_since = Some(now);
        session.uncertain = 0;
        if let Some(one) = &session.escalation {
            draft.happened(
                "escalation",
                json!({"escalation": one.id, "session": session.id, "status": one.state.status}),
            );
        }
    }
    if effects.contains(&Effect::ReturnToPrimary)
        && let Some(team) = &mut session.team
    {
        team.return_to_primary();
    }
    if effects.contains(&Effect::InjectResolution) {
        session.resolution = resolution(session, earlier);
    }
}

/// What the conversation goes on with when an agent has it again, each with what
/// a repeat of it is known by: what was decided meanwhile, and what the customer
/// wrote and nobody has answered.
pub(crate) fn go_on(
    session: &mut Session,
    earlier: &[ThreadMessage],
    effects: &[Effect],
) -> Vec<(String, Entry)> {
    let Some(escalation) = &session.escalation else { return Vec::new() };
    if !effects.contains(&Effect::ActivateSession) {
        return Vec::new();
    }
    let id = escalation.id;
    let decided = std::mem::take(&mut session.decided).into_iter();
    let mut all: Vec<(String, Entry)> = decided
        .map(|approval| (format!("decided:{approval}:{id}"), Entry::Decided { approval }))
        .collect();
    if effects.contains(&Effect::AgentAnswers) && unanswered(earlier) {
        let settled = escalation.triggers.clone();
        all.push((format!("go_on:{id}"), Entry::GoOn { settled }));
    }
    all
}

/// Whether the customer has had the last word, but for being asked to wait.
fn unanswered(earlier: &[ThreadMessage]) -> bool {
    let talk = earlier.iter().rev().find(|one| {
        matches!(one.author, MessageAuthor::Customer { .. })
            || (one.purpose == Purpose::Talk && !one.text().trim().is_empty())
    });
    talk.is_some_and(|one| matches!(one.author, MessageAuthor::Customer { .. }))
}

/// What the person said to the customer, for the agent that goes on.
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
