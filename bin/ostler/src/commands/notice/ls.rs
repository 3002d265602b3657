//! `ostler notice ls`.

use clap::Args;
use ostler_api::notice::Notice;
use ostler_api::org::OrgSummary;
use serde_json::{Value, json};

use super::{LIST_LIMIT, actor_text};
use crate::api_client::{open_listed_orgs, orgs_name};
use crate::commands::args::OrgsArgs;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, DIM, HEADER, NextCommand, print_next, print_rows};

#[derive(Debug, Args)]
pub(crate) struct NoticeLsArgs {
    /// Also list notices that were acknowledged or are settled; newest first
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    target: OrgsArgs,
}

pub(super) async fn run(args: &NoticeLsArgs) -> anyhow::Result<()> {
    let orgs = open_listed_orgs(&args.target).await?;
    let query: &[(&str, &str)] = if args.all { &[("all", "true")] } else { &[] };
    let mut all: Vec<(&OrgSummary, Notice)> = Vec::new();
    for org in &orgs {
        let mut own: Vec<Notice> = org.list(&["notices"], query, LIST_LIMIT).await?;
        own.retain(|notice| args.all || notice.settled.is_none());
        all.extend(own.into_iter().map(|notice| (&org.org, notice)));
    }
    if args.target.output.json {
        let all: Vec<Value> = all.iter().map(|(org, notice)| notice_json(org, notice)).collect();
        return crate::commands::print_json(&all);
    }
    if all.is_empty() {
        let what = if args.all { "notice" } else { "notice that waits for somebody" };
        anstream::println!("there is no {what} in {}", orgs_name(&orgs));
        return Ok(());
    }
    let header = ["notice", "org", "since", "message", "session"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(all.iter().map(|(org, notice)| {
        let message = &notice.message;
        let message = match (&notice.settled, notice.read_at) {
            (None, None) => message.as_str().into(),
            (Some(why), None) => Cell::styled(format!("{message} ({why})"), DIM),
            _ => Cell::styled(message.as_str(), DIM),
        };
        [
            Cell::id(&notice.id),
            org.slug.as_str().into(),
            Cell::whole(format_time(notice.created_at)),
            message,
            Cell::id(&notice.data["session"].as_str().unwrap_or_default()).with_style(DIM),
        ]
    }));
    print_rows(&rows);
    let org = &all[0].0.slug;
    print_next([NextCommand::new(format!("ostler notice ack --all --org {org}"), "")]);
    Ok(())
}

fn notice_json(org: &OrgSummary, notice: &Notice) -> Value {
    let mut json = json!(notice);
    json["org"] = json!(org.id);
    json["acknowledged_at"] = json!(notice.read_at);
    json["acknowledged_by"] = json!(notice.read_by.map(actor_text));
    json
}
