//! `ostler tools`: the tools that exist, and which of them an agent may use.

mod explain;
mod ls;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// Show which tools an agent may use, and the first rule that removed each other tool
    #[command(after_help = "\
Examples:
  ostler tools explain --session rosa
  ostler tools explain --session ses_…9d --agent enzo --tool refund_payment
  ostler tools explain --session rosa --org bella --json
  ostler tools explain --world examples/harbour.toml --agent gia
  ostler tools explain --world examples/harbour.toml --agent enzo --session rosa")]
    Explain(explain::ExplainArgs),
    /// List the tools that agents can have, and the services that they need
    #[command(after_help = "\
Examples:
  ostler tools ls
  ostler tools ls --org bella --json")]
    Ls(ls::ToolsLsArgs),
}

pub(crate) async fn run(command: &ToolsCommand) -> anyhow::Result<()> {
    match command {
        ToolsCommand::Explain(args) => explain::run(args).await,
        ToolsCommand::Ls(args) => ls::run(args).await,
    }
}
