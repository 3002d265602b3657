//! `ostler credit`: the credits of an org and its ledger.

mod grant;
mod lines;
mod show;
mod spend;

use clap::Subcommand;

use super::args::OrgArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum CreditCommand {
    /// Show the available credits of an org
    #[command(after_help = "\
Examples:
  ostler credit show --org bella")]
    Show(OrgArgs),
    /// Grant credits to an org
    #[command(after_help = "\
Examples:
  ostler credit grant 500 --org bella --reference invoice-2026-17")]
    Grant(grant::GrantArgs),
    /// List the lines of the ledger, newest first
    #[command(after_help = "\
Examples:
  ostler credit lines --org bella --json")]
    Lines(OrgArgs),
    /// Show what was spent by agent, model, tool, client and day
    #[command(after_help = "\
Examples:
  ostler credit spend --org bella
  ostler credit spend --org bella --days 7 --json")]
    Spend(spend::SpendArgs),
}

pub(crate) async fn run(command: &CreditCommand) -> anyhow::Result<()> {
    match command {
        CreditCommand::Show(args) => show::run(args).await,
        CreditCommand::Grant(args) => grant::run(args).await,
        CreditCommand::Lines(args) => lines::run(args).await,
        CreditCommand::Spend(args) => spend::run(args).await,
    }
}
