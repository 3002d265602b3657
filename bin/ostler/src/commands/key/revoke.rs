//! `ostler key revoke`.

use clap::Args;
use ostler_api::key::ListedKey;
use ostler_domain::id::KeyId;
use serde_json::json;

use super::LIST_LIMIT;
use crate::api_client::{Nothing, OrgApi, not_here, open_org};
use crate::commands::args::{OrgArgs, match_id};
use crate::commands::operator::print_result;

#[derive(Debug, Args)]
pub(crate) struct KeyRevokeArgs {
    /// Key, by name, id or the end of its id
    #[arg(value_name = "KEY")]
    key: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &KeyRevokeArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let id = find(&org, &args.key).await?;
    org.delete::<Nothing>(&["keys", &id.to_string()]).await?;
    let done = json!({"id": id, "done": "revoked"});
    print_result(&args.target.output, &done, &format!("{id} is revoked"))
}

/// Finds a key by its name, its id or the end of its id.
async fn find(org: &OrgApi, name: &str) -> anyhow::Result<KeyId> {
    let keys: Vec<ListedKey> = org.list(&["keys"], &[], LIST_LIMIT).await?;
    let mut named = keys.iter().filter(|key| key.name == name && key.revoked_at.is_none());
    if let (Some(key), None) = (named.next(), named.next()) {
        return Ok(key.id);
    }
    let known: Vec<KeyId> = keys.iter().map(|key| key.id).collect();
    match_id(name, &known)?.ok_or_else(|| {
        let (org, slug) = (&org.org.name, &org.org.slug);
        not_here(format!("{org} has no key `{name}`; see `ostler key ls --org {slug}`"))
    })
}
