//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Runs AI agents inside harnesses: scope, budget, escalation, isolation and
/// coordination, enforced by the runtime and not by the prompt.
#[derive(Debug, Parser)]
#[command(
    version,
    arg_required_else_help = true,
    after_help = "\
Examples:
  ostler demo
  ostler layer --world examples/harbour.toml
  ostler tools explain --world examples/harbour.toml --agent gia --session rosa"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the sample world: its orgs, its agents, and what they may do
    #[command(after_help = "\
Examples:
  ostler demo")]
    Demo,
    /// Show the org tree with business layers, and the guardrail matrix
    #[command(after_help = "\
Examples:
  ostler layer --world examples/harbour.toml
  ostler layer --world examples/harbour.toml --json")]
    Layer(Layer),
    /// Look at tools
    #[command(subcommand)]
    Tools(Tools),
}

#[derive(Debug, Args)]
pub(crate) struct Layer {
    #[command(flatten)]
    pub(crate) world: WorldFile,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Tools {
    /// Show which tools an agent has, and the first rule that removed the rest
    #[command(after_help = "\
Examples:
  ostler tools explain --world examples/harbour.toml --agent gia
  ostler tools explain --world examples/harbour.toml --agent gia --session rosa
  ostler tools explain --world examples/harbour.toml --agent enzo --tool refund_payment
  ostler tools explain --world examples/harbour.toml --agent gia --json")]
    Explain(Explain),
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    #[command(flatten)]
    pub(crate) world: WorldFile,
    /// The agent, by its slug
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: String,
    /// A session of the agent's org, by its name; without one, a fresh session
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// One tool only, stage by stage
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct WorldFile {
    /// A TOML file with orgs, agents and policies; examples/harbour.toml is one
    #[arg(long = "world", value_name = "FILE")]
    pub(crate) path: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Output {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
