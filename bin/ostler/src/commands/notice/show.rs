//! `ostler notice show`.

use clap::Args;
use ostler_api::notice::{Notice, NoticeDetail};
use ostler_domain::notice::NoticeKind;
use serde_json::json;

use super::{actor_text, find};
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::session::view::{beyond_the_cap, format_time};
use crate::screen::{Cell, DIM, HEADER, NextCommand, print_next, print_rows};

#[derive(Debug, Args)]
pub(crate) struct NoticeShowArgs {
    /// Notice, by id or its end
    #[arg(value_name = "NOTICE")]
    notice: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &NoticeShowArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let id = find(&org, &args.notice).await?;
    let detail: NoticeDetail = org.get(&["notices", &id.to_string()]).await?;
    let notice = &detail.notice;
    if args.target.output.json {
        let mut json = json!(detail);
        json["acknowledged_at"] = json!(notice.read_at);
        json["acknowledged_by"] = json!(notice.read_by.map(actor_text));
        return crate::commands::print_json(&json);
    }
    anstream::println!("{}", notice.message);
    anstream::println!("{DIM}topic{DIM:#}         {}", notice.topic);
    anstream::println!("{DIM}since{DIM:#}         {}", format_time(notice.created_at));
    let acknowledged = match notice.read_at {
        Some(at) => {
            let by = notice.read_by.map(|by| format!(" by {}", actor_text(by)));
            format!("{}{}", format_time(at), by.unwrap_or_default())
        }
        None => "not yet".to_owned(),
    };
    anstream::println!("{DIM}acknowledged{DIM:#}  {acknowledged}");
    if let Some(session) = notice.data["session"].as_str() {
        anstream::println!("{DIM}session{DIM:#}       {session}");
    }
    if detail.deliveries.is_empty() {
        match &detail.unsent {
            Some(why) => anstream::println!(
                "\nIt was sent nowhere: {why}. `ostler notice set --org {}` changes that.",
                org.org.slug
            ),
            None => anstream::println!(
                "\nIt is not sent yet; `ostler serve` and `ostler worker` send notices."
            ),
        }
    } else {
        print_deliveries(&detail);
    }
    print_next(next_commands(notice, &org.org.slug));
    Ok(())
}

/// Returns what to do about the conversation of a notice.
fn next_commands(notice: &Notice, org: &str) -> Vec<NextCommand> {
    let Some(session) = notice.data["session"].as_str() else { return Vec::new() };
    let mut next =
        vec![NextCommand::new(format!("ostler session show {session}"), "the conversation")];
    if notice.kind == NoticeKind::SessionCap {
        next.extend(beyond_the_cap(session, org));
    }
    next
}

fn print_deliveries(detail: &NoticeDetail) {
    anstream::println!();
    let header = ["person", "to", "state", "due"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(detail.deliveries.iter().map(|delivery| {
        let destination = match delivery.only_if_unanswered {
            false => delivery.destination.to_string(),
            true => format!("{}, if nobody reacts", delivery.destination),
        };
        let due = Cell::whole(format_time(delivery.due_at));
        let state = match &delivery.reason {
            Some(why) => format!("{}: {why}", delivery.state),
            None => delivery.state.clone(),
        };
        [delivery.person.as_str().into(), destination.into(), state.into(), due]
    }));
    print_rows(&rows);
}
