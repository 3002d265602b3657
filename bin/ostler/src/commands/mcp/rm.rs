//! `ostler mcp rm`.

use ostler_domain::tool::org_tools::OrgToolKind;
use serde_json::json;

use super::McpArgs;
use crate::commands::operator::{open_org, print_result};

pub(super) async fn run(args: &McpArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    operator.org(&org).remove_tool(OrgToolKind::Mcp, &args.name).await?;
    let json = json!({"org": org.id, "name": args.name, "change": "removed"});
    let name = &args.name;
    let text = format!("MCP server {name} removed; agents lose its tools from their next turn on");
    print_result(&args.target.output, &json, &text)
}
