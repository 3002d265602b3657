//! `ostler key revoke`.

use clap::Args;
use ostler_domain::id::KeyId;
use serde_json::json;

use crate::commands::args::OrgArgs;
use crate::commands::operator::{open_org, print_result};

#[derive(Debug, Args)]
pub(crate) struct KeyRevokeArgs {
    /// Key, by id
    #[arg(value_name = "KEY")]
    key: KeyId,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &KeyRevokeArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    operator.org(&org).revoke_key(args.key).await?;
    let done = json!({"id": args.key, "done": "revoked"});
    print_result(&args.target.output, &done, &format!("{} is revoked", args.key))
}
