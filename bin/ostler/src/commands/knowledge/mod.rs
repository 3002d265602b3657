//! `ostler knowledge`: the documents that the agents of an org may read.

mod add;
mod ls;
mod rm;

use clap::Subcommand;

use super::args::OrgArgs;

/// The most documents that are listed.
const LIST_LIMIT: usize = 200;

#[derive(Debug, Subcommand)]
pub(crate) enum KnowledgeCommand {
    /// Add a document: Markdown, plain text, or the text of a PDF
    #[command(after_help = "\
Examples:
  ostler knowledge add menu.md --org bella --tags menu,prices
  ostler knowledge add allergens.pdf --org bella --title \"Allergens\"")]
    Add(add::KnowledgeAddArgs),
    /// List documents
    #[command(after_help = "\
Examples:
  ostler knowledge ls --org bella")]
    Ls(OrgArgs),
    /// Remove a document
    #[command(after_help = "\
Examples:
  ostler knowledge rm doc_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella")]
    Rm(rm::KnowledgeRmArgs),
}

pub(crate) async fn run(command: &KnowledgeCommand) -> anyhow::Result<()> {
    match command {
        KnowledgeCommand::Add(args) => add::run(args).await,
        KnowledgeCommand::Ls(args) => ls::run(args).await,
        KnowledgeCommand::Rm(args) => rm::run(args).await,
    }
}
