//! `ostler tools`: the tools that exist, those that an org has defined, and which of them an
//! agent may use.

mod add;
pub(super) mod definition;
mod explain;
mod ls;
mod rm;
mod show;
mod test;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// Show which tools an agent may use, and the first rule that removed each other tool
    #[command(after_help = "\
Examples:
  ostler tools explain --session rosa
  ostler tools explain --session ses_…9d --agent enzo --tool refund_payment
  ostler tools explain --session rosa --org bella --json
  ostler tools explain --agent enzo --org bella
  ostler tools explain --world examples/harbour.toml --agent gia
  ostler tools explain --world examples/harbour.toml --agent enzo --session rosa")]
    Explain(explain::ExplainArgs),
    /// List the tools that agents can have, and the services that they need
    #[command(after_help = "\
Examples:
  ostler tools ls
  ostler tools ls --org bella --json")]
    Ls(ls::ToolsLsArgs),
    /// Add an HTTP tool to an org, or replace the one of that name
    #[command(after_help = "\
Examples:
  ostler tools add shop_order.toml --org bella
  ostler tools add - --org bella < shop_order.toml

A tool that looks an order up:
  name = \"shop_order\"
  description = \"Looks up an order in the shop by its number.\"
  risk = \"read\"                # read, write or destructive
  audience = \"customer\"        # also in conversations with customers
  url = \"https://shop.example/api/orders/{order}\"
  headers = { Authorization = \"Bearer file:shop_token\" }

  [input]
  required = [\"order\"]
  properties.order = { type = \"string\", description = \"The order number\" }

The file stores where a secret is, never the secret itself. docs/TOOLS.md describes every
field.")]
    Add(add::AddArgs),
    /// Show the arguments of a built-in tool, or the definition of an HTTP tool as TOML
    #[command(after_help = "\
Examples:
  ostler tools show refund_payment
  ostler tools show shop_order --org bella
  ostler tools show shop_order --org bella --json")]
    Show(show::ShowArgs),
    /// Remove an HTTP tool from an org
    #[command(after_help = "\
Examples:
  ostler tools rm shop_order --org bella")]
    Rm(rm::RmArgs),
    /// Call a tool that the org has defined, and show what happens
    #[command(after_help = "\
Examples:
  ostler tools test shop_order --org bella --arguments '{\"order\": \"1001\"}'
  ostler tools test mcp__stock__count --org bella \\
      --arguments '{\"item\": \"bell\"}' --json

The call is real: a tool that changes something changes it.")]
    Test(test::TestArgs),
}

pub(crate) async fn run(command: &ToolsCommand) -> anyhow::Result<()> {
    match command {
        ToolsCommand::Explain(args) => explain::run(args).await,
        ToolsCommand::Ls(args) => ls::run(args).await,
        ToolsCommand::Add(args) => add::run(args).await,
        ToolsCommand::Show(args) => show::run(args).await,
        ToolsCommand::Rm(args) => rm::run(args).await,
        ToolsCommand::Test(args) => test::run(args).await,
    }
}
