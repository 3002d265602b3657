//! `ostler contact`: what an org keeps of one person.

mod delete;
mod export;

use anyhow::anyhow;
use ostler_domain::id::OrgId;
use ostler_store::Store;

use crate::cli::{Contact, ContactOf};

pub(crate) async fn run(command: &Contact) -> anyhow::Result<()> {
    match command {
        Contact::Export(export) => export::run(export).await,
        Contact::Delete(delete) => delete::run(delete).await,
    }
}

/// The database, and the org that was named in it.
async fn open(of: &ContactOf) -> anyhow::Result<(Store, OrgId)> {
    let store = Store::open(&of.database.url).await?;
    let orgs = store.orgs().await?;
    let named = orgs.iter().find(|org| org.slug == of.org || org.id.to_string() == of.org);
    match named {
        Some(org) => Ok((store, org.id)),
        None => {
            let slugs: Vec<&str> = orgs.iter().map(|org| org.slug.as_str()).collect();
            Err(anyhow!("no org `{}`; there are: {}", of.org, slugs.join(", ")))
        }
    }
}
