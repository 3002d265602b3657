//! `ostler delegation create`.

use std::time::Duration;

use clap::Args;
use ostler_api::queue_agent::{CreatedDelegation, NewDelegationRequest};
use ostler_bus::now;
use ostler_domain::queue_agent::name::AgentName;

use super::ls::print_delegations;
use crate::commands::args::{BusArgs, parse_duration};
use crate::queue_api::{QueueApi, with_queues};
use crate::screen::DIM;

#[derive(Debug, Args)]
pub(crate) struct DelegationCreateArgs {
    /// What has to be done
    #[arg(value_name = "TEXT")]
    description: String,
    /// Agent that gets the work
    #[arg(long, value_name = "AGENT")]
    to: AgentName,
    /// Agent that gives the work and learns of delays
    #[arg(long, value_name = "AGENT")]
    by: AgentName,
    /// Time until it is due
    #[arg(long = "within", value_name = "TIME", value_parser = parse_duration)]
    within: Option<Duration>,
    /// Work that must be finished first, by id or reference code; may be repeated
    #[arg(long, value_name = "DELEGATION")]
    after: Vec<String>,
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: &DelegationCreateArgs) -> anyhow::Result<()> {
    args.after.iter().try_for_each(|name| super::check_name(name))?;
    let created = with_queues(&args.bus, async |queues| create(queues, args).await).await?;
    if args.bus.output.json {
        return crate::commands::print_json(&created);
    }
    print_delegations(std::slice::from_ref(&created.work));
    if !created.sent {
        anstream::println!("{DIM}sent to {} once nothing blocks it{DIM:#}", created.work.assignee);
    }
    Ok(())
}

async fn create(
    queues: &QueueApi,
    args: &DelegationCreateArgs,
) -> anyhow::Result<CreatedDelegation> {
    let request = NewDelegationRequest {
        by: args.by.clone(),
        to: args.to.clone(),
        description: args.description.clone(),
        due: args.within.map(|time| now() + time),
        after: args.after.clone(),
    };
    queues.start([&args.to]).await?;
    let created = queues.org.post(&["delegations"], &request).await?;
    queues.wait_until_handled([&args.to]).await?;
    Ok(created)
}
