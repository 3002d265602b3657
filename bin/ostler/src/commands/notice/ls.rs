//! `ostler notice ls`.

use clap::Args;
use ostler_domain::id::SessionId;
use ostler_runtime::delivery::notices::text::describe;
use ostler_store::StoredNotice;
use serde_json::{Value, json};

use super::{LIST_LIMIT, actor_text, agent_names};
use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;
use crate::commands::rfc3339;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, DIM, HEADER, print_rows, shorten};

/// How much of a message fits beside the other columns.
const MESSAGE_COLUMNS: usize = 46;

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
                json!({"id": stored.notice.id, "kind": stored.notice.kind,
                    "topic": stored.notice.kind.topic(), "subject": stored.notice.subject,
                    "data": data, "text": describe(&stored.notice, data, &names),
                    "created_at": rfc3339(stored.created_at),
                    "acknowledged_at": stored.read_at.map(rfc3339),
                    "acknowledged_by": stored.read_by.map(actor_text)})
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
            stored.notice.id.short().into(),
            format_time(stored.created_at).into(),
            style(shorten(&describe(&stored.notice, data, &names), MESSAGE_COLUMNS)),
            Cell::styled(session(data), DIM),
        ]
    }));
    print_rows(&rows);
    let slug = &org.slug;
    anstream::println!("\n{DIM}next{DIM:#}  ostler notice ack --all --org {slug}");
    Ok(())
}

fn session(data: &Value) -> String {
    let id: Option<SessionId> = data["session"].as_str().and_then(|id| id.parse().ok());
    id.map_or_else(String::new, SessionId::short)
}
