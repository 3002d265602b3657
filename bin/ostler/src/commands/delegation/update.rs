//! `ostler delegation update`.

use clap::Args;
use ostler_domain::queue_agent::delegation::Delegation;
use ostler_domain::queue_agent::delegation::DelegationStatus;
use ostler_domain::queue_agent::name::AgentName;
use serde::Serialize;

use super::ls::print_delegations;
use crate::agent_client::AgentClient;
use crate::commands::args::BusArgs;

#[derive(Debug, Args)]
pub(crate) struct DelegationUpdateArgs {
    /// Delegation, by id or reference code
    #[arg(value_name = "DELEGATION")]
    delegation: String,
    /// New status
    #[arg(value_name = "STATUS")]
    status: StatusArg,
    #[command(flatten)]
    bus: BusArgs,
}

/// A status that a person can set.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum StatusArg {
    /// The agent works on it
    InProgress,
    /// It is done and waits for a review
    AwaitingReview,
    /// It is finished
    Complete,
    /// Its due time has passed
    Overdue,
}

impl From<StatusArg> for DelegationStatus {
    fn from(status: StatusArg) -> Self {
        match status {
            StatusArg::InProgress => Self::InProgress,
            StatusArg::AwaitingReview => Self::AwaitingReview,
            StatusArg::Complete => Self::Complete,
            StatusArg::Overdue => Self::Overdue,
        }
    }
}

#[derive(Serialize)]
struct DelegationUpdate {
    work: Delegation,
    /// Delegations that became ready by it.
    ready: Vec<Delegation>,
}

pub(super) async fn run(args: &DelegationUpdateArgs) -> anyhow::Result<()> {
    let client = AgentClient::open(&args.bus).await?;
    let updated = update(&client, args).await;
    client.close().await?;
    let updated = updated?;
    if args.bus.output.json {
        return crate::commands::print_json(&updated);
    }
    print_delegations(std::slice::from_ref(&updated.work));
    if !updated.ready.is_empty() {
        anstream::println!("\nready now");
        print_delegations(&updated.ready);
    }
    Ok(())
}

async fn update(
    client: &AgentClient,
    args: &DelegationUpdateArgs,
) -> anyhow::Result<DelegationUpdate> {
    let work = super::find(client, &args.delegation).await?;
    let assignees = blocked_assignees(client, &work).await?;
    // Agents that cannot be started here learn about their work when they start.
    client.start(&assignees).await?;
    let operations = client.operations();
    let ready = operations.update_delegation(&client.runtime, work.id, args.status.into()).await?;
    client.wait_until_handled(&assignees).await?;
    let work = super::find(client, &work.id.to_string()).await?;
    Ok(DelegationUpdate { work, ready })
}

/// Returns the assignees of the work that waits for this.
async fn blocked_assignees(
    client: &AgentClient,
    work: &Delegation,
) -> anyhow::Result<Vec<AgentName>> {
    let delegations = client.runtime.delegations();
    let mut assignees = Vec::new();
    for id in delegations.blocks(work.id).await? {
        assignees.extend(delegations.get(id).await?.map(|blocked| blocked.assignee));
    }
    Ok(assignees)
}
