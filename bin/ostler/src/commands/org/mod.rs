//! `ostler org`: organizations.

pub(super) mod tree;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum OrgCommand {
    /// Show the org tree of a world file with business layers, and the guardrail matrix
    #[command(after_help = "\
Examples:
  ostler org tree --world examples/harbour.toml
  ostler org tree --world examples/harbour.toml --json")]
    Tree(tree::OrgTreeArgs),
}

pub(crate) fn run(command: &OrgCommand) -> anyhow::Result<()> {
    match command {
        OrgCommand::Tree(args) => tree::run(args),
    }
}
