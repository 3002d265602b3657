//! `ostler integration disconnect`.

use clap::Args;

use super::print_integration;
use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;

#[derive(Debug, Args)]
pub(crate) struct DisconnectArgs {
    /// Service
    #[arg(value_name = "SERVICE")]
    service: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &DisconnectArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    let disconnected = operator.org(&org).disconnect(&args.service).await?;
    print_integration(&disconnected, args.target.output.json, "is disconnected")
}
