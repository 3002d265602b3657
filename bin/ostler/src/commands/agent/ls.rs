//! `ostler agent ls`.

use ostler_bus::now;
use ostler_runtime::queue::{AgentRecord, LONGEST_PAGE, Page, Placement};

use crate::cli::queue::AgentLs;
use crate::desk::Desk;
use crate::screen::{Cell, GOOD, HEADER, QUIET, print_rows};

pub(crate) async fn run(command: &AgentLs) -> anyhow::Result<()> {
    let desk = Desk::open(&command.reach).await?;
    let registry = desk.runtime.registry();
    let records = match &command.capability {
        Some(capability) => registry.able(&capability.as_str().into(), now(), LONGEST_PAGE).await?,
        None => registry.list(Page::default()).await?,
    };
    desk.close().await?;
    if command.reach.output.json {
        return crate::commands::print_json(&records);
    }
    if records.is_empty() {
        anstream::println!("no agents; make some with `ostler team create`");
        return Ok(());
    }
    let header = ["agent", "type", "can", "queue", "load", "state"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(records.iter().map(row));
    print_rows(&rows);
    if records.len() == LONGEST_PAGE {
        anstream::println!("{QUIET}the first {LONGEST_PAGE}; narrow it with --can{QUIET:#}");
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
        state(record),
    ]
}

/// What an agent can do, in a line.
pub(super) fn capabilities(record: &AgentRecord) -> String {
    let all: Vec<String> = record.capabilities.iter().map(|one| one.clone().into()).collect();
    all.join(", ")
}

/// Where an agent's messages wait.
pub(super) fn queue(record: &AgentRecord) -> &'static str {
    match record.placement {
        Placement::Pinned => "its own",
        Placement::Hosted => "shared",
    }
}

/// Whether an agent is there.
pub(super) fn state(record: &AgentRecord) -> Cell {
    if record.is_available(now()) {
        Cell::styled("there", GOOD)
    } else {
        Cell::styled("away", QUIET)
    }
}
