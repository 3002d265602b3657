//! `ostler session ls`.

use clap::Args;
use ostler_api::session::Session;
use serde_json::{Value, json};

use super::view::{describe_status, format_time};
use crate::api_client::open_orgs;
use crate::commands::args::{InstallationArgs, OutputArgs};
use crate::config::keys;
use crate::screen::{Cell, HEADER, WARNING, print_rows};

/// The most sessions that are listed for each org.
const LIST_LIMIT: usize = 50;

#[derive(Debug, Args)]
pub(crate) struct SessionLsArgs {
    /// Org, by slug or id [default: all orgs]
    #[arg(long, value_name = "ORG", env = keys::ORG)]
    org: Option<String>,
    /// List only conversations that wait for a person
    #[arg(long)]
    waiting: bool,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

struct Row {
    org: String,
    session: Session,
}

pub(crate) async fn run(args: &SessionLsArgs) -> anyhow::Result<()> {
    let which = if args.waiting { "handed_off" } else { "all" };
    let mut rows = Vec::new();
    for org in open_orgs(&args.installation, args.org.as_deref().unwrap_or_default()).await? {
        let sessions: Vec<Session> =
            org.list(&["sessions"], &[("which", which)], LIST_LIMIT).await?;
        let slug = org.org.slug;
        rows.extend(sessions.into_iter().map(|session| Row { org: slug.clone(), session }));
    }
    if args.output.json {
        let all: Vec<Value> = rows.iter().map(row_json).collect();
        return crate::commands::print_json(&all);
    }
    if rows.is_empty() {
        anstream::println!("no sessions; write as a customer with `ostler send`");
        return Ok(());
    }
    let header = ["session", "org", "contact", "channel", "since", "state"];
    let mut cells = vec![header.map(|text| Cell::styled(text, HEADER))];
    cells.extend(rows.iter().map(|row| {
        let waits = row.session.open_escalation().is_some() || row.session.pending_approvals > 0;
        let state = describe_status(&row.session);
        let state = if waits { Cell::styled(state, WARNING) } else { state.into() };
        [
            Cell::id(&row.session.id),
            row.org.as_str().into(),
            row.session.contact_name().into(),
            row.session.channel.name().into(),
            Cell::whole(format_time(row.session.opened_at)),
            state,
        ]
    }));
    print_rows(&cells);
    Ok(())
}

fn row_json(row: &Row) -> Value {
    let mut json = json!(row.session);
    json["org_slug"] = row.org.as_str().into();
    json
}
