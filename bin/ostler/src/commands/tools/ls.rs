//! `ostler tools ls`: the tools that agents can have.

use clap::Args;
use ostler_api::page::Page;
use ostler_api::tool::{CatalogueTool, ToolCatalogue};
use ostler_domain::tool::{Integration, ToolGroup, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use crate::api_client::ApiClient;
use crate::commands::args::{InstallationArgs, OutputArgs};
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

/// A tool, and the services that the org has not connected; `None` without an org.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    spec: ToolSpec,
    not_connected: Option<Vec<Integration>>,
}

pub(super) async fn run(args: &ToolsLsArgs) -> anyhow::Result<()> {
    let api = ApiClient::open(&args.installation).await?;
    let org = match &args.org {
        Some(name) => Some(api.find_org(name).await?),
        None => None,
    };
    let (tools, unavailable) = match &org {
        Some(org) => {
            let found: ToolCatalogue = org.get(&["tool-catalogue"]).await?;
            (found.tools, found.unavailable)
        }
        None => (api.get::<Page<CatalogueTool>>(&["tools"], &[]).await?.items, Vec::new()),
    };
    let rows = tools.into_iter().map(|tool| Row {
        spec: tool.spec,
        not_connected: org.is_some().then_some(tool.not_connected),
    });
    let rows: Vec<Row> = rows.collect();
    if args.output.json {
        let mut all: Vec<Value> =
            rows.iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
        all.extend(unavailable.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>()?);
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
            needs(row, org.as_ref().map(|org| org.org.slug.as_str())),
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

fn needs(row: &Row, org: Option<&str>) -> Cell {
    let names: Vec<String> = row.spec.integrations.iter().map(ToString::to_string).collect();
    match (&row.not_connected, org) {
        _ if row.spec.group == ToolGroup::Custom => "own tool".into(),
        _ if names.is_empty() => Cell::from(""),
        (Some(missing), Some(org)) if !missing.is_empty() => {
            let commands = missing
                .iter()
                .map(|service| format!("ostler integration connect {service} --org {org}"));
            let commands: Vec<String> = commands.collect();
            let what = format!("not connected: {}", commands.join("; "));
            Cell::styled(what, WARNING)
        }
        (Some(_), _) => format!("{} (connected)", names.join(", ")).into(),
        (None, _) => names.join(", ").into(),
    }
}
