//! Whether a conversation goes to a person, or to a specialist, before any model
//! is asked.

use std::borrow::Cow;

use ostler_domain::human::triggers::{BeforeModel, Fired, Route, Trigger, before_model};
use ostler_domain::id::AgentId;
use ostler_domain::time::Timestamp;

use super::case::Case;
use crate::org_view::AgentView;
use crate::talk::message::{MessageAuthor, ThreadMessage};
use crate::talk::session::Session;

/// What fired, and where it sends the conversation.
pub(super) struct Sent {
    pub(super) fired: Fired,
    /// The specialist that takes it; a person does if there is none.
    pub(super) to: Option<AgentId>,
}

/// Looks at a message before any model does.
pub(super) fn look(
    case: &Case<'_>,
    agent: &AgentView,
    session: &Session,
    earlier: &[ThreadMessage],
    message: &str,
    settled: &[Trigger],
) -> Option<Sent> {
    let calm_since = session.calm_since.unwrap_or(Timestamp::from_millis(i64::MIN));
    let triggers = &case.view.settings.triggers;
    let mut recent: Vec<Cow<'_, str>> = earlier
        .iter()
        .rev()
        .filter(|one| matches!(one.author, MessageAuthor::Customer { .. }) && one.at > calm_since)
        .map(ThreadMessage::text)
        .take(triggers.policy.mood_window)
        .collect();
    recent.reverse();
    let earlier: Vec<&str> = recent.iter().map(Cow::as_ref).collect();
    let facts = BeforeModel {
        message,
        earlier: &earlier,
        blocked_topics: &agent.agent.blocked_topics,
        soul_triggers: &agent.soul.escalation_triggers,
        failed_tools: session.errors.disabled_since(calm_since),
        settled,
    };
    let fired = before_model(&facts, triggers)?;
    let to = specialist(case, agent, &fired);
    Some(Sent { fired, to })
}

/// The specialist for the most pressing of what fired.
fn specialist(case: &Case<'_>, agent: &AgentView, fired: &Fired) -> Option<AgentId> {
    let team = case.view.settings.team.as_ref()?;
    let can_take = |id| case.view.agent(id).is_some_and(|one| one.agent.receives_messages());
    match fired.triggers().first()?.route(agent.agent.id, &team.specialists, can_take) {
        Route::Specialist(id) => Some(id),
        Route::Human => None,
    }
}
