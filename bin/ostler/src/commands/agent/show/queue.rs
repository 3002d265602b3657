//! Agents on queues: capabilities, teams, work and queue.

use ostler_api::queue_agent::{QueueAgent, QueueAgentDetail};
use ostler_domain::queue_agent::name::{AgentName, TeamName};

use crate::api_client::OrgApi;
use crate::commands::agent::ls::{availability, capabilities, queue};
use crate::commands::args::BusArgs;
use crate::commands::delegation::ls::print_delegations;
use crate::queue_api::QueueApi;
use crate::screen::{Cell, HEADER, print_fields};

/// Reads what the queues and the records of an org contain about an agent; `None` if it is not
/// registered there.
pub(super) async fn load(
    args: &BusArgs,
    org: &OrgApi,
    name: &AgentName,
) -> anyhow::Result<Option<QueueAgentDetail>> {
    let known: Vec<QueueAgent> = org.list(&["queue-agents"], &[], usize::MAX).await?;
    if !known.iter().any(|one| one.name == *name) {
        return Ok(None);
    }
    let path = ["queue-agents", name.as_str()];
    if !org.api.is_local() {
        return org.get(&path).await.map(Some);
    }
    // How many messages wait is known on the bus only.
    let queues = QueueApi::open_for(args, &org.org).await?;
    let details = queues.org.get(&path).await;
    queues.close().await?;
    details.map(Some)
}

/// Prints the details of an agent on queues.
pub(super) fn print(details: &QueueAgentDetail) {
    let record = &details.record;
    let teams: Vec<&str> = details.teams.iter().map(TeamName::as_str).collect();
    let waiting = details.waiting.map_or("unknown".to_owned(), |waiting| waiting.to_string());
    let mut rows = vec![
        [Cell::styled(format!("{} on queues", record.name), HEADER), availability(record)],
        ["type".into(), record.agent_type.as_str().into()],
        ["capabilities".into(), capabilities(record).into()],
        ["teams".into(), teams.join(", ").into()],
        ["queue".into(), format!("{}, {waiting} waiting", queue(record)).into()],
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
