//! `ostler key create`.

use clap::Args;
use ostler_api::key::{CreatedKey, NewKeyRequest};
use ostler_domain::org::key_scope::{KeyScope, MAX_KEY_DAYS};
use ostler_domain::org::role::Role;
use serde_json::json;

use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::session::view::format_time;
use crate::screen::DIM;

#[derive(Debug, Args)]
pub(crate) struct KeyCreateArgs {
    /// Name of the key, such as the program that uses it
    #[arg(value_name = "NAME")]
    name: String,
    /// Role of the key: viewer, operator, admin or owner
    #[arg(long, value_name = "ROLE", default_value = "operator")]
    role: Role,
    /// What the key may use, such as sessions:read or knowledge:write, separated by commas: the
    /// word after the organization in a path, or * for all [default: all that its role allows]
    #[arg(long = "scope", value_name = "RESOURCE:ACCESS", value_delimiter = ',')]
    scopes: Vec<KeyScope>,
    /// Days until the key expires [default: 90, or as long as the key that makes it]
    #[arg(long, value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_KEY_DAYS)))]
    days: Option<u32>,
    /// Let the key never expire
    #[arg(long, conflicts_with = "days")]
    never_expires: bool,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &KeyCreateArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let new = NewKeyRequest {
        name: args.name.clone(),
        role: args.role,
        scopes: args.scopes.iter().cloned().collect(),
        days: args.days,
        never_expires: args.never_expires,
    };
    let CreatedKey { key, secret } = org.post(&["keys"], &new).await?;
    if args.target.output.json {
        let key = json!({"id": key.id, "name": key.name, "role": key.role, "scopes": key.scopes,
            "expires_at": key.expires_at, "secret": secret});
        return crate::commands::print_json(&key);
    }
    anstream::println!("{secret}");
    anstream::eprintln!(
        "{DIM}Copy the key now; it is not shown again. {} has the role {} in {} and {}. Try it:\n  \
         curl -H \"Authorization: Bearer {secret}\" {}/v1/me{DIM:#}",
        key.id,
        key.role,
        org.org.name,
        key.expires_at
            .map_or_else(|| "never expires".into(), |at| format!("expires {}", format_time(at))),
        org.api.web_url()
    );
    Ok(())
}
