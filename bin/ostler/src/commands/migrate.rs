//! `ostler migrate`: makes the tables of a database, or brings them up to date.

use ostler_store::{SCHEMA_VERSION, Store};

use crate::cli::Migrate;
use crate::home::Home;

pub(crate) async fn run(command: &Migrate) -> anyhow::Result<()> {
    let from = Store::connect(&Home::find(&command.at)?.database())?.migrate().await?;
    if from == SCHEMA_VERSION {
        anstream::println!("the database is at schema version {from} already");
    } else {
        anstream::println!("migrated the database from schema version {from} to {SCHEMA_VERSION}");
    }
    Ok(())
}
