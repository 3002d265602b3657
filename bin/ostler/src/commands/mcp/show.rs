//! `ostler mcp show`.

use ostler_domain::tool::org_tools::OrgToolKind;

use super::McpArgs;
use crate::commands::operator::open_org;
use crate::commands::tools::definition;

pub(super) async fn run(args: &McpArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    let stored = operator.org(&org).own_tool(OrgToolKind::Mcp, &args.name).await?;
    definition::print(&stored.tool, &args.target.output)
}
