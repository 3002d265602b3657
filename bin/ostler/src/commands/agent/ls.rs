//! `ostler agent ls`.

use clap::Args;
use ostler_bus::now;
use ostler_runtime::agents::{AgentRecord, MAX_PAGE_SIZE, Page, Placement};

use crate::agent_client::AgentClient;
use crate::commands::args::BusArgs;
use crate::screen::{Cell, DIM, GOOD, HEADER, print_rows};

#[derive(Debug, Args)]
pub(crate) struct AgentLsArgs {
    /// List only agents with this capability
    #[arg(long = "can", value_name = "CAPABILITY")]
    capability: Option<String>,
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: &AgentLsArgs) -> anyhow::Result<()> {
    let client = AgentClient::open(&args.bus).await?;
    let registry = client.runtime.registry();
    let records = match &args.capability {
        Some(capability) => {
            registry.find_by_capability(&capability.as_str().into(), now(), MAX_PAGE_SIZE).await?
        }
        None => registry.list(Page::default()).await?,
    };
    client.close().await?;
    if args.bus.output.json {
        return crate::commands::print_json(&records);
    }
    if records.is_empty() {
        anstream::println!("no agents; register some with `ostler team create`");
        return Ok(());
    }
    let header = ["agent", "type", "can", "queue", "load", "state"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(records.iter().map(row));
    print_rows(&rows);
    if records.len() == MAX_PAGE_SIZE {
        anstream::println!(
            "{DIM}only the first {MAX_PAGE_SIZE} are listed; filter with --can{DIM:#}"
        );
    }
    Ok(())
}

fn row(record: &AgentRecord) -> [Cell; 6] {
    [
        record.name.as_str().into(),
        record.agent_type.as_str().into(),
        capabilities(record).into(),
        queue(record).into(),
        record.load.to_string().into(),
        availability(record),
    ]
}

/// Returns the capabilities of an agent, separated by commas.
pub(super) fn capabilities(record: &AgentRecord) -> String {
    let names: Vec<String> =
        record.capabilities.iter().map(|capability| capability.clone().into()).collect();
    names.join(", ")
}

/// Describes the queue of an agent.
pub(super) fn queue(record: &AgentRecord) -> &'static str {
    match record.placement {
        Placement::Pinned => "own",
        Placement::Hosted => "shared",
    }
}

/// Describes whether an agent is available.
pub(super) fn availability(record: &AgentRecord) -> Cell {
    if record.is_available(now()) {
        Cell::styled("available", GOOD)
    } else {
        Cell::styled("away", DIM)
    }
}
