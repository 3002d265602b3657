//! `ostler notice`: what the org's owner was told. All of it is here, whether a
//! chat or a mail told it as well or not.

use ostler_domain::id::{AgentId, NoticeId, SessionId};
use ostler_domain::notice::{LowCredits, NoticeKind};
use ostler_store::StoredNotice;
use serde_json::{Value, json};

use super::{open, say};
use crate::cli::operate::{In, Notice, NoticeRead};
use crate::commands::session::view::{Names, clock};
use crate::screen::{Cell, HEADER, QUIET, print_rows};

/// How many are listed.
const LISTED: u32 = 100;

pub(crate) async fn run(command: &Notice) -> anyhow::Result<()> {
    match command {
        Notice::Ls(place) => ls(place).await,
        Notice::Read(read) => self::read(read).await,
    }
}

async fn read(command: &NoticeRead) -> anyhow::Result<()> {
    let (desk, org) = open(&command.place).await?;
    let office = desk.office(&org);
    let ids: Vec<NoticeId> = if command.all {
        let unread = office.unread_notices(None, LISTED).await?;
        unread.iter().map(|one| one.notice.id).collect()
    } else {
        command.notices.clone()
    };
    for id in &ids {
        office.read_notice(*id).await?;
    }
    let words = match ids.len() {
        1 => "1 notice is read".to_owned(),
        many => format!("{many} notices are read"),
    };
    say(&command.place.output, &json!({"read": ids}), &words)
}

async fn ls(place: &In) -> anyhow::Result<()> {
    let (desk, org) = open(place).await?;
    let unread = desk.office(&org).unread_notices(None, LISTED).await?;
    let names = Names::of(&desk.store, org.id).await?;
    let all: Vec<(&StoredNotice, Value)> = unread
        .iter()
        .map(|one| (one, serde_json::from_str(&one.notice.data).unwrap_or_default()))
        .collect();
    if place.output.json {
        let all: Vec<Value> = all
            .iter()
            .map(|(one, data)| {
                json!({"id": one.notice.id, "kind": one.notice.kind,
                    "subject": one.notice.subject, "data": data,
                    "says": words(one, data, &names), "created_at": one.created_at})
            })
            .collect();
        return crate::commands::print_json(&all);
    }
    if all.is_empty() {
        anstream::println!("the owner of {} has read all there is", org.name);
        return Ok(());
    }
    let header = ["notice", "since", "what", "session"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(all.iter().map(|(one, data)| {
        [
            one.notice.id.to_string().into(),
            clock(one.created_at).into(),
            words(one, data, &names).into(),
            Cell::styled(session(data), QUIET),
        ]
    }));
    print_rows(&rows);
    anstream::println!("\n{QUIET}next{QUIET:#}  ostler notice read --all --org {}", org.slug);
    Ok(())
}

fn text<'d>(data: &'d Value, name: &str) -> Option<&'d str> {
    data[name].as_str().filter(|text| !text.is_empty())
}

fn session(data: &Value) -> String {
    let id: Option<SessionId> = text(data, "session").and_then(|id| id.parse().ok());
    id.map_or_else(String::new, SessionId::short)
}

/// What a notice says, for people.
fn words(stored: &StoredNotice, data: &Value, names: &Names) -> String {
    let because = |name: &str| text(data, name).map_or_else(String::new, |why| format!(": {why}"));
    let agent = |name: &str| {
        let id: Option<AgentId> = text(data, name).and_then(|id| id.parse().ok());
        id.map_or_else(|| "an agent".to_owned(), |id| names.get(id))
    };
    match stored.notice.kind {
        NoticeKind::ModelsFailed => format!("no model answered{}", because("why")),
        NoticeKind::CreditsExhausted => "the credits are gone; customers are not answered".into(),
        NoticeKind::ChildCap => "the share of the parent's credits is used up".into(),
        NoticeKind::DeadLetterAbandoned => format!("a message was laid aside{}", because("why")),
        NoticeKind::ToolDisabled => {
            format!("{} failed too often and is off in a session", stored.notice.subject)
        }
        NoticeKind::ToolUnpaid => {
            format!("{} was not used: there are not enough credits", stored.notice.subject)
        }
        NoticeKind::LowCredits(LowCredits::Percent20) => "a fifth of the credits is left".into(),
        NoticeKind::LowCredits(LowCredits::Percent10) => "a tenth of the credits is left".into(),
        NoticeKind::LowCredits(LowCredits::Empty) => "the month's credits are gone".into(),
        NoticeKind::SessionCap => "a conversation has spent all that it may".into(),
        NoticeKind::Escalation => format!("a customer needs a person{}", because("reason")),
        NoticeKind::EscalationReminder => {
            format!("a customer still waits for a person{}", because("reason"))
        }
        NoticeKind::Handoff => {
            format!("{} handed over to {}{}", agent("from"), agent("to"), because("reason"))
        }
        NoticeKind::ApprovalWanted => {
            let call = super::in_words(
                text(data, "tool").unwrap_or("a tool"),
                &data["arguments"].to_string(),
            );
            format!("{} wants to call {call}", agent("agent"))
        }
        NoticeKind::ApprovalExpired => "nobody decided on a call in time".into(),
        NoticeKind::NoBinding => {
            format!("a reply has no way out: nothing is connected to {}", stored.notice.subject)
        }
    }
}
