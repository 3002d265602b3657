//! `ostler team`: teams of queue agents.

mod ask;
mod broadcast;
mod create;
mod ls;
mod members;
mod stop;

use std::collections::BTreeSet;

use clap::Subcommand;
use ostler_api::page::Page;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::queue_agent::team_lifecycle::Team;

use crate::queue_api::QueueApi;

#[derive(Debug, Subcommand)]
pub(crate) enum TeamCommand {
    /// List the teams
    #[command(after_help = "\
Examples:
  ostler team ls
  ostler team ls --json")]
    Ls(ls::TeamLsArgs),
    /// Create a team of agents; the first one leads it
    #[command(after_help = "\
Examples:
  ostler team create review --members legal,security,style
  ostler team create try --members ada,bob --register echo
  ostler team create desk --members gia,enzo --org bella")]
    Create(create::TeamCreateArgs),
    /// Add an agent to a team
    #[command(after_help = "\
Examples:
  ostler team add review legal
  ostler team add review gia --org bella --leader")]
    Add(members::TeamAddArgs),
    /// Remove an agent from a team; it keeps running
    #[command(after_help = "\
Examples:
  ostler team remove review legal
  ostler team remove review legal --json")]
    Remove(members::TeamMemberArgs),
    /// Ask the leader of a team, or all members at the same time
    #[command(after_help = "\
Examples:
  ostler team ask review \"May we ship this?\"
  ostler team ask review \"May we ship this?\" --council --quorum 2 --timeout 30s")]
    Ask(ask::TeamAskArgs),
    /// Send a message to every member of a team
    #[command(after_help = "\
Examples:
  ostler team broadcast review \"We ship at noon\"
  ostler team broadcast review \"We ship at noon\" --type notice --json")]
    Broadcast(broadcast::TeamBroadcastArgs),
    /// Dissolve a team and stop its agents
    #[command(after_help = "\
Examples:
  ostler team stop review
  ostler team stop review --json")]
    Stop(stop::TeamStopArgs),
}

pub(crate) async fn run(command: &TeamCommand) -> anyhow::Result<()> {
    match command {
        TeamCommand::Ls(args) => ls::run(args).await,
        TeamCommand::Create(args) => create::run(args).await,
        TeamCommand::Add(args) => members::add(args).await,
        TeamCommand::Remove(args) => members::remove(args).await,
        TeamCommand::Ask(args) => ask::run(args).await,
        TeamCommand::Broadcast(args) => broadcast::run(args).await,
        TeamCommand::Stop(args) => stop::run(args).await,
    }
}

/// Starts those members of a team that can run in this process, and returns all of them. The
/// request that follows says whether there is such a team.
async fn start_members(queues: &QueueApi, name: &TeamName) -> anyhow::Result<BTreeSet<AgentName>> {
    let teams: Page<Team> = queues.org.get(&["queue-teams"]).await?;
    let team = teams.items.iter().find(|team| team.name == *name);
    let members = team.map(|team| team.members().clone()).unwrap_or_default();
    queues.start_available(&members).await?;
    Ok(members)
}
