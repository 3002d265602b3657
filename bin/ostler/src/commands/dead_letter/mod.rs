//! `ostler dead-letter`: messages that could not be answered or sent.

mod abandon;
mod ls;
mod replay;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use ostler_api::dead_letter::DeadLetter;
use ostler_domain::id::{InboxId, OutboxId};

use super::args::{OrgArgs, match_id};
use crate::api_client::OrgApi;

/// The most dead letters that are listed.
const LIST_LIMIT: usize = 100;

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
async fn find(org: &OrgApi, text: &str) -> anyhow::Result<String> {
    let (mut inbox, mut outbox): (Vec<InboxId>, Vec<OutboxId>) = (Vec::new(), Vec::new());
    for letter in org.list::<DeadLetter>(&["dead-letters"], &[], LIST_LIMIT).await? {
        inbox.extend(letter.id.parse::<InboxId>());
        outbox.extend(letter.id.parse::<OutboxId>());
    }
    if let Some(id) = match_id::<InboxId>(text, &inbox)? {
        return Ok(id.to_string());
    }
    let id: Option<OutboxId> = match_id(text, &outbox)?;
    id.map(|id| id.to_string()).with_context(|| {
        let (name, slug) = (&org.org.name, &org.org.slug);
        format!("{name} has no dead letter {text}; see `ostler dead-letter ls --org {slug}`")
    })
}
