//! `ostler dead-letter`: messages that could not be answered or sent.

mod abandon;
mod ls;
mod replay;

use anyhow::bail;
use clap::{Args, Subcommand};
use ostler_store::DeadLetterId;

use super::args::OrgArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum DeadLetterCommand {
    /// List messages that could not be answered or sent
    #[command(after_help = "\
Examples:
  ostler dead-letter ls --org bella")]
    Ls(OrgArgs),
    /// Try a message again
    #[command(after_help = "\
Examples:
  ostler dead-letter replay out_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella")]
    Replay(DeadLetterArgs),
    /// Give a message up for good
    #[command(after_help = "\
Examples:
  ostler dead-letter abandon out_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella --reason \"the number is gone\"")]
    Abandon(abandon::AbandonArgs),
}

/// The dead letter that a command works on.
#[derive(Debug, Args)]
pub(crate) struct DeadLetterArgs {
    /// Message: an id that begins with inb_ or out_
    #[arg(value_name = "MESSAGE")]
    message: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(crate) async fn run(command: &DeadLetterCommand) -> anyhow::Result<()> {
    match command {
        DeadLetterCommand::Ls(args) => ls::run(args).await,
        DeadLetterCommand::Replay(args) => replay::run(args).await,
        DeadLetterCommand::Abandon(args) => abandon::run(args).await,
    }
}

/// Parses the id of a message in the inbox or the outbox.
fn parse_id(text: &str) -> anyhow::Result<DeadLetterId> {
    if let Ok(id) = text.parse() {
        return Ok(DeadLetterId::Inbox(id));
    }
    if let Ok(id) = text.parse() {
        return Ok(DeadLetterId::Outbox(id));
    }
    bail!("`{text}` is not the id of a message; one begins with inb_ or out_")
}

/// Formats the id of a message in the inbox or the outbox.
fn format_id(id: DeadLetterId) -> String {
    match id {
        DeadLetterId::Inbox(id) => id.to_string(),
        DeadLetterId::Outbox(id) => id.to_string(),
    }
}
