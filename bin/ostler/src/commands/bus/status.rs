//! `ostler bus status`.

use clap::Args;
use ostler_bus::{DeadLetterFilter, QueueDepth, QueueName};
use ostler_runtime::agents::{AgentHealth, Page, Placement, RuntimeOptions, RuntimeStatus};
use serde::Serialize;

use crate::agent_client::AgentClient;
use crate::commands::args::BusArgs;
use crate::screen::{Cell, GOOD, HEADER, WARNING, print_rows};

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
    queues: Vec<QueueReport>,
    /// At most `DEAD_LETTER_LIMIT`.
    dead_letters: usize,
}

#[derive(Serialize)]
struct QueueReport {
    name: QueueName,
    waiting: u64,
    consumers: u32,
}

pub(super) async fn run(args: &BusStatusArgs) -> anyhow::Result<()> {
    let client = AgentClient::open(&args.bus).await?;
    let report = inspect(&client).await;
    client.close().await?;
    let report = report?;
    if args.bus.output.json {
        return crate::commands::print_json(&report);
    }
    print(&report);
    Ok(())
}

async fn inspect(client: &AgentClient) -> anyhow::Result<BusReport> {
    let runtime = &client.runtime;
    let records = runtime.registry().list(Page::first(AGENT_LIMIT)).await?;
    let pinned = records.iter().filter(|record| record.placement == Placement::Pinned);
    let mut names: Vec<QueueName> = pinned.map(|record| QueueName::agent(&record.name)).collect();
    if records.iter().any(|record| record.placement == Placement::Hosted) {
        let shards = RuntimeOptions::default().shards;
        names.extend((0..shards).map(|number| QueueName::hosted(number, shards)));
    }
    let mut queues = Vec::new();
    for name in names {
        let depth: QueueDepth = runtime.bus().depth(&name).await?;
        queues.push(QueueReport { name, waiting: depth.total(), consumers: depth.consumers });
    }
    let dead = runtime.bus().dead_letters(DeadLetterFilter::All, DEAD_LETTER_LIMIT).await?;
    Ok(BusReport { status: runtime.status().await?, queues, dead_letters: dead.len() })
}

fn print(report: &BusReport) {
    let condition = match report.status.condition {
        AgentHealth::Healthy => Cell::styled("all available", GOOD),
        AgentHealth::Degraded => Cell::styled("degraded: some agents are away", WARNING),
    };
    let dead = report.dead_letters.to_string();
    print_rows(&[[Cell::from("agents"), condition], ["dead letters".into(), dead.into()]]);
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
        [
            queue.name.as_str().into(),
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
