//! `ostler notice show`.

use clap::Args;
use ostler_domain::notice::schedule::NoticeStage;
use ostler_runtime::delivery::notices::text::describe;
use ostler_runtime::delivery::notices::unsent_reasons;
use ostler_store::{NoticeDeliveryState, StoredNoticeDelivery};
use serde_json::{Value, json};

use super::{actor_text, agent_names, find};
use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;
use crate::commands::rfc3339;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, DIM, HEADER, print_rows};

#[derive(Debug, Args)]
pub(crate) struct NoticeShowArgs {
    /// Notice, by id or its end
    #[arg(value_name = "NOTICE")]
    notice: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &NoticeShowArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    let operations = operator.org(&org);
    let id = find(&operations, &args.notice).await?;
    let (stored, deliveries) = operations.notice(id).await?;
    let names = agent_names(&operator.store, org.id).await?;
    let data: Value = serde_json::from_str(&stored.notice.data).unwrap_or_default();
    let text = describe(&stored.notice, &data, &names);
    if args.target.output.json {
        let all: Vec<Value> = deliveries.iter().map(delivery_json).collect();
        return crate::commands::print_json(&json!({
            "id": stored.notice.id, "kind": stored.notice.kind,
            "topic": stored.notice.kind.topic(), "recipient": stored.notice.recipient,
            "subject": stored.notice.subject, "data": data, "text": text,
            "created_at": rfc3339(stored.created_at),
            "acknowledged_at": stored.read_at.map(rfc3339),
            "acknowledged_by": stored.read_by.map(actor_text),
            "deliveries": all}));
    }
    anstream::println!("{text}");
    anstream::println!("{DIM}topic{DIM:#}         {}", stored.notice.kind.topic());
    anstream::println!("{DIM}since{DIM:#}         {}", format_time(stored.created_at));
    let acknowledged = match stored.read_at {
        Some(at) => {
            let by = stored.read_by.map(|by| format!(" by {}", actor_text(by)));
            format!("{}{}", format_time(at), by.unwrap_or_default())
        }
        None => "not yet".to_owned(),
    };
    anstream::println!("{DIM}acknowledged{DIM:#}  {acknowledged}");
    if deliveries.is_empty() {
        match operator.store.org(org.id).is_notice_planned(id).await? {
            true => {
                let why = unsent_reasons(&operator.store, org.id, &stored).await?;
                let why = match why.is_empty() {
                    true => "nobody is to be notified".to_owned(),
                    false => why.join("; "),
                };
                anstream::println!(
                    "\nIt was sent nowhere: {why}. `ostler notice set --org {}` changes that.",
                    org.slug
                );
            }
            false => anstream::println!(
                "\nIt is not sent yet; `ostler serve` and `ostler worker` send notices."
            ),
        }
        return Ok(());
    }
    anstream::println!();
    let header = ["person", "to", "state", "time"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(deliveries.iter().map(|delivery| {
        let destination = match delivery.key.stage {
            NoticeStage::First => delivery.key.destination.to_string(),
            NoticeStage::Next => format!("{}, if nobody reacts", delivery.key.destination),
        };
        let time = match delivery.state {
            NoticeDeliveryState::Planned => format_time(delivery.due_at),
            _ => String::new(),
        };
        let (state, why) = state_text(&delivery.state);
        let state = why.map_or_else(|| state.to_owned(), |why| format!("{state}: {why}"));
        [delivery.key.person.as_str().into(), destination.into(), state.into(), time.into()]
    }));
    print_rows(&rows);
    Ok(())
}

fn state_text(state: &NoticeDeliveryState) -> (&'static str, Option<&str>) {
    match state {
        NoticeDeliveryState::Planned => ("planned", None),
        NoticeDeliveryState::Skipped(why) => ("skipped", Some(why)),
        NoticeDeliveryState::Sending => ("sending", None),
        NoticeDeliveryState::Delivered => ("delivered", None),
        NoticeDeliveryState::Unknown => ("unknown", None),
        NoticeDeliveryState::Failed(why) => ("failed", Some(why)),
    }
}

fn delivery_json(delivery: &StoredNoticeDelivery) -> Value {
    let (state, reason) = state_text(&delivery.state);
    json!({"person": delivery.key.person, "destination": delivery.key.destination,
        "stage": delivery.key.stage, "state": state, "reason": reason,
        "due_at": rfc3339(delivery.due_at)})
}
