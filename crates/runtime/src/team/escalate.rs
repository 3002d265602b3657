//! Begins an escalation: the session is handed off, and the org's people are notified.

use ostler_domain::event::{EscalationChanged, OrgEvent};
use ostler_domain::human::escalation::{Escalation, EscalationEffect, EscalationRequest};
use ostler_domain::human::triggers::Trigger;
use ostler_domain::id::EscalationId;
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::session::status::StatusChange;
use ostler_domain::time::Timestamp;
use serde_json::json;

use crate::ids::fresh;
use crate::org_view::OrgView;
use crate::pending_commit::PendingCommit;
use crate::records::session::{OpenEscalation, Session};

/// Escalates a session to a person, unless an escalation is open already. Returns whether
/// the customer has to be told to wait.
pub(crate) fn begin_escalation(
    view: &OrgView,
    session: &mut Session,
    pending: &mut PendingCommit,
    request: EscalationRequest,
    triggers: Vec<Trigger>,
    now: Timestamp,
) -> bool {
    let config = view.settings.team.clone().unwrap_or_default();
    let current = session.escalation.as_ref().map(|one| &one.state);
    let Some((state, effects)) = Escalation::begin(current, request, &config, now) else {
        return false;
    };
    let id = fresh(EscalationId::from_u128);
    pending.add_event(&OrgEvent::Escalation(EscalationChanged {
        escalation: id,
        session: session.id,
        status: state.status,
        urgency: Some(state.request.urgency),
        reason: Some(state.request.reason.clone()),
    }));
    session.escalation = Some(OpenEscalation { id, triggers, found_until: None, state });
    if effects.contains(&EscalationEffect::HandOffSession)
        && let Ok(status) = session.status.after(StatusChange::Escalate)
    {
        session.status = status;
    }
    notify_people(session, pending, &effects);
    effects.contains(&EscalationEffect::TellCustomerToWait)
}

/// Adds the notices to the org's people that the effects of an escalation ask for. Where
/// they are sent is decided by what each person wants.
pub(crate) fn notify_people(
    session: &Session,
    pending: &mut PendingCommit,
    effects: &[EscalationEffect],
) {
    let Some(escalation) = &session.escalation else { return };
    let request = &escalation.state.request;
    for effect in effects {
        let kind = match effect {
            EscalationEffect::NotifyOwner => NoticeKind::Escalation,
            EscalationEffect::Remind => NoticeKind::EscalationReminder,
            EscalationEffect::SendEmail => NoticeKind::EscalationUnanswered,
            _ => continue,
        };
        let data = json!({"session": session.id, "escalation": escalation.id,
            "reason": request.reason, "urgency": request.urgency});
        pending.add_notice(kind, NoticeRecipient::Owner, escalation.id.to_string(), data);
    }
}
