//! `ostler delegation update`.

use clap::Args;
use ostler_api::queue_agent::{ChangedDelegation, DelegationChange, DelegationDetail};
use ostler_domain::queue_agent::delegation::DelegationStatus;
use ostler_domain::queue_agent::name::AgentName;

use super::ls::print_delegations;
use crate::commands::args::BusArgs;
use crate::queue_api::{QueueApi, with_queues};

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

pub(super) async fn run(args: &DelegationUpdateArgs) -> anyhow::Result<()> {
    super::check_name(&args.delegation)?;
    let updated = with_queues(&args.bus, async |queues| update(queues, args).await).await?;
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
    queues: &QueueApi,
    args: &DelegationUpdateArgs,
) -> anyhow::Result<ChangedDelegation> {
    let path = ["delegations", args.delegation.as_str()];
    let found: DelegationDetail = queues.org.get(&path).await?;
    let assignees: Vec<AgentName> =
        found.blocks.into_iter().map(|blocked| blocked.assignee).collect();
    // Agents that cannot be started here learn about their work when they start.
    queues.start_available(&assignees).await?;
    let change = DelegationChange { status: args.status.into() };
    let path = ["delegations", args.delegation.as_str(), "status"];
    let updated = queues.org.post(&path, &change).await?;
    queues.wait_until_handled(&assignees).await?;
    Ok(updated)
}
