//! `ostler notice ls`.

use ostler_domain::id::{AgentId, SessionId};
use ostler_domain::notice::{LowCredits, NoticeKind};
use ostler_store::StoredNotice;
use serde_json::{Value, json};

use super::LIST_LIMIT;
use crate::commands::args::OrgArgs;
use crate::commands::operator::{format_call, open_org};
use crate::commands::session::view::{AgentNames, format_time};
use crate::screen::{Cell, DIM, HEADER, print_rows};

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(args).await?;
    let unread = operator.org(&org).unread_notices(None, LIST_LIMIT).await?;
    let names = AgentNames::load(&operator.store, org.id).await?;
    let all: Vec<(&StoredNotice, Value)> = unread
        .iter()
        .map(|stored| (stored, serde_json::from_str(&stored.notice.data).unwrap_or_default()))
        .collect();
    if args.output.json {
        let all: Vec<Value> = all
            .iter()
            .map(|(stored, data)| {
                json!({"id": stored.notice.id, "kind": stored.notice.kind,
                    "subject": stored.notice.subject, "data": data,
                    "says": describe(stored, data, &names), "created_at": stored.created_at})
            })
            .collect();
        return crate::commands::print_json(&all);
    }
    if all.is_empty() {
        anstream::println!("{} has no unread notices", org.name);
        return Ok(());
    }
    let header = ["notice", "since", "message", "session"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(all.iter().map(|(stored, data)| {
        [
            stored.notice.id.to_string().into(),
            format_time(stored.created_at).into(),
            describe(stored, data, &names).into(),
            Cell::styled(session(data), DIM),
        ]
    }));
    print_rows(&rows);
    anstream::println!("\n{DIM}next{DIM:#}  ostler notice read --all --org {}", org.slug);
    Ok(())
}

fn text<'d>(data: &'d Value, name: &str) -> Option<&'d str> {
    data[name].as_str().filter(|text| !text.is_empty())
}

fn session(data: &Value) -> String {
    let id: Option<SessionId> = text(data, "session").and_then(|id| id.parse().ok());
    id.map_or_else(String::new, SessionId::short)
}

/// Describes a notice in a sentence.
fn describe(stored: &StoredNotice, data: &Value, names: &AgentNames) -> String {
    let because = |name: &str| text(data, name).map_or_else(String::new, |why| format!(": {why}"));
    let agent = |name: &str| {
        let id: Option<AgentId> = text(data, name).and_then(|id| id.parse().ok());
        id.map_or_else(|| "an agent".to_owned(), |id| names.get(id))
    };
    match stored.notice.kind {
        NoticeKind::ModelsFailed => format!("no model answered{}", because("why")),
        NoticeKind::CreditsExhausted => "the credits are used up; customers get no answers".into(),
        NoticeKind::ChildCap => "the share of the parent org's credits is used up".into(),
        NoticeKind::DeadLetterAbandoned => format!("a message was abandoned{}", because("why")),
        NoticeKind::ToolDisabled => {
            format!("{} failed too often and is disabled in a session", stored.notice.subject)
        }
        NoticeKind::ToolUnpaid => {
            format!("{} did not run: there are not enough credits", stored.notice.subject)
        }
        NoticeKind::LowCredits(LowCredits::Percent20) => "20 % of the credits are left".into(),
        NoticeKind::LowCredits(LowCredits::Percent10) => "10 % of the credits are left".into(),
        NoticeKind::LowCredits(LowCredits::Empty) => "the credits of this month are used up".into(),
        NoticeKind::SessionCap => "a conversation has reached its credit limit".into(),
        NoticeKind::Escalation => format!("a customer needs a person{}", because("reason")),
        NoticeKind::EscalationReminder => {
            format!("a customer is still waiting for a person{}", because("reason"))
        }
        NoticeKind::Handoff => {
            format!("{} handed over to {}{}", agent("from"), agent("to"), because("reason"))
        }
        NoticeKind::ApprovalWanted => {
            let call =
                format_call(text(data, "tool").unwrap_or("a tool"), &data["arguments"].to_string());
            format!("{} wants to call {call}", agent("agent"))
        }
        NoticeKind::ApprovalExpired if text(data, "approved_by").is_some() => {
            format!(
                "{} was approved, but not called in time",
                text(data, "tool").unwrap_or("a tool")
            )
        }
        NoticeKind::ApprovalExpired => "an approval expired before anyone decided".into(),
        NoticeKind::ApprovedCallFailed => {
            let tool = text(data, "tool").unwrap_or("a tool");
            let outcome = text(data, "outcome").unwrap_or("not done");
            format!("the approved call of {tool} did not succeed: {outcome}{}", because("why"))
        }
        NoticeKind::NoBinding => {
            format!("a reply cannot be sent: no channel is connected to {}", stored.notice.subject)
        }
    }
}
