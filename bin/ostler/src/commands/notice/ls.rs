//! `ostler notice ls`.

use clap::Args;
use ostler_domain::org::Org;
use ostler_runtime::delivery::notices::settled_reason;
use ostler_runtime::delivery::notices::text::describe;
use ostler_server::wire;
use ostler_store::StoredNotice;
use serde_json::{Value, json};

use super::{LIST_LIMIT, actor_text, agent_names};
use crate::commands::args::OrgsArgs;
use crate::commands::operator::{Operator, open_orgs, orgs_name};
use crate::commands::rfc3339;
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
    let (operator, orgs) = open_orgs(&args.target).await?;
    let mut all = Vec::new();
    for org in &orgs {
        all.extend(listed(&operator, org, args.all).await?);
    }
    if args.target.output.json {
        let all: Vec<Value> = all
            .iter()
            .map(|Listed { org, stored, message, settled, .. }| {
                let mut notice = json!(wire::notice(stored.clone()));
                notice["org"] = json!(org.id);
                notice["topic"] = json!(stored.notice.kind.topic());
                notice["message"] = message.as_str().into();
                notice["settled"] = json!(settled);
                notice["acknowledged_at"] = json!(stored.read_at.map(rfc3339));
                notice["acknowledged_by"] = json!(stored.read_by.map(actor_text));
                notice
            })
            .collect();
        return crate::commands::print_json(&all);
    }
    if all.is_empty() {
        let what = if args.all { "notice" } else { "notice that waits for somebody" };
        anstream::println!("there is no {what} in {}", orgs_name(&orgs));
        return Ok(());
    }
    let header = ["notice", "org", "since", "message", "session"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(all.iter().map(|Listed { org, stored, data, message, settled }| {
        let message = match (settled, stored.read_at) {
            (None, None) => message.as_str().into(),
            (Some(why), None) => Cell::styled(format!("{message} ({why})"), DIM),
            _ => Cell::styled(message.as_str(), DIM),
        };
        [
            Cell::id(&stored.notice.id),
            org.slug.as_str().into(),
            Cell::whole(format_time(stored.created_at)),
            message,
            Cell::id(&data["session"].as_str().unwrap_or_default()).with_style(DIM),
        ]
    }));
    print_rows(&rows);
    let org = &all[0].org.slug;
    print_next([NextCommand::new(format!("ostler notice ack --all --org {org}"), "")]);
    Ok(())
}

/// A notice of a listing.
struct Listed<'o> {
    org: &'o Org,
    stored: StoredNotice,
    data: Value,
    message: String,
    /// Why nobody has to act on it any more.
    settled: Option<&'static str>,
}

/// Returns the notices of an org: those that wait for somebody, or all.
async fn listed<'o>(
    operator: &Operator,
    org: &'o Org,
    all: bool,
) -> anyhow::Result<Vec<Listed<'o>>> {
    let operations = operator.org(org);
    let found = match all {
        true => operations.notices(LIST_LIMIT).await?,
        false => operations.unread_notices(None, LIST_LIMIT).await?,
    };
    let (names, store) = (agent_names(&operator.store, org.id).await?, operator.store.org(org.id));
    let mut notices = Vec::new();
    for stored in found {
        let settled = settled_reason(&store, &stored).await?;
        let data = serde_json::from_str(&stored.notice.data).unwrap_or_default();
        let message = describe(&stored.notice, &data, &names);
        if all || settled.is_none() {
            notices.push(Listed { org, stored, data, message, settled });
        }
    }
    Ok(notices)
}
