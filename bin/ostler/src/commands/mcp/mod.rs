//! `ostler mcp`: the MCP servers of an org.

mod add;
mod ls;
mod rm;
mod show;
mod test;

use clap::{Args, Subcommand};

use super::args::OrgArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Add an MCP server to an org, or replace the one of that name
    #[command(after_help = "\
Examples:
  ostler mcp add stock.toml --org bella
  ostler mcp add - --org bella < stock.toml

A server that is a program on this machine:
  name = \"stock\"
  command = \"stock-mcp\"
  args = [\"--stdio\"]
  env = { STOCK_TOKEN = \"file:stock_token\" }
  tools = [\"count\", \"reserve\"]
  risk = { count = \"read\", reserve = \"write\" }

A server on the network has a `url` and `headers` instead of `command`, `args` and `env`.
docs/TOOLS.md describes every field.")]
    Add(add::AddArgs),
    /// List the MCP servers of an org
    #[command(after_help = "\
Examples:
  ostler mcp ls --org bella
  ostler mcp ls --org bella --json")]
    Ls(OrgArgs),
    /// Show the definition of an MCP server as TOML
    #[command(after_help = "\
Examples:
  ostler mcp show stock --org bella")]
    Show(McpArgs),
    /// Remove an MCP server from an org
    #[command(after_help = "\
Examples:
  ostler mcp rm stock --org bella")]
    Rm(McpArgs),
    /// Start or reach an MCP server and list its tools
    #[command(after_help = "\
Examples:
  ostler mcp test stock --org bella")]
    Test(McpArgs),
}

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Name of the server
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(crate) async fn run(command: &McpCommand) -> anyhow::Result<()> {
    match command {
        McpCommand::Add(args) => add::run(args).await,
        McpCommand::Ls(args) => ls::run(args).await,
        McpCommand::Show(args) => show::run(args).await,
        McpCommand::Rm(args) => rm::run(args).await,
        McpCommand::Test(args) => test::run(args).await,
    }
}
