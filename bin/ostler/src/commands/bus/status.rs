//! `ostler bus status`.

use clap::Args;
use ostler_api::queue_agent::{BusStatus, QueueService};
use ostler_domain::queue_agent::name::AgentName;

use crate::commands::args::BusArgs;
use crate::queue_api::with_queues;
use crate::screen::{
    BAD, Cell, DIM, GOOD, HEADER, WARNING, print_fields, print_paragraph, print_rows,
};

#[derive(Debug, Args)]
pub(crate) struct BusStatusArgs {
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: &BusStatusArgs) -> anyhow::Result<()> {
    let report: BusStatus =
        with_queues(&args.bus, async |queues| queues.org.get(&["bus"]).await).await?;
    if args.bus.output.json {
        return crate::commands::print_json(&report);
    }
    print(&report);
    Ok(())
}

fn print(report: &BusStatus) {
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
    rows.extend(report.coverage.iter().map(|coverage| {
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
