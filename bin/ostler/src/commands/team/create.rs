//! `ostler team create`.

use anyhow::Context as _;
use clap::Args;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_runtime::agents::{AgentRecord, Placement};

use crate::agent_client::AgentClient;
use crate::commands::args::BusArgs;
use crate::screen::HEADER;

#[derive(Debug, Args)]
pub(crate) struct TeamCreateArgs {
    /// Name of the team
    #[arg(value_name = "TEAM")]
    name: TeamName,
    /// Members, separated by commas; the first one leads
    #[arg(long, value_name = "AGENT,…", value_delimiter = ',', required = true)]
    members: Vec<AgentName>,
    /// Register unknown members as agents of this type: echo or human
    #[arg(long, value_name = "TYPE")]
    register: Option<String>,
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: &TeamCreateArgs) -> anyhow::Result<()> {
    let client = AgentClient::open(&args.bus).await?;
    let team = match create(&client, args).await {
        Ok(()) => client.team(&args.name).await,
        Err(error) => Err(error),
    };
    client.close().await?;
    let team = team?;
    if args.bus.output.json {
        return crate::commands::print_json(&team);
    }
    let members: Vec<&str> = team.members().iter().map(AgentName::as_str).collect();
    anstream::println!(
        "{HEADER}{}{HEADER:#}  {}, led by {}",
        team.name,
        members.join(", "),
        team.leader()
    );
    Ok(())
}

async fn create(client: &AgentClient, args: &TeamCreateArgs) -> anyhow::Result<()> {
    if let Some(agent_type) = &args.register {
        for member in &args.members {
            register(client, member, agent_type).await?;
        }
    }
    let (leader, others) = args.members.split_first().context("name at least one member")?;
    Ok(client.runtime.form_team(args.name.clone(), leader.clone(), others.to_vec()).await?)
}

/// Registers an agent unless its name is registered already.
async fn register(client: &AgentClient, name: &AgentName, agent_type: &str) -> anyhow::Result<()> {
    let registry = client.runtime.registry();
    if registry.get(name).await?.is_none() {
        registry.register(AgentRecord::new(name.clone(), agent_type, Placement::Pinned)).await?;
    }
    Ok(())
}
