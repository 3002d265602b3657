//! A few conversations of a pizzeria, at a quarter past ten.

use ostler_domain::id::{AgentId, ApprovalId, RunId, SessionId, UserId};
use ostler_domain::time::Timestamp;
use serde_json::{Value, json};

use crate::inbox::protocol::{
    ConnectionState, Conversation, InboxAction, InboxRequest, InboxSetting, InboxUpdate,
    OpenedConversation,
};
use crate::inbox::{Inbox, InboxEffect};
use crate::keymap::KeyFile;
use crate::text::line::Row;

pub(super) const MINUTE: i64 = 60_000;
/// The time of the screen.
pub(super) const NOW: i64 = 615 * MINUTE;
const ME: u128 = 7;

pub(super) fn session_id(number: u128) -> SessionId {
    SessionId::from_u128(number)
}

/// A session as the API lists it: `holder` is `agent`, `waiting` or the number of a person.
fn session(number: u128, name: &str, holder: &str) -> Value {
    let id = |number: u128| session_id(number).to_string();
    let person: Option<u128> = holder.parse().ok();
    let escalation = (holder != "agent").then(|| {
        json!({
            "id": ostler_domain::id::EscalationId::from_u128(number).to_string(),
            "status": if person.is_some() { "taken_over" } else { "pending" },
            "urgency": "high",
            "reason": "asked for a person",
            "context_summary": "",
            "requested_at": NOW - 12 * MINUTE,
            "taken_over_by": person.map(|user| UserId::from_u128(user).to_string()),
            "taken_over_at": person.map(|_| NOW - 3 * MINUTE),
        })
    });
    json!({
        "id": id(number),
        "org": ostler_domain::id::OrgId::from_u128(1).to_string(),
        "conversation": ostler_domain::id::ConversationId::from_u128(number).to_string(),
        "channel": "webchat",
        "binding": ostler_domain::id::BindingId::from_u128(1).to_string(),
        "peer": {"person": name.to_lowercase()},
        "name": name,
        "contact": null,
        "status": if holder == "agent" { "active" } else { "handed_off" },
        "closed": null,
        "agent": AgentId::from_u128(1).to_string(),
        "opened_at": NOW - 20 * MINUTE + i64::try_from(number).expect("small"),
        "messages": 4,
        "pending_approvals": 0,
        "unknown_outcomes": 0,
        "escalation": escalation,
        "summary": null,
        "audience": "customer",
        "spent": 3,
        "credit_cap": 500,
        "assignee": null,
        "notes": 0,
        "unread": 0,
    })
}

fn conversation(listed: Value) -> Conversation {
    Conversation {
        org: "bella".to_owned(),
        org_name: "Bella Pizza".to_owned(),
        listed: serde_json::from_value(listed).expect("a session"),
    }
}

pub(super) fn conversations() -> Vec<Conversation> {
    let mut lena = session(4, "Lena Vogt", "agent");
    lena["unread"] = json!(2);
    let mut omar = session(3, "Omar Haddad", "agent");
    omar["pending_approvals"] = json!(1);
    let all = [
        lena,
        session(2, "Vera König", "7"),
        session(5, "A customer whose name is much longer than any list is wide", "8"),
        omar,
        session(1, "Rosa Bianchi", "waiting"),
    ];
    all.map(conversation).into()
}

/// The conversation with a customer, as it is read.
pub(super) fn opened(number: u128, name: &str, holder: &str) -> OpenedConversation {
    let run = RunId::from_u128(1).to_string();
    let mut session = session(number, name, holder);
    let approvals = if number == 3 { vec![approval(number, 1)] } else { Vec::new() };
    session["pending_approvals"] = json!(approvals.len());
    let at = |minutes: i64| NOW - minutes * MINUTE;
    let lines = json!([
        {"line": "message", "at": at(14), "who": name, "run": run,
         "text": "I paid 50 but my order should be 40. Order 1234."},
        {"line": "call", "run": run, "who": "Enzo", "tool": "refund_payment",
         "arguments": {"order": "1234", "amount": "10.00"}, "decision": "ask",
         "why": "destructive, semi-autonomous", "status": "pending_approval", "result": null},
        {"line": "message", "at": at(13), "who": "Enzo", "run": run,
         "text": "I have asked for the refund of 10.00. A colleague looks at it \u{1b}[31mnow."},
        {"line": "message", "at": at(12), "who": name,
         "text": "This is ridiculous, what a useless service. I want a real person!"},
        {"line": "escalation", "reason": "asked for a person", "urgency": "high"},
        {"line": "change", "at": at(3), "who": "a person (Anna)", "action": "take_over"},
    ]);
    OpenedConversation {
        transcript: serde_json::from_value(
            json!({"session": session, "lines": lines, "last_run": null}),
        )
        .expect("a transcript"),
        work: serde_json::from_value(json!({
            "assignee": null, "assigned_by": null, "assigned_at": null, "unread": 0,
            "notes": [{
                "id": ostler_domain::id::NoteId::from_u128(1).to_string(),
                "author": UserId::from_u128(8).to_string(),
                "text": "She called yesterday, see the order.",
                "created_at": at(10),
            }],
            "canned_replies": [],
        }))
        .expect("work"),
        approvals: serde_json::from_value(Value::Array(approvals)).expect("approvals"),
    }
}

fn approval(session: u128, number: u128) -> Value {
    json!({
        "id": ApprovalId::from_u128(number).to_string(),
        "session": session_id(session).to_string(),
        "agent": AgentId::from_u128(1).to_string(),
        "tool": "refund_payment",
        "arguments": {"order": "1234", "amount": "10.00", "reason": "charged twice"},
        "risk": "destructive",
        "why": "approval_list",
        "requested_at": NOW - 13 * MINUTE,
        "expires_at": NOW + 600 * MINUTE,
        "status": "pending",
        "blast_radius": {"reach": "local", "is_final": true, "lists": [],
            "amounts": [{"name": "amount", "amount": "10.00"}], "addresses": []},
        "rule": {"setting": {"resource": "agent enzo", "field": "approval", "set_by": null,
            "set_at": null, "place": "harbour.toml:41", "allow_with": null, "past_calls": 1}},
    })
}

fn clock(at: Timestamp) -> String {
    let minutes = at.as_millis() / MINUTE;
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

/// A conversation in which these calls wait for a decision.
pub(super) fn opened_with_calls(session: u128, calls: &[u128]) -> OpenedConversation {
    let mut opened = opened(session, "Omar Haddad", "agent");
    let calls = calls.iter().map(|number| approval(session, *number)).collect();
    opened.approvals = serde_json::from_value(Value::Array(calls)).expect("approvals");
    opened
}

/// An inbox that nothing was said to.
pub(super) fn empty(drafts: Option<std::path::PathBuf>) -> Inbox {
    let setting = InboxSetting {
        title: "Bella Pizza".to_owned(),
        me: Some(UserId::from_u128(ME)),
        has_several_orgs: false,
    };
    Inbox::new(setting, &KeyFile::default(), drafts, clock).expect("the defaults")
}

/// An inbox that is live, with the first conversation open.
pub(super) fn live(drafts: Option<std::path::PathBuf>) -> Inbox {
    let mut inbox = empty(drafts);
    let names = json!({
        "agents": [{"id": AgentId::from_u128(1).to_string(), "name": "Enzo"}],
        "people": [
            {"id": UserId::from_u128(ME).to_string(), "name": "Anna"},
            {"id": UserId::from_u128(8).to_string(), "name": "Ben"},
        ],
    });
    inbox.update(InboxUpdate::Names(serde_json::from_value(names).expect("names")));
    inbox.update(InboxUpdate::Conversations(conversations()));
    inbox.update(InboxUpdate::Connection(ConnectionState::Live));
    open(&mut inbox, 1, "Rosa Bianchi", "waiting");
    inbox
}

pub(super) fn open(inbox: &mut Inbox, number: u128, name: &str, holder: &str) {
    inbox.update(InboxUpdate::Opened(Box::new(opened(number, name, holder))));
}

pub(super) fn at(millis: u64) -> u64 {
    u64::try_from(NOW).expect("a time") + millis
}

pub(super) fn press(inbox: &mut Inbox, key: &str) -> Vec<InboxEffect> {
    inbox.key(key.parse().expect("a key"), at(1000))
}

pub(super) fn type_text(inbox: &mut Inbox, text: &str) {
    text.chars().for_each(|c| {
        let key = if c == ' ' { "space".to_owned() } else { c.to_string() };
        press(inbox, &key);
    });
}

/// Returns the only action of effects, with its number.
pub(super) fn action(effects: Vec<InboxEffect>) -> (u64, InboxAction) {
    match <[InboxEffect; 1]>::try_from(effects) {
        Ok([InboxEffect::Request(InboxRequest::Act { number, action, .. })]) => (number, action),
        other => panic!("no action: {other:?}"),
    }
}

/// Draws the inbox at 80×24.
pub(super) fn draw(inbox: &mut Inbox, now: u64) -> String {
    draw_at(inbox, (80, 24), now)
}

/// Draws the inbox, and returns its rows.
pub(super) fn draw_at(inbox: &mut Inbox, size: (usize, usize), now: u64) -> String {
    let screen = inbox.screen(size, now);
    inbox.drawn(now);
    let rows: Vec<String> = screen.rows.iter().map(Row::text).collect();
    rows.join("\n")
}
