//! `ostler audit`: who changed what.

mod ls;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// List changes, newest first
    #[command(after_help = "\
Examples:
  ostler audit ls --org bella
  ostler audit ls --org bella --actor terminal --since 2026-11-01
  ostler audit ls --org bella --object ada@example.com --json
  ostler audit ls --action import_data --since 24h")]
    Ls(ls::AuditLsArgs),
}

pub(crate) async fn run(command: &AuditCommand) -> anyhow::Result<()> {
    match command {
        AuditCommand::Ls(args) => ls::run(args).await,
    }
}
