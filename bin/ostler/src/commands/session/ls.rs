//! `ostler session ls`.

use clap::Args;
use ostler_domain::org::Org;
use ostler_runtime::records::session::Session;
use ostler_server::wire;
use ostler_store::{SessionFilter, Store};
use serde_json::{Value, json};

use super::view::{contact_name, describe_status, format_time};
use crate::commands::args::{InstallationArgs, OutputArgs};
use crate::config::keys;
use crate::installation::Installation;
use crate::screen::{Cell, HEADER, WARNING, print_rows};

/// The most sessions that are listed for each org.
const LIST_LIMIT: u32 = 50;

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
    state: String,
}

pub(crate) async fn run(args: &SessionLsArgs) -> anyhow::Result<()> {
    let installation = Installation::find(&args.installation)?;
    let store = Store::open(&installation.database()).await?;
    let orgs: Vec<Org> = match &args.org {
        Some(name) => vec![crate::commands::find_org(&store, name).await?],
        None => store.orgs().await?,
    };
    let which = if args.waiting { SessionFilter::HandedOff } else { SessionFilter::All };
    let mut rows = Vec::new();
    for org in orgs {
        for stored in store.org(org.id).sessions(which, None, LIST_LIMIT).await? {
            let mut session: Session = serde_json::from_str(&stored.data)?;
            session.refresh_counts(store.org(org.id)).await?;
            let state = describe_status(&session);
            rows.push(Row { org: org.slug.clone(), session, state });
        }
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
        let state =
            if waits { Cell::styled(&row.state, WARNING) } else { row.state.as_str().into() };
        [
            Cell::id(&row.session.id),
            row.org.as_str().into(),
            contact_name(&row.session).into(),
            row.session.channel.name().into(),
            Cell::whole(format_time(row.session.opened_at)),
            state,
        ]
    }));
    print_rows(&cells);
    Ok(())
}

fn row_json(row: &Row) -> Value {
    let mut json = json!(wire::session(&row.session));
    json["org_slug"] = row.org.as_str().into();
    json
}
