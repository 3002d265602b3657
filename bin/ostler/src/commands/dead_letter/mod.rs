//! `ostler dead-letter`: messages that could not be answered or sent.

mod abandon;
mod ls;
mod replay;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use ostler_domain::id::{InboxId, OutboxId};
use ostler_domain::org::Org;
use ostler_store::DeadLetterId;

use super::args::{OrgArgs, match_id};
use super::operator::Operator;

/// The most dead letters that are listed.
const LIST_LIMIT: u32 = 100;

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
  ostler dead-letter abandon out_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella \\
      --reason \"the number is gone\"")]
    Abandon(abandon::AbandonArgs),
}

/// The dead letter that a command works on.
#[derive(Debug, Args)]
pub(crate) struct DeadLetterArgs {
    /// Message, by id or the end of its id
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

/// Finds a message in the inbox or the outbox by its id or the end of it.
async fn find(operator: &Operator, org: &Org, text: &str) -> anyhow::Result<DeadLetterId> {
    let (mut inbox, mut outbox) = (Vec::new(), Vec::new());
    for dead_letter in operator.org(org).dead_letters(None, LIST_LIMIT).await? {
        match dead_letter.id {
            DeadLetterId::Inbox(id) => inbox.push(id),
            DeadLetterId::Outbox(id) => outbox.push(id),
        }
    }
    if let Some(id) = match_id::<InboxId>(text, &inbox)? {
        return Ok(DeadLetterId::Inbox(id));
    }
    let id: Option<OutboxId> = match_id(text, &outbox)?;
    id.map(DeadLetterId::Outbox).with_context(|| {
        format!(
            "{} has no dead letter {text}; see `ostler dead-letter ls --org {}`",
            org.name, org.slug
        )
    })
}

/// Formats the id of a message in the inbox or the outbox.
fn format_id(id: DeadLetterId) -> String {
    match id {
        DeadLetterId::Inbox(id) => id.to_string(),
        DeadLetterId::Outbox(id) => id.to_string(),
    }
}
