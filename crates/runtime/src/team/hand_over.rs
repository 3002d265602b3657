//! Hands a session to another agent.

use ostler_domain::event::{OrgEvent, SessionHandedOver};
use ostler_domain::id::AgentId;
use ostler_domain::money::Credits;
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::team::handoff::{HandoffFacts, HandoffRefused, HandoffRequest, validate};
use ostler_domain::time::Timestamp;

use super::effect::TeamEffect;
use crate::org_view::OrgView;
use crate::pending_commit::PendingCommit;
use crate::records::session::Session;

/// Hands a session to the agent of a [`TeamEffect::TagIn`]. Fails if the rules do not allow
/// it any more.
pub(crate) fn hand_over(
    view: &OrgView,
    session: &mut Session,
    pending: &mut PendingCommit,
    from: AgentId,
    effect: TeamEffect,
    available: Credits,
    now: Timestamp,
) -> Result<AgentId, HandoffRefused> {
    let TeamEffect::TagIn { to, reason, context_summary, suggested_approach, note, goal } = effect
    else {
        return Err(HandoffRefused::NoSuchAgent);
    };
    let config = view.settings.team.clone().unwrap_or_default();
    let request = HandoffRequest { reason, context_summary, suggested_approach };
    let facts = HandoffFacts {
        session: session.id,
        org: session.org,
        from,
        target: view.agent(to).map(|one| &one.agent),
        team: session.team.as_ref(),
        status: session.status,
        available,
        config: &config,
    };
    let valid = validate(&request, &facts, now)?;
    let notify_owner = valid.notify_owner;
    valid.apply(&mut session.team);
    if let Some(team) = &mut session.team {
        if let Some(note) = note {
            team.shared.handoff_notes.insert(to, note);
        }
        if goal.is_some() {
            team.shared.conversation_goal = goal;
        }
    }
    let event = OrgEvent::Handoff(SessionHandedOver {
        session: session.id,
        from,
        to,
        reason: request.reason.clone(),
    });
    if notify_owner {
        let subject = session.id.to_string();
        pending.add_notice(NoticeKind::Handoff, NoticeRecipient::Owner, subject, event.to_json());
    }
    pending.add_event(&event);
    Ok(to)
}

/// Hands a session to the org's specialist for a trigger.
pub(crate) fn hand_over_to_specialist(
    view: &OrgView,
    session: &mut Session,
    pending: &mut PendingCommit,
    from: AgentId,
    to: AgentId,
    reason: &str,
    now: Timestamp,
) -> Result<AgentId, HandoffRefused> {
    let effect = TeamEffect::TagIn {
        to,
        reason: reason.to_owned(),
        context_summary: reason.to_owned(),
        suggested_approach: None,
        note: None,
        goal: None,
    };
    let available = session.budget.remaining();
    hand_over(view, session, pending, from, effect, available, now)
}
