//! `ostler agent`: agents on queues.

mod ls;
mod send;
mod show;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// List the registered agents
    #[command(after_help = "\
Examples:
  ostler agent ls
  ostler agent ls --can review --json")]
    Ls(ls::AgentLsArgs),
    /// Show an agent: its capabilities, teams, work and queue
    #[command(after_help = "\
Examples:
  ostler agent show legal
  ostler agent show legal --json")]
    Show(show::AgentShowArgs),
    /// Send a message to an agent and print the reply
    #[command(after_help = "\
Examples:
  ostler agent send legal \"May we ship this?\"
  ostler agent send legal \"Look at this when you can\" --no-reply
  ostler agent send legal \"May we ship this?\" --type review --timeout 2m --json")]
    Send(send::AgentSendArgs),
}

pub(crate) async fn run(command: &AgentCommand) -> anyhow::Result<()> {
    match command {
        AgentCommand::Ls(args) => ls::run(args).await,
        AgentCommand::Show(args) => show::run(args).await,
        AgentCommand::Send(args) => send::run(args).await,
    }
}
