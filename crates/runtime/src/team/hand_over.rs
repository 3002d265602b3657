//! Carrying out a handoff that a turn ended with.

use ostler_domain::id::AgentId;
use ostler_domain::money::Credits;
use ostler_domain::notice::{NoticeKind, Recipient};
use ostler_domain::team::handoff::{HandoffFacts, HandoffRefused, HandoffRequest, validate};
use ostler_domain::time::Timestamp;
use serde_json::json;

use super::effect::TeamEffect;
use crate::inbound::draft::Draft;
use crate::org_view::OrgView;
use crate::talk::session::Session;

/// Hands a session to the agent that was tagged in, if that is still allowed.
pub(crate) fn hand_over(
    view: &OrgView,
    session: &mut Session,
    draft: &mut Draft,
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
    let tell = valid.notify_owner;
    valid.apply(&mut session.team);
    if let Some(team) = &mut session.team {
        if let Some(note) = note {
            team.shared.handoff_notes.insert(to, note);
        }
        if goal.is_some() {
            team.shared.conversation_goal = goal;
        }
    }
    let handed = json!({"session": session.id, "from": from, "to": to, "reason": request.reason});
    if tell {
        let subject = session.id.to_string();
        draft.notify(NoticeKind::Handoff, Recipient::Owner, subject, handed.clone());
    }
    draft.happened("handoff", handed);
    Ok(to)
}

/// Hands a session to the org's specialist for what a trigger found.
pub(crate) fn to_specialist(
    view: &OrgView,
    session: &mut Session,
    draft: &mut Draft,
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
    hand_over(view, session, draft, from, effect, available, now)
}
