//! Asking for a person: the session is handed off, the customer is told, and
//! the org's people hear of it.

use ostler_domain::human::escalation::{Effect, Escalation, EscalationRequest, Urgency};
use ostler_domain::human::triggers::Trigger;
use ostler_domain::id::{BindingId, EscalationId};
use ostler_domain::message::Part;
use ostler_domain::notice::{NoticeKind, Recipient};
use ostler_domain::org::settings::Address;
use ostler_domain::session::key::Peer;
use ostler_domain::session::status::StatusChange;
use ostler_domain::time::Timestamp;
use ostler_store::Author;
use serde_json::json;

use crate::ids::fresh;
use crate::inbound::draft::Draft;
use crate::org_view::OrgView;
use crate::talk::outgoing::{Button, Outgoing};
use crate::talk::session::{OpenEscalation, Session};

/// Asks for a person. Nothing happens while one was asked for already. Says
/// whether the customer is to be told to wait.
pub(crate) fn begin(
    view: &OrgView,
    session: &mut Session,
    draft: &mut Draft,
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
    draft.happened(
        "escalation",
        json!({"escalation": id, "session": session.id, "reason": state.request.reason,
               "urgency": state.request.urgency, "status": state.status}),
    );
    session.escalation = Some(OpenEscalation { id, triggers, state });
    if effects.contains(&Effect::HandOffSession)
        && let Ok(status) = session.status.after(StatusChange::Escalate)
    {
        session.status = status;
    }
    notify_people(view, session, draft, &effects);
    effects.contains(&Effect::TellCustomerToWait)
}

/// Tells the org's people what these effects say they are to be told.
pub(crate) fn notify_people(
    view: &OrgView,
    session: &Session,
    draft: &mut Draft,
    effects: &[Effect],
) {
    let Some(escalation) = &session.escalation else { return };
    let people = &view.settings.people;
    for effect in effects {
        match effect {
            Effect::NotifyOwner => {
                tell_owner(session, escalation, draft, NoticeKind::Escalation);
                push(
                    person(people.owner.as_ref()),
                    session,
                    escalation,
                    draft,
                    "Somebody is needed",
                );
            }
            Effect::NotifyTeamGroup => {
                push(
                    group(people.team_group.as_ref()),
                    session,
                    escalation,
                    draft,
                    "Somebody is needed",
                );
            }
            Effect::Remind => {
                tell_owner(session, escalation, draft, NoticeKind::EscalationReminder);
                push(person(people.owner.as_ref()), session, escalation, draft, "Still waiting");
            }
            Effect::SendEmail => {
                push(person(people.owner_email.as_ref()), session, escalation, draft, "Urgent");
            }
            _ => {}
        }
    }
}

fn tell_owner(session: &Session, escalation: &OpenEscalation, draft: &mut Draft, kind: NoticeKind) {
    let request = &escalation.state.request;
    let data = json!({"session": session.id, "escalation": escalation.id,
        "reason": request.reason, "urgency": request.urgency});
    draft.notify(kind, Recipient::Owner, escalation.id.to_string(), data);
}

fn person(at: Option<&Address>) -> Option<(BindingId, Peer)> {
    at.map(|one| (one.binding, Peer::Person(one.identifier.clone())))
}

fn group(at: Option<&Address>) -> Option<(BindingId, Peer)> {
    at.map(|one| (one.binding, Peer::Group(one.identifier.clone())))
}

/// Sends a message with buttons to where the org's people are.
fn push(
    to: Option<(BindingId, Peer)>,
    session: &Session,
    escalation: &OpenEscalation,
    draft: &mut Draft,
    headline: &str,
) {
    let Some((binding, to)) = to else { return };
    let request = &escalation.state.request;
    let urgency = match request.urgency {
        Urgency::High => "high",
        Urgency::Normal => "normal",
        Urgency::Low => "low",
    };
    let who = session.name.as_deref().unwrap_or("A customer");
    let mut text = format!(
        "{headline}: {who} on {} ({urgency} urgency)\n{}\n",
        session.channel, request.reason
    );
    if !request.context_summary.trim().is_empty() {
        text.push_str(&format!("{}\n", request.context_summary.trim()));
    }
    text.push_str(&format!("Session {}", session.id));
    let button = |label: &str, action: &str| Button {
        label: label.to_owned(),
        data: format!("{action}:{}", session.id),
    };
    draft.send(
        Author::Notice,
        &Outgoing {
            binding,
            to,
            parts: vec![Part::text(text)],
            buttons: vec![button("Take over", "take_over"), button("Dismiss", "dismiss")],
            message: None,
            answers: None,
            thread: None,
            asked: None,
            plain: false,
        },
    );
}
