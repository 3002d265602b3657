//! `ostler agent show`.

use ostler_bus::{Depth, QueueName};
use ostler_domain::dispatch::delegation::Delegation;
use ostler_domain::dispatch::name::TeamName;
use ostler_runtime::queue::{AgentRecord, Page, QueueError, Work};
use serde::Serialize;

use super::ls::{capabilities, queue, state};
use crate::cli::queue::AgentShow;
use crate::commands::delegation::ls::print_work;
use crate::desk::Desk;
use crate::screen::{Cell, HEADER, print_rows};

/// How much of each is shown.
const SHOWN: usize = 20;

#[derive(Serialize)]
struct Shown {
    record: AgentRecord,
    teams: Vec<TeamName>,
    /// Messages that wait in its queue.
    waiting: u64,
    /// The work of people that waits for an answer.
    on_its_list: usize,
    work: Vec<Delegation>,
}

pub(crate) async fn run(command: &AgentShow) -> anyhow::Result<()> {
    let desk = Desk::open(&command.reach).await?;
    let shown = look(&desk, command).await;
    desk.close().await?;
    let shown = shown?;
    if command.reach.output.json {
        return crate::commands::print_json(&shown);
    }
    print(&shown);
    Ok(())
}

async fn look(desk: &Desk, command: &AgentShow) -> anyhow::Result<Shown> {
    let (runtime, name) = (&desk.runtime, &command.name);
    let record = runtime.registry().get(name).await?;
    let record = record.ok_or_else(|| QueueError::UnknownAgent(name.clone()))?;
    let teams = runtime.teams().of_member(name, Page::first(SHOWN)).await?;
    let depth: Depth = runtime.bus().depth(&QueueName::agent(name)).await?;
    let list = runtime.worklist().list(name, Page::first(SHOWN)).await?;
    Ok(Shown {
        record,
        teams: teams.into_iter().map(|team| team.name).collect(),
        waiting: depth.total(),
        on_its_list: list.len(),
        work: runtime.delegations().list(Work::Of(name.clone()), Page::first(SHOWN)).await?,
    })
}

fn print(shown: &Shown) {
    let record = &shown.record;
    let teams: Vec<&str> = shown.teams.iter().map(TeamName::as_str).collect();
    let mut rows = vec![
        [Cell::styled(record.name.as_str(), HEADER), state(record)],
        ["type".into(), record.agent_type.as_str().into()],
        ["can".into(), capabilities(record).into()],
        ["teams".into(), teams.join(", ").into()],
        ["queue".into(), format!("{}, {} waiting", queue(record), shown.waiting).into()],
    ];
    if shown.on_its_list > 0 {
        rows.push(["list".into(), format!("{} to answer", shown.on_its_list).into()]);
    }
    print_rows(&rows);
    if !shown.work.is_empty() {
        anstream::println!();
        print_work(&shown.work);
    }
}
