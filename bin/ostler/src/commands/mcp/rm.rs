//! `ostler mcp rm`.

use serde_json::json;

use super::McpArgs;
use crate::api_client::{Nothing, open_org};
use crate::commands::operator::print_result;

pub(super) async fn run(args: &McpArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let _: Nothing = org.delete(&["mcp-servers", &args.name]).await?;
    let json = json!({"org": org.org.id, "name": args.name, "change": "removed"});
    let name = &args.name;
    let text = format!("MCP server {name} removed; agents lose its tools from their next turn on");
    print_result(&args.target.output, &json, &text)
}
