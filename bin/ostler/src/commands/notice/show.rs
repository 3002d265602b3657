//! `ostler notice show`.

use clap::Args;
use ostler_api::notice::NoticeDetail;
use serde_json::json;

use super::{actor_text, find};
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
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
        return Ok(());
    }
    print_deliveries(&detail);
    Ok(())
}

fn print_deliveries(detail: &NoticeDetail) {
    anstream::println!();
    let header = ["person", "to", "state", "time"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(detail.deliveries.iter().map(|delivery| {
        let destination = match delivery.only_if_unanswered {
            false => delivery.destination.to_string(),
            true => format!("{}, if nobody reacts", delivery.destination),
        };
        let is_planned = delivery.state == "planned";
        let time = if is_planned { format_time(delivery.due_at) } else { String::new() };
        let state = match &delivery.reason {
            Some(why) => format!("{}: {why}", delivery.state),
            None => delivery.state.clone(),
        };
        [delivery.person.as_str().into(), destination.into(), state.into(), time.into()]
    }));
    print_rows(&rows);
}
