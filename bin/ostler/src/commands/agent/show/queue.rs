//! Agents on queues: capabilities, teams, work and queue.

use ostler_bus::QueueDepth;
use ostler_domain::org::Org;
use ostler_domain::queue_agent::delegation::Delegation;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_runtime::agents::{AgentRecord, DelegatedWork, Page, QueueError};
use serde::Serialize;

use crate::agent_client::AgentClient;
use crate::commands::agent::ls::{availability, capabilities, queue};
use crate::commands::args::BusArgs;
use crate::commands::delegation::ls::print_delegations;
use crate::screen::{Cell, HEADER, print_fields};

/// The most teams, delegations and work items that are details.
const LIMIT: usize = 20;

/// What the queues and records contain about an agent.
#[derive(Serialize)]
pub(super) struct QueueAgentDetails {
    record: AgentRecord,
    teams: Vec<TeamName>,
    /// Messages in its queue.
    waiting: u64,
    /// Messages on the work list of a human agent.
    on_its_list: usize,
    work: Vec<Delegation>,
}

/// Reads what the queues and the records of an org contain about an agent.
pub(super) async fn load(
    args: &BusArgs,
    org: &Org,
    name: &AgentName,
) -> anyhow::Result<QueueAgentDetails> {
    let client = AgentClient::open_for(args, org.id).await?;
    let details = read(&client, name).await;
    client.close().await?;
    details
}

async fn read(client: &AgentClient, name: &AgentName) -> anyhow::Result<QueueAgentDetails> {
    let runtime = &client.runtime;
    let record = runtime.registry().get(name).await?;
    let record = record.ok_or_else(|| QueueError::UnknownAgent(name.clone()))?;
    let teams = runtime.teams().of_member(name, Page::first(LIMIT)).await?;
    let depth: QueueDepth = runtime.bus().depth(&runtime.queue_of(name).await?).await?;
    let list = runtime.worklist().list(name, Page::first(LIMIT)).await?;
    Ok(QueueAgentDetails {
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

/// Prints the details of an agent on queues.
pub(super) fn print(details: &QueueAgentDetails) {
    let record = &details.record;
    let teams: Vec<&str> = details.teams.iter().map(TeamName::as_str).collect();
    let mut rows = vec![
        [Cell::styled(format!("{} on queues", record.name), HEADER), availability(record)],
        ["type".into(), record.agent_type.as_str().into()],
        ["capabilities".into(), capabilities(record).into()],
        ["teams".into(), teams.join(", ").into()],
        ["queue".into(), format!("{}, {} waiting", queue(record), details.waiting).into()],
    ];
    if details.on_its_list > 0 {
        rows.push(["work list".into(), format!("{} to answer", details.on_its_list).into()]);
    }
    print_fields(&rows);
    if !details.work.is_empty() {
        anstream::println!();
        print_delegations(&details.work);
    }
}
