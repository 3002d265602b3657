//! `ostler key`: keys for programs that use the HTTP API.

mod create;
mod ls;
mod revoke;

use clap::Subcommand;

use super::args::OrgArgs;

/// The most keys that are listed.
const LIST_LIMIT: usize = 200;

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Create a key; it is shown only once
    #[command(after_help = "\
Examples:
  ostler key create \"night shift\" --org bella
  ostler key create reporting --org bella --role viewer --days 30
  ostler key create importer --org bella --role admin --scope knowledge:write

A key expires after 90 days unless --days or --never-expires says otherwise. Scopes only
narrow what the role allows. Nobody makes a key with more rights than their own, and a
key that a key makes has its scopes or fewer, and does not outlive it.")]
    Create(create::KeyCreateArgs),
    /// List keys, including revoked ones
    #[command(after_help = "\
Examples:
  ostler key ls --org bella")]
    Ls(OrgArgs),
    /// Revoke a key
    #[command(after_help = "\
Examples:
  ostler key revoke key_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella")]
    Revoke(revoke::KeyRevokeArgs),
}

pub(crate) async fn run(command: &KeyCommand) -> anyhow::Result<()> {
    match command {
        KeyCommand::Create(args) => create::run(args).await,
        KeyCommand::Ls(args) => ls::run(args).await,
        KeyCommand::Revoke(args) => revoke::run(args).await,
    }
}
