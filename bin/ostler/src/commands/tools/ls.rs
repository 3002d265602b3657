//! `ostler tools ls`: the tools that agents can have.

use std::collections::BTreeSet;

use ostler_domain::org::Org;
use ostler_domain::tool::{Integration, ToolSpec};
use serde::Serialize;

use crate::cli::ToolsLs;
use crate::commands::operate::Desk;
use crate::screen::{Cell, HEADER, QUIET, WAITS, print_rows};

#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    spec: ToolSpec,
    /// The services that the org would have to connect first.
    not_connected: Option<Vec<Integration>>,
}

pub(super) async fn run(command: &ToolsLs) -> anyhow::Result<()> {
    let desk = Desk::open(&command.at).await?;
    let org = match &command.org {
        Some(name) => Some(crate::commands::find_org(&desk.store, name).await?),
        None => None,
    };
    let connected = match &org {
        Some(org) => Some(desk.store.org(org.id).connected_services().await?),
        None => None,
    };
    let mut rows: Vec<Row> = desk.tools.specs().map(|spec| row(spec, connected.as_ref())).collect();
    rows.sort_by(|a, b| a.spec.name.cmp(&b.spec.name));
    if command.output.json {
        return crate::commands::print_json(&rows);
    }
    let header = ["tool", "risk", "reach", "costs", "needs"];
    let mut cells = vec![header.map(|text| Cell::styled(text, HEADER))];
    cells.extend(rows.iter().map(|one| {
        [
            one.spec.name.as_str().into(),
            one.spec.risk.level().to_string().into(),
            one.spec.reach.name().into(),
            one.spec.price.to_string().into(),
            needs(one, org.as_ref()),
        ]
    }));
    print_rows(&cells);
    anstream::println!(
        "\n{QUIET}next{QUIET:#}  ostler tools explain --session SESSION  {QUIET}which of them an \
         agent has, and why not the rest{QUIET:#}"
    );
    Ok(())
}

fn row(spec: &ToolSpec, connected: Option<&BTreeSet<Integration>>) -> Row {
    let missing = connected.map(|connected| {
        spec.integrations.iter().filter(|one| !connected.contains(one)).cloned().collect()
    });
    Row { spec: spec.clone(), not_connected: missing }
}

fn needs(row: &Row, org: Option<&Org>) -> Cell {
    let names: Vec<String> = row.spec.integrations.iter().map(ToString::to_string).collect();
    match (&row.not_connected, org) {
        _ if names.is_empty() => Cell::from(""),
        (Some(missing), Some(org)) if !missing.is_empty() => {
            let commands = missing
                .iter()
                .map(|one| format!("ostler integration connect {one} --org {}", org.slug));
            let commands: Vec<String> = commands.collect();
            let what = format!("not connected: {}", commands.join("; "));
            Cell::styled(what, WAITS)
        }
        (Some(_), _) => format!("{}, which is connected", names.join(", ")).into(),
        (None, _) => names.join(", ").into(),
    }
}
