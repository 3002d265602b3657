//! `ostler agent show`.

use clap::Args;
use ostler_bus::QueueDepth;
use ostler_domain::queue_agent::delegation::Delegation;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_runtime::agents::{AgentRecord, DelegatedWork, Page, QueueError};
use serde::Serialize;

use super::ls::{availability, capabilities, queue};
use crate::agent_client::AgentClient;
use crate::commands::args::BusArgs;
use crate::commands::delegation::ls::print_delegations;
use crate::screen::{Cell, HEADER, print_rows};

#[derive(Debug, Args)]
pub(crate) struct AgentShowArgs {
    /// Agent
    #[arg(value_name = "AGENT")]
    name: AgentName,
    #[command(flatten)]
    bus: BusArgs,
}

/// The most teams, delegations and work items that are details.
const LIMIT: usize = 20;

#[derive(Serialize)]
struct AgentDetails {
    record: AgentRecord,
    teams: Vec<TeamName>,
    /// Messages in its queue.
    waiting: u64,
    /// Messages on the work list of a human agent.
    on_its_list: usize,
    work: Vec<Delegation>,
}

pub(super) async fn run(args: &AgentShowArgs) -> anyhow::Result<()> {
    let client = AgentClient::open(&args.bus).await?;
    let details = load(&client, args).await;
    client.close().await?;
    let details = details?;
    if args.bus.output.json {
        return crate::commands::print_json(&details);
    }
    print(&details);
    Ok(())
}

async fn load(client: &AgentClient, args: &AgentShowArgs) -> anyhow::Result<AgentDetails> {
    let (runtime, name) = (&client.runtime, &args.name);
    let record = runtime.registry().get(name).await?;
    let record = record.ok_or_else(|| QueueError::UnknownAgent(name.clone()))?;
    let teams = runtime.teams().of_member(name, Page::first(LIMIT)).await?;
    let depth: QueueDepth = runtime.bus().depth(&runtime.queue_of(name).await?).await?;
    let list = runtime.worklist().list(name, Page::first(LIMIT)).await?;
    Ok(AgentDetails {
        record,
        teams: teams.into_iter().map(|team| team.name).collect(),
        waiting: depth.total(),
        on_its_list: list.len(),
        work: runtime
            .delegations()
            .list(DelegatedWork::Of(name.clone()), Page::first(LIMIT))
            .await?,
    })
}

fn print(details: &AgentDetails) {
    let record = &details.record;
    let teams: Vec<&str> = details.teams.iter().map(TeamName::as_str).collect();
    let mut rows = vec![
        [Cell::styled(record.name.as_str(), HEADER), availability(record)],
        ["type".into(), record.agent_type.as_str().into()],
        ["capabilities".into(), capabilities(record).into()],
        ["teams".into(), teams.join(", ").into()],
        ["queue".into(), format!("{}, {} waiting", queue(record), details.waiting).into()],
    ];
    if details.on_its_list > 0 {
        rows.push(["work list".into(), format!("{} to answer", details.on_its_list).into()]);
    }
    print_rows(&rows);
    if !details.work.is_empty() {
        anstream::println!();
        print_delegations(&details.work);
    }
}
