//! `ostler team`: teams of queue agents.

mod ask;
mod broadcast;
mod create;
mod ls;
mod stop;

use clap::Subcommand;

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
  ostler team create try --members ada,bob --register echo")]
    Create(create::TeamCreateArgs),
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
        TeamCommand::Ask(args) => ask::run(args).await,
        TeamCommand::Broadcast(args) => broadcast::run(args).await,
        TeamCommand::Stop(args) => stop::run(args).await,
    }
}
