//! `ostler unknown-outcome`: tool calls that may or may not have run.

mod ls;
mod resolve;

use clap::Subcommand;

use super::args::OrgArgs;

/// The most calls that are listed.
const LIST_LIMIT: usize = 100;

#[derive(Debug, Subcommand)]
pub(crate) enum UnknownOutcomeCommand {
    /// List tool calls whose outcome is unknown
    #[command(after_help = "\
Examples:
  ostler unknown-outcome ls --org bella

Messages that may or may not have been sent are in `ostler dead-letter ls`.")]
    Ls(OrgArgs),
    /// Record the outcome of a call; the agent continues with it
    #[command(after_help = "\
Examples:
  ostler unknown-outcome resolve cal_01jd0v4k9pf2ht6z3m8w5x7ybc \\
      \"The payment was made once.\" --org bella")]
    Resolve(resolve::ResolveArgs),
}

pub(crate) async fn run(command: &UnknownOutcomeCommand) -> anyhow::Result<()> {
    match command {
        UnknownOutcomeCommand::Ls(args) => ls::run(args).await,
        UnknownOutcomeCommand::Resolve(args) => resolve::run(args).await,
    }
}
