//! `ostler mcp show`.

use ostler_domain::tool::org_tools::OrgToolKind;

use super::McpArgs;
use crate::api_client::open_org;
use crate::commands::tools::definition;

pub(super) async fn run(args: &McpArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let server = definition::find(&org, OrgToolKind::Mcp, &args.name).await?;
    definition::print(&server, &args.target.output)
}
