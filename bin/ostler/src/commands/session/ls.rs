//! `ostler session ls`.

use ostler_domain::org::Org;
use ostler_runtime::talk::session::Session;
use ostler_store::{Store, Which};
use serde::Serialize;

use super::view::{clock, person, state};
use crate::cli::talk::SessionLs;
use crate::home::Home;
use crate::screen::{Cell, HEADER, WAITS, print_rows};

/// How many of each org are listed.
const LISTED: u32 = 50;

#[derive(Serialize)]
struct Row {
    org: String,
    session: Session,
    state: String,
}

pub(crate) async fn run(command: &SessionLs) -> anyhow::Result<()> {
    let home = Home::find(&command.at)?;
    let store = Store::open(&home.database()).await?;
    let orgs: Vec<Org> = match &command.org {
        Some(name) => vec![crate::commands::find_org(&store, name).await?],
        None => store.orgs().await?,
    };
    let which = if command.waiting { Which::HandedOff } else { Which::All };
    let mut rows = Vec::new();
    for org in orgs {
        for stored in store.org(org.id).sessions(which, None, LISTED).await? {
            let session: Session = serde_json::from_str(&stored.data)?;
            let state = state(&session);
            rows.push(Row { org: org.slug.clone(), session, state });
        }
    }
    if command.output.json {
        return crate::commands::print_json(&rows);
    }
    if rows.is_empty() {
        anstream::println!("no sessions; write as a customer with `ostler send`");
        return Ok(());
    }
    let header = ["session", "org", "who", "channel", "since", "state"];
    let mut cells = vec![header.map(|text| Cell::styled(text, HEADER))];
    cells.extend(rows.iter().map(|row| {
        let waits = row.session.open_escalation().is_some() || row.session.pending_approvals > 0;
        let state = if waits { Cell::styled(&row.state, WAITS) } else { row.state.as_str().into() };
        [
            row.session.id.to_string().into(),
            row.org.as_str().into(),
            row.session.name.clone().unwrap_or_else(|| person(&row.session)).into(),
            row.session.channel.name().into(),
            clock(row.session.opened_at).into(),
            state,
        ]
    }));
    print_rows(&cells);
    Ok(())
}
