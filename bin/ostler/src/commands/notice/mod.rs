//! `ostler notice`: the notices to the owner of an org. They are listed here whether or
//! not a chat or a mail carried them as well.

mod ls;
mod read;

use clap::Subcommand;

use super::args::OrgArgs;

/// The most notices that are listed, or marked as read by `--all`.
const LIST_LIMIT: u32 = 100;

#[derive(Debug, Subcommand)]
pub(crate) enum NoticeCommand {
    /// List the unread notices of an org's owner, oldest first
    #[command(after_help = "\
Examples:
  ostler notice ls --org bella
  ostler notice ls --org bella --json")]
    Ls(OrgArgs),
    /// Mark notices as read
    #[command(after_help = "\
Examples:
  ostler notice read ntc_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella
  ostler notice read --all --org bella")]
    Read(read::NoticeReadArgs),
}

pub(crate) async fn run(command: &NoticeCommand) -> anyhow::Result<()> {
    match command {
        NoticeCommand::Ls(args) => ls::run(args).await,
        NoticeCommand::Read(args) => read::run(args).await,
    }
}
