//! `ostler bus status`.

use clap::Args;
use ostler_bus::DeadLetterFilter;
use ostler_domain::queue_agent::name::AgentName;
use ostler_runtime::agents::{QueueService, QueueStatus, RuntimeStatus};
use serde::Serialize;

use crate::agent_client::{AgentClient, with_client};
use crate::commands::args::BusArgs;
use crate::screen::{
    BAD, Cell, DIM, GOOD, HEADER, WARNING, print_fields, print_paragraph, print_rows,
};

#[derive(Debug, Args)]
pub(crate) struct BusStatusArgs {
    #[command(flatten)]
    bus: BusArgs,
}

/// The most agents whose queues are inspected.
const AGENT_LIMIT: usize = 100;
/// The most dead letters that are counted.
const DEAD_LETTER_LIMIT: usize = 1000;

#[derive(Serialize)]
struct BusReport {
    #[serde(flatten)]
    status: RuntimeStatus,
    /// Whether the bus ends with this command.
    in_process: bool,
    /// Agents that are not available.
    away: Vec<AgentName>,
    queues: Vec<QueueStatus>,
    /// At most `DEAD_LETTER_LIMIT`.
    dead_letters: usize,
}

pub(super) async fn run(args: &BusStatusArgs) -> anyhow::Result<()> {
    let report = with_client(&args.bus, inspect).await?;
    if args.bus.output.json {
        return crate::commands::print_json(&report);
    }
    print(&report);
    Ok(())
}

async fn inspect(client: &AgentClient) -> anyhow::Result<BusReport> {
    let runtime = &client.runtime;
    let dead = runtime.bus().dead_letters(DeadLetterFilter::All, DEAD_LETTER_LIMIT).await?;
    let in_process = client.is_in_process();
    let queues = if in_process { Vec::new() } else { runtime.queues(AGENT_LIMIT).await? };
    let away = runtime.away(AGENT_LIMIT).await?;
    let status = runtime.status().await?;
    Ok(BusReport { status, in_process, away, queues, dead_letters: dead.len() })
}

fn print(report: &BusReport) {
    let dead = report.dead_letters.to_string();
    let stuck = report.queues.iter().any(|queue| queue.service == QueueService::Stuck);
    let unserved = report.queues.iter().any(|queue| queue.service == QueueService::Unserved);
    let condition = if stuck {
        Cell::styled("messages wait and no process takes them; start `ostler serve`", BAD)
    } else if unserved {
        Cell::styled("no process takes messages of some queues; start `ostler serve`", WARNING)
    } else if report.away.is_empty() {
        Cell::styled("all available", GOOD)
    } else {
        let away: Vec<&str> = report.away.iter().map(AgentName::as_str).collect();
        Cell::styled(format!("away: {}", away.join(", ")), WARNING)
    };
    print_fields(&[[Cell::from("agents"), condition], ["dead letters".into(), dead.into()]]);
    if report.in_process {
        let note =
            "without a broker each process has a bus of its own, which ends with it; see --bus";
        print_paragraph(note, DIM);
    }
    let mut rows = vec![["capability", "available", "away"].map(|text| Cell::styled(text, HEADER))];
    rows.extend(report.status.coverage.iter().map(|coverage| {
        [
            String::from(coverage.capability.clone()).into(),
            coverage.available.to_string().into(),
            coverage.unavailable.to_string().into(),
        ]
    }));
    print_section(&rows);
    let mut rows = vec![["queue", "waiting", "consumers"].map(|text| Cell::styled(text, HEADER))];
    rows.extend(report.queues.iter().map(|queue| {
        let style = if queue.service == QueueService::Stuck { BAD } else { Default::default() };
        [
            Cell::styled(queue.name.as_str(), style),
            queue.waiting.to_string().into(),
            queue.consumers.to_string().into(),
        ]
    }));
    print_section(&rows);
}

/// Prints a table unless it has only a header.
fn print_section(rows: &[[Cell; 3]]) {
    if rows.len() > 1 {
        anstream::println!();
        print_rows(rows);
    }
}
