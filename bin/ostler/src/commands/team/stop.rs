//! `ostler team stop`.

use clap::Args;
use ostler_domain::queue_agent::name::TeamName;

use crate::agent_client::AgentClient;
use crate::commands::args::BusArgs;
use crate::screen::HEADER;

#[derive(Debug, Args)]
pub(crate) struct TeamStopArgs {
    /// Team
    #[arg(value_name = "TEAM")]
    name: TeamName,
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: &TeamStopArgs) -> anyhow::Result<()> {
    let client = AgentClient::open(&args.bus).await?;
    let stopped = stop(&client, args).await;
    client.close().await?;
    let team = stopped?;
    if args.bus.output.json {
        return crate::commands::print_json(&team);
    }
    anstream::println!("{HEADER}{}{HEADER:#}  dissolved; its agents are stopping", team.name);
    Ok(())
}

async fn stop(
    client: &AgentClient,
    args: &TeamStopArgs,
) -> anyhow::Result<ostler_domain::queue_agent::team_lifecycle::Team> {
    client.team(&args.name).await?;
    client.runtime.stop_team(&args.name).await?;
    client.team(&args.name).await
}
