//! `ostler team add` and `ostler team remove`.

use clap::Args;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_runtime::operations::TeamRole;

use super::create::print_team;
use crate::agent_client::with_client;
use crate::commands::args::BusArgs;

#[derive(Debug, Args)]
pub(crate) struct TeamAddArgs {
    #[command(flatten)]
    member: TeamMemberArgs,
    /// Make the agent the leader; it may be a member already
    #[arg(long)]
    leader: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TeamMemberArgs {
    /// Team
    #[arg(value_name = "TEAM")]
    name: TeamName,
    /// Agent; an agent of the org goes by its slug
    #[arg(value_name = "AGENT")]
    agent: AgentName,
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn add(args: &TeamAddArgs) -> anyhow::Result<()> {
    let TeamMemberArgs { name, agent, bus } = &args.member;
    let role = if args.leader { TeamRole::Leader } else { TeamRole::Member };
    let team = with_client(bus, async |client| {
        Ok(client.operations().add_to_team(&client.runtime, name, agent, role).await?)
    })
    .await?;
    if bus.output.json {
        return crate::commands::print_json(&team);
    }
    print_team(&team);
    Ok(())
}

pub(super) async fn remove(args: &TeamMemberArgs) -> anyhow::Result<()> {
    let team = with_client(&args.bus, async |client| {
        let operations = client.operations();
        Ok(operations.remove_from_team(&client.runtime, &args.name, &args.agent).await?)
    })
    .await?;
    if args.bus.output.json {
        return crate::commands::print_json(&team);
    }
    print_team(&team);
    Ok(())
}
