//! `ostler integration disconnect`.

use clap::Args;
use ostler_api::integration::ServiceConnection;

use super::print_connection;
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;

#[derive(Debug, Args)]
pub(crate) struct DisconnectArgs {
    /// Service
    #[arg(value_name = "SERVICE")]
    service: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &DisconnectArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let disconnected: ServiceConnection =
        org.post(&["services", &args.service, "disconnect"], &()).await?;
    print_connection(&disconnected, &args.target.output, "is disconnected")
}
