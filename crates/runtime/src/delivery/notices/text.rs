//! Notices in words, for messages and lists.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use ostler_domain::human::escalation::Urgency;
use ostler_domain::id::{AgentId, NoticeId};
use ostler_domain::notice::schedule::NoticeStage;
use ostler_domain::notice::{LowCredits, NoticeKind};
use ostler_domain::org::Org;
use ostler_domain::org::settings::OWNER;
use ostler_store::{DueNoticeDelivery, NewNotice, OrgStore, StoreError, StoredNotice};
use serde_json::Value;

use super::data_of;
use crate::records::outgoing::{ACKNOWLEDGE, OutgoingButton};
use crate::records::session::Session;

/// The most notices that a digest lists.
const MAX_DIGEST_LINES: usize = 50;

/// The names of agents, for notices about them.
pub type AgentNames = BTreeMap<AgentId, String>;

/// Returns a call as people read it.
pub fn format_call(tool: &str, arguments: &str) -> String {
    let parsed: Result<serde_json::Map<String, Value>, _> = serde_json::from_str(arguments);
    let Ok(parsed) = parsed else { return format!("{tool}({arguments})") };
    let arguments = parsed.iter().map(|(name, value)| match value {
        Value::String(text) => format!("{name}: {text}"),
        other => format!("{name}: {other}"),
    });
    format!("{tool}({})", arguments.collect::<Vec<_>>().join(", "))
}

fn text<'d>(data: &'d Value, name: &str) -> Option<&'d str> {
    data[name].as_str().filter(|text| !text.is_empty())
}

/// Describes a notice in a sentence, with its reason.
pub fn describe(notice: &NewNotice, data: &Value, names: &AgentNames) -> String {
    let because = |name: &str| text(data, name).map_or_else(String::new, |why| format!(": {why}"));
    let agent = |name: &str| {
        let id: Option<AgentId> = text(data, name).and_then(|id| id.parse().ok());
        let name = id.map(|id| names.get(&id).cloned().unwrap_or_else(|| id.short()));
        name.unwrap_or_else(|| "an agent".to_owned())
    };
    let tool = || text(data, "tool").unwrap_or("a tool");
    let what = headline(notice, data);
    match notice.kind {
        NoticeKind::ModelsFailed
        | NoticeKind::DeadLetter
        | NoticeKind::DeadLetterAbandoned
        | NoticeKind::UnknownOutcome => format!("{what}{}", because("why")),
        NoticeKind::Escalation
        | NoticeKind::EscalationReminder
        | NoticeKind::EscalationUnanswered => format!("{what}{}", because("reason")),
        NoticeKind::Handoff => {
            format!("{} handed over to {}{}", agent("from"), agent("to"), because("reason"))
        }
        NoticeKind::ApprovalWanted => {
            let call = format_call(tool(), &data["arguments"].to_string());
            format!("{} wants to call {call}", agent("agent"))
        }
        NoticeKind::SoulProposal => {
            format!(
                "a change of the soul of {} waits for a decision{}",
                agent("agent"),
                because("reason")
            )
        }
        NoticeKind::ApprovedCallMade | NoticeKind::NoBinding | NoticeKind::WebhookSwitchedOff => {
            format!("{what}{}", because("why"))
        }
        NoticeKind::ApprovedCallFailed => {
            let outcome = text(data, "outcome").unwrap_or("not done");
            format!("{what}: {outcome}{}", because("why"))
        }
        NoticeKind::WorkflowWaiting => format!("{what}{}", because("question")),
        NoticeKind::WorkflowFailed => format!("{what}{}", because("reason")),
        NoticeKind::RefundRequested => format!("{what}{}", because("reason")),
        NoticeKind::IssueRaised => format!("{what}{}", because("summary")),
        NoticeKind::SignedUp | NoticeKind::SessionAssigned => {
            format!("{what}{}", because("name"))
        }
        NoticeKind::DelegationReceived | NoticeKind::Instruction => {
            format!("{what}{}", because("instruction"))
        }
        NoticeKind::IssueSettled | NoticeKind::DelegationAnswered => {
            format!("{what}{}", because("text"))
        }
        _ => what,
    }
}

/// Describes a notice without the words of customers and agents.
fn headline(notice: &NewNotice, data: &Value) -> String {
    let tool = || text(data, "tool").unwrap_or("a tool");
    let subject = &notice.subject;
    match notice.kind {
        NoticeKind::ModelsFailed => "no model answered".into(),
        NoticeKind::CreditsExhausted => "the credits are used up; customers get no answers".into(),
        NoticeKind::ChildCap => "the share of the parent org's credits is used up".into(),
        NoticeKind::SharingNearCap => {
            let whose = if data["child"].is_null() { "all clients" } else { "a client" };
            format!("{whose} used {} of {} credits of today", data["used"], data["cap"])
        }
        NoticeKind::DeadLetter if data["unanswered"].is_string() => {
            "a message could not be answered".into()
        }
        NoticeKind::DeadLetter => "a message could not be sent and is tried again later".into(),
        NoticeKind::DeadLetterAbandoned => "a message was abandoned".into(),
        NoticeKind::ToolDisabled => {
            format!("{subject} failed too often and is disabled in a session")
        }
        NoticeKind::ToolUnpaid => format!("{subject} did not run: there are not enough credits"),
        NoticeKind::LowCredits(LowCredits::Percent20) => "20 % of the credits are left".into(),
        NoticeKind::LowCredits(LowCredits::Percent10) => "10 % of the credits are left".into(),
        NoticeKind::LowCredits(LowCredits::Empty) => "the credits of this month are used up".into(),
        NoticeKind::SessionCap => "a conversation has reached its credit limit".into(),
        NoticeKind::Escalation => "a customer needs a person".into(),
        NoticeKind::EscalationReminder => "a customer is still waiting for a person".into(),
        NoticeKind::EscalationUnanswered => "nobody has answered an urgent escalation".into(),
        NoticeKind::Handoff => "an agent handed a conversation over".into(),
        NoticeKind::ApprovalWanted => format!("a call of {} needs approval", tool()),
        NoticeKind::ApprovalExpired if text(data, "approved_by").is_some() => {
            format!("{} was approved, but not called in time", tool())
        }
        NoticeKind::ApprovalExpired => "an approval expired before anyone decided".into(),
        NoticeKind::LevelProposal => {
            let level = |name: &str| text(data, name).unwrap_or("another level").to_owned();
            let slug = text(data, "slug").unwrap_or("an agent");
            format!("{slug} could be {} instead of {}", level("to"), level("from"))
        }
        NoticeKind::SoulProposal => "a change of a soul waits for a decision".into(),
        NoticeKind::ApprovedCallFailed => {
            format!("the approved call of {} did not succeed", tool())
        }
        NoticeKind::ApprovedCallMade => {
            format!("the approved call of {} was made; tell the customer", tool())
        }
        NoticeKind::NoBinding if data["binding"].is_string() => {
            "a message cannot be sent, because its channel cannot be used".into()
        }
        NoticeKind::NoBinding => {
            format!("a reply cannot be sent: no {subject} channel is connected")
        }
        NoticeKind::UnknownOutcome if data["message"].is_string() => {
            "a message may or may not have been sent".into()
        }
        NoticeKind::UnknownOutcome => "a call may or may not have taken effect".into(),
        NoticeKind::RefundRequested => {
            let (amount, number) = (text(data, "amount"), text(data, "number"));
            let number = number.unwrap_or("of a customer");
            format!("pay a refund of {} for order {number}", amount.unwrap_or("some money"))
        }
        NoticeKind::IssueRaised => {
            let sender = text(data, "sender").unwrap_or("an agent");
            format!("{sender} sent an issue ({} severity)", text(data, "severity").unwrap_or("low"))
        }
        NoticeKind::IssueSettled => "an issue is settled".into(),
        NoticeKind::DelegationReceived => {
            format!("{} delegated work", text(data, "sender").unwrap_or("the agency"))
        }
        NoticeKind::DelegationAnswered => "a client answered a delegation".into(),
        NoticeKind::Instruction => "the PM gave an agent an instruction".into(),
        NoticeKind::SignedUp => "an organization signed up".into(),
        NoticeKind::WorkflowFailed if data["schedule"].is_string() => {
            let schedule = text(data, "schedule").unwrap_or_default();
            format!("the schedule {schedule} could not start its workflow")
        }
        NoticeKind::WorkflowFailed => {
            format!("the workflow {} failed", text(data, "name").unwrap_or("of the org"))
        }
        NoticeKind::SessionAssigned => "a conversation was assigned to you".into(),
        NoticeKind::WebhookSwitchedOff => {
            format!("the webhook to {} is switched off", text(data, "host").unwrap_or("a receiver"))
        }
        NoticeKind::WorkflowWaiting => {
            format!(
                "the workflow {} waits for a person",
                text(data, "name").unwrap_or("of the org")
            )
        }
    }
}

/// Returns the command that deals with a notice, if there is one.
fn next_command(notice: &NewNotice, data: &Value, org: &str) -> Option<String> {
    let command = match notice.kind {
        NoticeKind::ApprovalWanted => format!("approval approve {}", text(data, "approval")?),
        NoticeKind::LevelProposal => "agent promotion ls".to_owned(),
        NoticeKind::SoulProposal => format!("soul proposals show {}", text(data, "proposal")?),
        NoticeKind::DeadLetter | NoticeKind::DeadLetterAbandoned => "dead-letter ls".to_owned(),
        NoticeKind::UnknownOutcome if data["message"].is_string() => "dead-letter ls".to_owned(),
        NoticeKind::UnknownOutcome => "unknown-outcome ls".to_owned(),
        NoticeKind::WorkflowFailed if data["schedule"].is_string() => {
            format!("workflow schedule show {}", text(data, "schedule")?)
        }
        NoticeKind::WorkflowWaiting | NoticeKind::WorkflowFailed => {
            format!("workflow show {}", text(data, "workflow")?)
        }
        NoticeKind::RefundRequested => format!("refund paid {}", text(data, "refund")?),
        NoticeKind::SessionAssigned => format!("session show {}", notice.subject),
        NoticeKind::WebhookSwitchedOff => format!("webhook show {}", notice.subject),
        NoticeKind::CreditsExhausted | NoticeKind::LowCredits(_) => "credit show".to_owned(),
        NoticeKind::NoBinding => "channel ls".to_owned(),
        NoticeKind::IssueRaised => format!("issue show {}", text(data, "issue")?),
        NoticeKind::DelegationReceived => {
            format!("org-delegation show {}", text(data, "delegation")?)
        }
        NoticeKind::SignedUp => return Some(format!("ostler org show {}", text(data, "slug")?)),
        _ => return None,
    };
    Some(format!("ostler {command} --org {org}"))
}

/// Returns the text and the buttons of the message of one notice.
pub(super) fn message(
    org: &Org,
    delivery: &DueNoticeDelivery,
    session: Option<&Session>,
    names: &AgentNames,
) -> (String, Vec<OutgoingButton>) {
    let stored = &delivery.notice;
    let data = data_of(stored);
    let headline = match stored.notice.kind {
        NoticeKind::Escalation => Some("Somebody is needed"),
        NoticeKind::EscalationReminder => Some("Still waiting"),
        NoticeKind::EscalationUnanswered => Some("Urgent"),
        _ => None,
    };
    if let (Some(headline), Some(session)) = (headline, session) {
        let text = escalation(headline, session);
        // Only the chats of the owner and the team may act on conversations.
        let buttons = match delivery.key.person.as_str() {
            OWNER => escalation_buttons(session),
            _ => vec![acknowledge_button(stored.notice.id)],
        };
        return (text, buttons);
    }
    let repeated = match delivery.key.stage {
        NoticeStage::First => "",
        NoticeStage::Next => "nobody has reacted yet: ",
    };
    let mut text = format!("{}: {repeated}{}", org.name, describe(&stored.notice, &data, names));
    if let Some(session) = session {
        text.push_str(&format!("\nSession {}", session.id));
    }
    if let Some(command) = next_command(&stored.notice, &data, &org.slug) {
        text.push_str(&format!("\n{command}"));
    }
    (text, vec![acknowledge_button(stored.notice.id)])
}

fn acknowledge_button(id: NoticeId) -> OutgoingButton {
    OutgoingButton { label: "OK".to_owned(), data: format!("{ACKNOWLEDGE}:{id}") }
}

/// Returns the text about an escalation.
fn escalation(headline: &str, session: &Session) -> String {
    let name = session.name.as_deref().unwrap_or("A customer");
    let mut text = format!("{headline}: {name} on {}", session.channel);
    if let Some(open) = &session.escalation {
        let request = &open.state.request;
        let urgency = match request.urgency {
            Urgency::High => "high",
            Urgency::Normal => "normal",
            Urgency::Low => "low",
        };
        text.push_str(&format!(" ({urgency} urgency)\n{}\n", request.reason));
        if !request.context_summary.trim().is_empty() {
            text.push_str(&format!("{}\n", request.context_summary.trim()));
        }
    }
    text.push_str(&format!("Session {}", session.id));
    text
}

fn escalation_buttons(session: &Session) -> Vec<OutgoingButton> {
    let button = |label: &str, action: &str| OutgoingButton {
        label: label.to_owned(),
        data: format!("{action}:{}", session.id),
    };
    vec![button("Take over", "take_over"), button("Dismiss", "dismiss")]
}

/// Returns the text of a digest. It has no words of customers, because it belongs to no
/// conversation with which it would be deleted.
pub(super) fn digest<'n>(
    org: &str,
    notices: impl ExactSizeIterator<Item = &'n StoredNotice>,
    zone: &TimeZone,
) -> String {
    let count = notices.len();
    let mut lines = vec![match count {
        1 => format!("{org}: 1 notice"),
        _ => format!("{org}: {count} notices"),
    }];
    for stored in notices.take(MAX_DIGEST_LINES) {
        let at = jiff::Timestamp::from_millisecond(stored.created_at.as_millis());
        let at = at.unwrap_or_default().to_zoned(zone.clone());
        let what = headline(&stored.notice, &data_of(stored));
        lines.push(format!("{} {what}", at.strftime("%d %b %H:%M")));
    }
    if count > MAX_DIGEST_LINES {
        lines.push(format!("and {} more", count - MAX_DIGEST_LINES));
    }
    lines.push("ostler notice ls shows the details".to_owned());
    lines.join("\n")
}

/// Returns the names of the agents that a notice mentions.
pub(super) async fn agent_names(
    store: &OrgStore<'_>,
    stored: &StoredNotice,
) -> Result<AgentNames, StoreError> {
    let data = data_of(stored);
    let mut names = AgentNames::new();
    for field in ["agent", "from", "to"] {
        let id: Option<AgentId> = text(&data, field).and_then(|id| id.parse().ok());
        let Some(id) = id else { continue };
        match store.agent(id).await {
            Ok(agent) => names.insert(id, agent.display_name),
            Err(StoreError::NotFound(_)) => None,
            Err(other) => return Err(other),
        };
    }
    Ok(names)
}
