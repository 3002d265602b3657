//! `ostler key create`.

use clap::Args;
use ostler_domain::org::key_scope::{DEFAULT_KEY_DAYS, KeyScope, KeyScopes, key_lifetime};
use ostler_domain::org::role::Role;
use ostler_domain::secret::ApiKeySecret;
use ostler_runtime::deps::Clock;
use serde_json::json;

use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;
use crate::commands::session::view::format_time;
use crate::random;
use crate::screen::DIM;
/// The prefix of every key, by which leaked keys are recognized.
const PREFIX: &str = "osk_";

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
    /// Days until the key expires
    #[arg(long, value_name = "N", default_value_t = DEFAULT_KEY_DAYS,
        value_parser = clap::value_parser!(u32).range(1..=3650))]
    days: u32,
    /// Let the key never expire
    #[arg(long, conflicts_with = "days")]
    never_expires: bool,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &KeyCreateArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    let secret: ApiKeySecret = format!("{PREFIX}{}", random::hex()?).parse()?;
    let expires_at = (!args.never_expires).then(|| Clock::system().now() + key_lifetime(args.days));
    let scopes: KeyScopes = args.scopes.iter().cloned().collect();
    let operations = operator.org(&org);
    let id =
        operations.create_key(&args.name, args.role, scopes.clone(), expires_at, &secret).await?;
    let secret = secret.expose();
    if args.target.output.json {
        let key = json!({"id": id, "name": args.name, "role": args.role,
            "scopes": scopes, "expires_at": expires_at, "secret": secret});
        return crate::commands::print_json(&key);
    }
    anstream::println!("{secret}");
    anstream::eprintln!(
        "{DIM}Copy the key now; it is not shown again. {id} has the role {} in {} and {}. Try it:\n  \
         curl -H \"Authorization: Bearer {secret}\" {}/v1/me{DIM:#}",
        args.role,
        org.name,
        expires_at
            .map_or_else(|| "never expires".into(), |at| format!("expires {}", format_time(at))),
        operator.installation.web_url()
    );
    Ok(())
}
