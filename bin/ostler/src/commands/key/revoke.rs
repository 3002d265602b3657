//! `ostler key revoke`.

use anyhow::Context as _;
use clap::Args;
use ostler_domain::id::KeyId;
use ostler_domain::org::Org;
use serde_json::json;

use super::LIST_LIMIT;
use crate::commands::args::{OrgArgs, match_id};
use crate::commands::operator::{Operator, open_org, print_result};

#[derive(Debug, Args)]
pub(crate) struct KeyRevokeArgs {
    /// Key, by name, id or the end of its id
    #[arg(value_name = "KEY")]
    key: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &KeyRevokeArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    let id = find(&operator, &org, &args.key).await?;
    operator.org(&org).revoke_key(id).await?;
    let done = json!({"id": id, "done": "revoked"});
    print_result(&args.target.output, &done, &format!("{id} is revoked"))
}

/// Finds a key by its name, its id or the end of its id.
async fn find(operator: &Operator, org: &Org, name: &str) -> anyhow::Result<KeyId> {
    let keys = operator.org(org).keys(None, LIST_LIMIT).await?;
    let mut named = keys.iter().filter(|key| key.name == name && key.revoked_at.is_none());
    if let (Some(key), None) = (named.next(), named.next()) {
        return Ok(key.id);
    }
    let known: Vec<KeyId> = keys.iter().map(|key| key.id).collect();
    match_id(name, &known)?.with_context(|| {
        format!("{} has no key `{name}`; see `ostler key ls --org {}`", org.name, org.slug)
    })
}
