//! `ostler tools show`.

use clap::Args;
use ostler_domain::tool::org_tools::OrgToolKind;

use super::definition;
use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Name of the tool
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &ShowArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    let stored = operator.org(&org).own_tool(OrgToolKind::Http, &args.name).await?;
    definition::print(&stored.tool, &args.target.output)
}
