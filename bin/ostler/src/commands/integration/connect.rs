//! `ostler integration connect`.

use clap::Args;
use ostler_api::integration::{ConnectServiceRequest, ServiceConnection};
use ostler_domain::secret::SecretRef;

use super::print_connection;
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::screen::print_notes;

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
    let org = open_org(&args.target).await?;
    let request = ConnectServiceRequest { secret: args.secret.clone() };
    let connected: ServiceConnection =
        org.post(&["services", &args.service, "connect"], &request).await?;
    print_notes(&connected.notes);
    print_connection(
        &connected,
        &args.target.output,
        "is connected; agents get its tools from their next turn on",
    )
}
