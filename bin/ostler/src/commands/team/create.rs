//! `ostler team create`.

use anyhow::Context as _;
use ostler_domain::dispatch::name::AgentName;
use ostler_runtime::queue::{AgentRecord, Placement};

use crate::cli::queue::TeamCreate;
use crate::desk::Desk;
use crate::screen::HEADER;

pub(crate) async fn run(command: &TeamCreate) -> anyhow::Result<()> {
    let desk = Desk::open(&command.reach).await?;
    let formed = form(&desk, command).await;
    let team = match formed {
        Ok(()) => desk.team(&command.name).await,
        Err(error) => Err(error),
    };
    desk.close().await?;
    let team = team?;
    if command.reach.output.json {
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

async fn form(desk: &Desk, command: &TeamCreate) -> anyhow::Result<()> {
    if let Some(agent_type) = &command.register {
        for member in &command.members {
            register(desk, member, agent_type).await?;
        }
    }
    let (leader, others) = command.members.split_first().context("name at least one member")?;
    Ok(desk.runtime.form(command.name.clone(), leader.clone(), others.to_vec()).await?)
}

/// Registers an agent, unless there is one of that name.
async fn register(desk: &Desk, name: &AgentName, agent_type: &str) -> anyhow::Result<()> {
    let registry = desk.runtime.registry();
    if registry.get(name).await?.is_none() {
        registry.register(AgentRecord::new(name.clone(), agent_type, Placement::Pinned)).await?;
    }
    Ok(())
}
