//! `ostler tools ls`: the tools that agents can have.

use std::collections::BTreeSet;

use clap::Args;
use ostler_domain::org::Org;
use ostler_domain::tool::{Integration, ToolGroup, ToolSpec};
use ostler_engine::tool::UnavailableTool;
use serde::Serialize;

use crate::commands::args::{InstallationArgs, OutputArgs};
use crate::commands::operator::Operator;
use crate::config::keys;
use crate::screen::{Cell, HEADER, NextCommand, WARNING, print_next, print_rows};

#[derive(Debug, Args)]
pub(crate) struct ToolsLsArgs {
    /// Org, by slug or id, to show its own tools and which services it has connected
    #[arg(long, value_name = "ORG", env = keys::ORG)]
    org: Option<String>,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    spec: ToolSpec,
    /// The services that the org has not connected; `None` without an org.
    not_connected: Option<Vec<Integration>>,
}

/// All tools of an org's agents.
#[derive(Serialize)]
#[serde(untagged)]
enum Entry {
    Tool(Box<Row>),
    Unavailable(UnavailableTool),
}

pub(super) async fn run(args: &ToolsLsArgs) -> anyhow::Result<()> {
    let operator = Operator::open(&args.installation).await?;
    let org = match &args.org {
        Some(name) => Some(crate::commands::find_org(&operator.store, name).await?),
        None => None,
    };
    let connected = match &org {
        Some(org) => Some(operator.store.org(org.id).connected_services().await?),
        None => None,
    };
    let (tools, unavailable) = match &org {
        Some(org) => {
            let set = operator.org(org).tool_set().await?;
            (set.tools, set.unavailable)
        }
        None => (operator.tools.built_in.clone(), Vec::new()),
    };
    let mut rows: Vec<Row> = tools.specs().map(|spec| row(spec, connected.as_ref())).collect();
    rows.sort_by(|a, b| a.spec.name.cmp(&b.spec.name));
    if args.output.json {
        let tools = rows.into_iter().map(|row| Entry::Tool(Box::new(row)));
        let all: Vec<Entry> =
            tools.chain(unavailable.into_iter().map(Entry::Unavailable)).collect();
        return crate::commands::print_json(&all);
    }
    let header = ["tool", "risk", "reach", "for", "price", "needs"];
    let mut cells = vec![header.map(|text| Cell::styled(text, HEADER))];
    cells.extend(rows.iter().map(|row| {
        [
            row.spec.name.as_str().into(),
            row.spec.risk.name().into(),
            row.spec.reach.name().into(),
            row.spec.audience.name().into(),
            row.spec.price_text().into(),
            needs(row, org.as_ref()),
        ]
    }));
    cells.extend(unavailable.iter().map(|tool| {
        let [risk, reach, audience, price] = [const { "" }; 4].map(Cell::from);
        let reason = Cell::styled(format!("unavailable: {}", tool.reason), WARNING);
        [tool.name.as_str().into(), risk, reach, audience, price, reason]
    }));
    print_rows(&cells);
    let purpose = "which of them an agent may use, and why not the others";
    print_next([NextCommand::new("ostler tools explain --session SESSION", purpose)]);
    Ok(())
}

fn row(spec: &ToolSpec, connected: Option<&BTreeSet<Integration>>) -> Row {
    let missing = connected.map(|connected| {
        spec.integrations.iter().filter(|service| !connected.contains(service)).cloned().collect()
    });
    Row { spec: spec.clone(), not_connected: missing }
}

fn needs(row: &Row, org: Option<&Org>) -> Cell {
    let names: Vec<String> = row.spec.integrations.iter().map(ToString::to_string).collect();
    match (&row.not_connected, org) {
        _ if row.spec.group == ToolGroup::Custom => "own tool".into(),
        _ if names.is_empty() => Cell::from(""),
        (Some(missing), Some(org)) if !missing.is_empty() => {
            let commands = missing
                .iter()
                .map(|service| format!("ostler integration connect {service} --org {}", org.slug));
            let commands: Vec<String> = commands.collect();
            let what = format!("not connected: {}", commands.join("; "));
            Cell::styled(what, WARNING)
        }
        (Some(_), _) => format!("{} (connected)", names.join(", ")).into(),
        (None, _) => names.join(", ").into(),
    }
}
