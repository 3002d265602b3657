//! `ostler team add` and `ostler team remove`.

use clap::Args;
use ostler_api::queue_agent::TeamMemberRequest;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::queue_agent::team_lifecycle::Team;

use super::create::print_team;
use crate::commands::args::BusArgs;
use crate::queue_api::with_queues;

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
    let request = TeamMemberRequest { agent: agent.clone(), leader: args.leader };
    let path = ["queue-teams", name.as_str(), "members"];
    let team: Team =
        with_queues(bus, async |queues| queues.org.post(&path, &request).await).await?;
    if bus.output.json {
        return crate::commands::print_json(&team);
    }
    print_team(&team);
    Ok(())
}

pub(super) async fn remove(args: &TeamMemberArgs) -> anyhow::Result<()> {
    let path = ["queue-teams", args.name.as_str(), "members", args.agent.as_str()];
    let team: Team = with_queues(&args.bus, async |queues| queues.org.delete(&path).await).await?;
    if args.bus.output.json {
        return crate::commands::print_json(&team);
    }
    print_team(&team);
    Ok(())
}
