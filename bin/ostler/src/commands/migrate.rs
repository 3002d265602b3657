//! `ostler migrate`: makes the tables of a database, or brings them up to date.

use ostler_store::{SCHEMA_VERSION, Store};

pub(crate) async fn run(url: &str) -> anyhow::Result<()> {
    let from = Store::connect(url)?.migrate().await?;
    if from == SCHEMA_VERSION {
        anstream::println!("the database is at schema version {from} already");
    } else {
        anstream::println!("migrated the database from schema version {from} to {SCHEMA_VERSION}");
    }
    Ok(())
}
