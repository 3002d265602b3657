//! Begins an escalation: the session is handed off, and the org's people are notified.

use ostler_domain::human::escalation::{Escalation, EscalationEffect, EscalationRequest, Urgency};
use ostler_domain::human::triggers::Trigger;
use ostler_domain::id::{BindingId, EscalationId};
use ostler_domain::message::MessagePart;
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::org::settings::ChannelAddress;
use ostler_domain::session::key::Peer;
use ostler_domain::session::status::StatusChange;
use ostler_domain::time::Timestamp;
use ostler_store::Author;
use serde_json::json;

use crate::ids::fresh;
use crate::org_view::OrgView;
use crate::pending_commit::PendingCommit;
use crate::records::outgoing::{OutgoingButton, OutgoingMessage};
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
    pending.add_event(
        "escalation",
        json!({"escalation": id, "session": session.id, "reason": state.request.reason,
               "urgency": state.request.urgency, "status": state.status}),
    );
    session.escalation = Some(OpenEscalation { id, triggers, state });
    if effects.contains(&EscalationEffect::HandOffSession)
        && let Ok(status) = session.status.after(StatusChange::Escalate)
    {
        session.status = status;
    }
    notify_people(view, session, pending, &effects);
    effects.contains(&EscalationEffect::TellCustomerToWait)
}

/// Notifies the org's people as the effects of an escalation say.
pub(crate) fn notify_people(
    view: &OrgView,
    session: &Session,
    pending: &mut PendingCommit,
    effects: &[EscalationEffect],
) {
    let Some(escalation) = &session.escalation else { return };
    let people = &view.settings.people;
    for effect in effects {
        match effect {
            EscalationEffect::NotifyOwner => {
                notify_owner(session, escalation, pending, NoticeKind::Escalation);
                send_to_people(
                    person(people.owner.as_ref()),
                    session,
                    escalation,
                    pending,
                    "Somebody is needed",
                );
            }
            EscalationEffect::NotifyTeamGroup => {
                send_to_people(
                    group(people.team_group.as_ref()),
                    session,
                    escalation,
                    pending,
                    "Somebody is needed",
                );
            }
            EscalationEffect::Remind => {
                notify_owner(session, escalation, pending, NoticeKind::EscalationReminder);
                send_to_people(
                    person(people.owner.as_ref()),
                    session,
                    escalation,
                    pending,
                    "Still waiting",
                );
            }
            EscalationEffect::SendEmail => {
                send_to_people(
                    person(people.owner_email.as_ref()),
                    session,
                    escalation,
                    pending,
                    "Urgent",
                );
            }
            _ => {}
        }
    }
}

fn notify_owner(
    session: &Session,
    escalation: &OpenEscalation,
    pending: &mut PendingCommit,
    kind: NoticeKind,
) {
    let request = &escalation.state.request;
    let data = json!({"session": session.id, "escalation": escalation.id,
        "reason": request.reason, "urgency": request.urgency});
    pending.add_notice(kind, NoticeRecipient::Owner, escalation.id.to_string(), data);
}

fn person(at: Option<&ChannelAddress>) -> Option<(BindingId, Peer)> {
    at.map(|one| (one.binding, Peer::Person(one.identifier.clone())))
}

fn group(at: Option<&ChannelAddress>) -> Option<(BindingId, Peer)> {
    at.map(|one| (one.binding, Peer::Group(one.identifier.clone())))
}

/// Sends a message about an escalation, with buttons, to a chat of the org's people.
fn send_to_people(
    to: Option<(BindingId, Peer)>,
    session: &Session,
    escalation: &OpenEscalation,
    pending: &mut PendingCommit,
    headline: &str,
) {
    let Some((binding, to)) = to else { return };
    let request = &escalation.state.request;
    let urgency = match request.urgency {
        Urgency::High => "high",
        Urgency::Normal => "normal",
        Urgency::Low => "low",
    };
    let name = session.name.as_deref().unwrap_or("A customer");
    let mut text = format!(
        "{headline}: {name} on {} ({urgency} urgency)\n{}\n",
        session.channel, request.reason
    );
    if !request.context_summary.trim().is_empty() {
        text.push_str(&format!("{}\n", request.context_summary.trim()));
    }
    text.push_str(&format!("Session {}", session.id));
    let button = |label: &str, action: &str| OutgoingButton {
        label: label.to_owned(),
        data: format!("{action}:{}", session.id),
    };
    pending.add_outgoing(
        Author::Notice,
        &OutgoingMessage {
            binding,
            to,
            parts: vec![MessagePart::text(text)],
            buttons: vec![button("Take over", "take_over"), button("Dismiss", "dismiss")],
            message: None,
            reply_to: None,
            thread: None,
            bus_request: None,
            plain_text: false,
        },
    );
}
