//! `ostler plan`: what agents want to do and ask approval for.

mod answer;
mod ls;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum PlanCommand {
    /// List the plans that wait for approval
    #[command(after_help = "\
Examples:
  ostler plan ls
  ostler plan ls --org bella --json")]
    Ls(ls::PlanLsArgs),
    /// Approve a plan; the agent carries it out
    #[command(after_help = "\
Examples:
  ostler plan approve env_01jd0v4k9pf2ht6z3m8w5x7ybc
  ostler plan approve …7ybc --json")]
    Approve(answer::PlanApproveArgs),
    /// Reject a plan; the sender of the request is told the reason
    #[command(after_help = "\
Examples:
  ostler plan reject env_01jd0v4k9pf2ht6z3m8w5x7ybc --reason \"not on a Friday\"")]
    Reject(answer::PlanRejectArgs),
}

pub(crate) async fn run(command: &PlanCommand) -> anyhow::Result<()> {
    match command {
        PlanCommand::Ls(args) => ls::run(args).await,
        PlanCommand::Approve(args) => answer::approve(args).await,
        PlanCommand::Reject(args) => answer::reject(args).await,
    }
}
