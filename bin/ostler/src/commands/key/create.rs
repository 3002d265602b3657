//! `ostler key create`.

use std::time::Duration;

use clap::Args;
use ostler_domain::org::role::Role;
use ostler_domain::secret::ApiKeySecret;
use ostler_domain::time::Timestamp;
use ostler_runtime::deps::Clock;
use serde_json::json;

use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;
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
    /// Days until the key expires; without this it never does
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3650))]
    days: Option<u32>,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &KeyCreateArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    let secret: ApiKeySecret = format!("{PREFIX}{}", random::hex()?).parse()?;
    let lifetime = args.days.map(|days| Duration::from_secs(u64::from(days) * 86_400));
    let expires: Option<Timestamp> = lifetime.map(|lifetime| Clock::system().now() + lifetime);
    let operations = operator.org(&org);
    let id = operations.create_key(&args.name, args.role, expires, &secret).await?;
    let secret = secret.expose();
    if args.target.output.json {
        let key = json!({"id": id, "name": args.name, "role": args.role,
            "expires_at": expires, "secret": secret});
        return crate::commands::print_json(&key);
    }
    anstream::println!("{secret}");
    anstream::eprintln!(
        "{DIM}Copy the key now; it is not shown again. {id} has the role {} in {}. Try it:\n  curl -H \
         \"Authorization: Bearer {secret}\" {}/v1/me{DIM:#}",
        args.role,
        org.name,
        operator.installation.web_url()
    );
    Ok(())
}
