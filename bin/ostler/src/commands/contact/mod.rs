//! `ostler contact`: what an org keeps of one person.

mod delete;
mod export;

use ostler_domain::id::OrgId;
use ostler_store::Store;

use crate::cli::{Contact, ContactOf};
use crate::home::Home;

pub(crate) async fn run(command: &Contact) -> anyhow::Result<()> {
    match command {
        Contact::Export(export) => export::run(export).await,
        Contact::Delete(delete) => delete::run(delete).await,
    }
}

/// The database, and the org that was named in it.
async fn open(of: &ContactOf) -> anyhow::Result<(Store, OrgId)> {
    let store = Store::open(&Home::find(&of.at)?.database()).await?;
    let org = super::find_org(&store, &of.org).await?;
    Ok((store, org.id))
}
