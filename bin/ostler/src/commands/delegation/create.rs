//! `ostler delegation create`.

use std::collections::BTreeSet;
use std::time::Duration;

use clap::Args;
use ostler_bus::now;
use ostler_domain::queue_agent::delegation::Delegation;
use ostler_domain::queue_agent::name::AgentName;
use ostler_runtime::operations::NewDelegation;
use serde_json::json;

use super::ls::print_delegations;
use crate::agent_client::{AgentClient, with_client};
use crate::commands::args::{BusArgs, parse_duration};
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
    let (work, sent) = with_client(&args.bus, async |client| create(client, args).await).await?;
    if args.bus.output.json {
        return crate::commands::print_json(&json!({ "work": work, "sent": sent }));
    }
    print_delegations(std::slice::from_ref(&work));
    if !sent {
        anstream::println!("{DIM}sent to {} once nothing blocks it{DIM:#}", work.assignee);
    }
    Ok(())
}

async fn create(
    client: &AgentClient,
    args: &DelegationCreateArgs,
) -> anyhow::Result<(Delegation, bool)> {
    let mut blocked_by = BTreeSet::new();
    for name in &args.after {
        blocked_by.insert(super::find(client, name).await?.id);
    }
    let new = NewDelegation {
        by: args.by.clone(),
        to: args.to.clone(),
        description: args.description.clone(),
        due: args.within.map(|time| now() + time),
        blocked_by,
    };
    if let Some(unavailable) = client.start([&args.to]).await?.pop() {
        return Err(unavailable.error.into());
    }
    let delegated = client.operations().delegate(&client.runtime, new).await?;
    client.wait_until_handled([&args.to]).await?;
    Ok(delegated)
}
