//! `ostler integration connect`.

use anyhow::bail;
use clap::Args;
use ostler_domain::org::Org;
use ostler_domain::secret::SecretRef;
use ostler_domain::tool::Integration;

use super::print_integration;
use crate::commands::args::OrgArgs;
use crate::commands::operator::{Operator, open_org};
use crate::secrets;

/// The services that need a key.
const SERVICES_WITH_KEY: [&str; 1] = ["unsplash"];

#[derive(Debug, Args)]
pub(crate) struct ConnectArgs {
    /// Service
    #[arg(value_name = "SERVICE")]
    service: String,
    /// Place of the service's key: env:NAME or file:PATH
    #[arg(long, value_name = "PLACE")]
    secret: Option<SecretRef>,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &ConnectArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    let secret = find_key(&operator, &org, args).await?;
    let connected = operator.org(&org).connect(&args.service, secret).await?;
    print_integration(
        &connected,
        args.target.output.json,
        "is connected; agents get its tools from their next turn on",
    )
}

/// Returns the place of the service's key: the one that --secret names, otherwise
/// the variable of the org or of the operator, whichever is set.
async fn find_key(
    operator: &Operator,
    org: &Org,
    args: &ConnectArgs,
) -> anyhow::Result<Option<SecretRef>> {
    let read_key =
        |at: &SecretRef| secrets::service_secrets(&operator.installation).read_key(org.id, at);
    if let Some(at) = &args.secret {
        secrets::check_reference(&args.service, read_key(at))?;
        return Ok(Some(at.clone()));
    }
    let service = Integration::new(&args.service);
    let known = operator.store.org(org.id).integration_by_service(&service).await?;
    let has_key = known.is_some_and(|integration| integration.secret.is_some());
    let name = service.to_string();
    if has_key || !SERVICES_WITH_KEY.contains(&name.as_str()) {
        return Ok(None);
    }
    let (own, shared) = (secrets::org_variable(org.id, &name), secrets::shared_unsplash_key());
    let found = [&own, &shared].into_iter().find(|at| read_key(at).is_ok());
    let Some(found) = found else {
        let variable = |at: &SecretRef| at.to_string().replacen("env:", "", 1);
        bail!(
            "{name} needs a key; set {} for {} alone or {} for every org, here and where the \
             agents run, or name its place with --secret",
            variable(&own),
            org.name,
            variable(&shared)
        );
    };
    Ok(Some(found.clone()))
}
