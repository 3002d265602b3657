//! `ostler contact`: everything that an org stores about a contact.

mod delete;
mod export;

use clap::{Args, Subcommand};
use ostler_domain::id::ContactId;
use ostler_domain::id::OrgId;
use ostler_store::Store;

use super::args::InstallationArgs;
use crate::installation::Installation;

#[derive(Debug, Subcommand)]
pub(crate) enum ContactCommand {
    /// Write everything that an org stores about a contact as one JSON document
    #[command(after_help = "\
Examples:
  ostler contact export con_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella
  ostler contact export con_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella --out rosa.json --files rosa")]
    Export(export::ContactExportArgs),
    /// Delete everything that an org stores about a contact; without --yes, only count it
    #[command(after_help = "\
Examples:
  ostler contact delete con_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella
  ostler contact delete con_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella --yes")]
    Delete(delete::ContactDeleteArgs),
}

/// The contact that a command works on.
#[derive(Debug, Args)]
pub(crate) struct ContactArgs {
    /// Contact, by id
    #[arg(value_name = "CONTACT")]
    contact: ContactId,
    /// Org, by slug or id
    #[arg(long, value_name = "ORG")]
    org: String,
    #[command(flatten)]
    installation: InstallationArgs,
}

pub(crate) async fn run(command: &ContactCommand) -> anyhow::Result<()> {
    match command {
        ContactCommand::Export(args) => export::run(args).await,
        ContactCommand::Delete(args) => delete::run(args).await,
    }
}

/// Opens the store and finds the org that the arguments name.
async fn open(args: &ContactArgs) -> anyhow::Result<(Store, OrgId)> {
    let store = Store::open(&Installation::find(&args.installation)?.database()).await?;
    let org = super::find_org(&store, &args.org).await?;
    Ok((store, org.id))
}
