//! `ostler bus status`.

use ostler_bus::{Depth, QueueName, Selection};
use ostler_runtime::queue::{Condition, Page, Placement, RuntimeOptions, Status};
use serde::Serialize;

use crate::cli::queue::BusStatus;
use crate::desk::Desk;
use crate::screen::{Cell, GOOD, HEADER, WAITS, print_rows};

/// How many agents' queues are looked at.
const LOOKED_AT: usize = 100;
/// How many dead letters are counted.
const COUNTED: usize = 1000;

#[derive(Serialize)]
struct Seen {
    #[serde(flatten)]
    status: Status,
    queues: Vec<Queue>,
    /// As far as they were counted.
    dead_letters: usize,
}

#[derive(Serialize)]
struct Queue {
    name: QueueName,
    waiting: u64,
    consumers: u32,
}

pub(crate) async fn run(command: &BusStatus) -> anyhow::Result<()> {
    let desk = Desk::open(&command.reach).await?;
    let seen = look(&desk).await;
    desk.close().await?;
    let seen = seen?;
    if command.reach.output.json {
        return crate::commands::print_json(&seen);
    }
    print(&seen);
    Ok(())
}

async fn look(desk: &Desk) -> anyhow::Result<Seen> {
    let runtime = &desk.runtime;
    let records = runtime.registry().list(Page::first(LOOKED_AT)).await?;
    let pinned = records.iter().filter(|record| record.placement == Placement::Pinned);
    let mut names: Vec<QueueName> = pinned.map(|record| QueueName::agent(&record.name)).collect();
    if records.iter().any(|record| record.placement == Placement::Hosted) {
        let shards = RuntimeOptions::default().shards;
        names.extend((0..shards).map(|number| QueueName::hosted(number, shards)));
    }
    let mut queues = Vec::new();
    for name in names {
        let depth: Depth = runtime.bus().depth(&name).await?;
        queues.push(Queue { name, waiting: depth.total(), consumers: depth.consumers });
    }
    let dead = runtime.bus().dead_letters(Selection::All, COUNTED).await?;
    Ok(Seen { status: runtime.status().await?, queues, dead_letters: dead.len() })
}

fn print(seen: &Seen) {
    let condition = match seen.status.condition {
        Condition::Whole => Cell::styled("whole", GOOD),
        Condition::Degraded => Cell::styled("degraded: somebody is away", WAITS),
    };
    let dead = seen.dead_letters.to_string();
    print_rows(&[[Cell::from("agents"), condition], ["dead letters".into(), dead.into()]]);
    let mut rows = vec![["can", "there", "away"].map(|text| Cell::styled(text, HEADER))];
    rows.extend(seen.status.coverage.iter().map(|one| {
        [
            String::from(one.capability.clone()).into(),
            one.there.to_string().into(),
            one.away.to_string().into(),
        ]
    }));
    section(&rows);
    let mut rows = vec![["queue", "waiting", "consumers"].map(|text| Cell::styled(text, HEADER))];
    rows.extend(seen.queues.iter().map(|one| {
        [one.name.as_str().into(), one.waiting.to_string().into(), one.consumers.to_string().into()]
    }));
    section(&rows);
}

/// Prints a table that has more than its header.
fn section(rows: &[[Cell; 3]]) {
    if rows.len() > 1 {
        anstream::println!();
        print_rows(rows);
    }
}
