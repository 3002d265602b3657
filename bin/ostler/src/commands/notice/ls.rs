//! `ostler notice ls`.

use clap::Args;
use ostler_runtime::delivery::notices::text::describe;
use ostler_server::wire;
use ostler_store::StoredNotice;
use serde_json::{Value, json};

use super::{LIST_LIMIT, actor_text, agent_names};
use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;
use crate::commands::rfc3339;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, DIM, HEADER, NextCommand, print_next, print_rows};

#[derive(Debug, Args)]
pub(crate) struct NoticeLsArgs {
    /// Also list acknowledged notices; newest first
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &NoticeLsArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    let operations = operator.org(&org);
    let found = match args.all {
        true => operations.notices(LIST_LIMIT).await?,
        false => operations.unread_notices(None, LIST_LIMIT).await?,
    };
    let names = agent_names(&operator.store, org.id).await?;
    let all: Vec<(&StoredNotice, Value)> = found
        .iter()
        .map(|stored| (stored, serde_json::from_str(&stored.notice.data).unwrap_or_default()))
        .collect();
    if args.target.output.json {
        let all: Vec<Value> = all
            .iter()
            .map(|(stored, data)| {
                let mut notice = json!(wire::notice((*stored).clone()));
                notice["topic"] = json!(stored.notice.kind.topic());
                notice["message"] = describe(&stored.notice, data, &names).into();
                notice["acknowledged_at"] = json!(stored.read_at.map(rfc3339));
                notice["acknowledged_by"] = json!(stored.read_by.map(actor_text));
                notice
            })
            .collect();
        return crate::commands::print_json(&all);
    }
    if all.is_empty() {
        let what = if args.all { "notices" } else { "notices that wait for somebody" };
        anstream::println!("{} has no {what}", org.name);
        return Ok(());
    }
    let header = ["notice", "since", "message", "session"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(all.iter().map(|(stored, data)| {
        let style = |text: String| match stored.read_at {
            Some(_) => Cell::styled(text, DIM),
            None => text.into(),
        };
        [
            Cell::id(&stored.notice.id),
            Cell::whole(format_time(stored.created_at)),
            style(describe(&stored.notice, data, &names)),
            Cell::id(&data["session"].as_str().unwrap_or_default()).with_style(DIM),
        ]
    }));
    print_rows(&rows);
    print_next([NextCommand::new(format!("ostler notice ack --all --org {}", org.slug), "")]);
    Ok(())
}
