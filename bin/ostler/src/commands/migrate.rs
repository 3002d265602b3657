//! `ostler migrate`: creates the tables of a database or updates them.

use clap::Args;
use ostler_store::{SCHEMA_VERSION, Store};

use super::args::InstallationArgs;
use crate::installation::Installation;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler migrate
  ostler migrate --database sqlite:ostler.db
  OSTLER_DATABASE_URL=postgres://ostler@localhost/ostler ostler migrate")]
pub(crate) struct MigrateArgs {
    #[command(flatten)]
    installation: InstallationArgs,
}

pub(crate) async fn run(args: &MigrateArgs) -> anyhow::Result<()> {
    let from =
        Store::connect(&Installation::find(&args.installation)?.database())?.migrate().await?;
    if from == SCHEMA_VERSION {
        anstream::println!("the database is already at schema version {from}");
    } else {
        anstream::println!("migrated the database from schema version {from} to {SCHEMA_VERSION}");
    }
    Ok(())
}
