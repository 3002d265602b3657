//! `ostler data`: the business data that an org's tools read.

pub(crate) mod import;
mod ls;
mod media_files;
pub(crate) mod report;
mod rm;
mod show;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// Import a CSV, JSON or vCard file; importing it again changes nothing
    #[command(after_help = "\
Examples:
  ostler data import products.csv --kind products --org bella --dry-run
  ostler data import orders.json --kind orders --org bella
  ostler data import people.vcf --kind contacts --org bella --skip-refused
  ostler data import list.csv --kind events --key name --org bella

The first row of a CSV file names the columns. See docs/PEOPLE_AND_DATA.md for them.")]
    Import(import::DataImportArgs),
    /// List the data of a kind
    #[command(after_help = "\
Examples:
  ostler data ls products --org bella
  ostler data ls orders --org bella --json")]
    Ls(ls::DataLsArgs),
    /// Show one item
    #[command(after_help = "\
Examples:
  ostler data show order 1234 --org bella
  ostler data show product B-1 --org bella --json")]
    Show(show::DataShowArgs),
    /// Remove one item
    #[command(after_help = "\
Examples:
  ostler data rm product B-1 --org bella")]
    Rm(rm::DataRmArgs),
}

pub(crate) async fn run(command: &DataCommand) -> anyhow::Result<()> {
    match command {
        DataCommand::Import(args) => import::run(args).await,
        DataCommand::Ls(args) => ls::run(args).await,
        DataCommand::Show(args) => show::run(args).await,
        DataCommand::Rm(args) => rm::run(args).await,
    }
}
