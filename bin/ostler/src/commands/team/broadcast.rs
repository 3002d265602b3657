//! `ostler team broadcast`.

use clap::Args;
use ostler_bus::Envelope;
use ostler_domain::queue_agent::name::TeamName;
use ostler_domain::queue_agent::team_lifecycle::Team;
use serde_json::json;

use crate::agent_client::{AgentClient, UnavailableAgent};
use crate::commands::args::{BusArgs, MessageArgs};
use crate::screen::{DIM, HEADER};

#[derive(Debug, Args)]
pub(crate) struct TeamBroadcastArgs {
    /// Team
    #[arg(value_name = "TEAM")]
    name: TeamName,
    #[command(flatten)]
    message: MessageArgs,
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: &TeamBroadcastArgs) -> anyhow::Result<()> {
    let client = AgentClient::open(&args.bus).await?;
    let team = client.team(&args.name).await?;
    let message = client.new_message(&args.message).await?;
    let (id, code) = (message.message.id, message.reference);
    let sent = broadcast(&client, &team, message).await;
    client.close().await?;
    let unavailable = sent?;
    let count = team.members().len() - unavailable.len();
    if args.bus.output.json {
        let missed: Vec<_> = unavailable.iter().map(|agent| &agent.name).collect();
        let report = json!({ "message": id, "reference": code, "told": count, "missed": missed });
        return crate::commands::print_json(&report);
    }
    anstream::println!("{HEADER}{code}{HEADER:#}  sent to {count} members of {}", args.name);
    for UnavailableAgent { name, error } in &unavailable {
        anstream::println!("  {name}  {DIM}{error}{DIM:#}");
    }
    Ok(())
}

async fn broadcast(
    client: &AgentClient,
    team: &Team,
    message: Envelope,
) -> anyhow::Result<Vec<UnavailableAgent>> {
    let unavailable = client.start(team.members()).await?;
    client.runtime.broadcast(&team.name, message).await?;
    client.wait_until_handled(team.members()).await?;
    Ok(unavailable)
}
