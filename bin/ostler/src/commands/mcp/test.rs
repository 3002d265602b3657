//! `ostler mcp test`.

use anyhow::bail;
use ostler_domain::tool::org_tools::{OrgTool, OrgToolKind};
use serde_json::json;

use super::McpArgs;
use crate::commands::operator::open_org;
use crate::screen::{Cell, HEADER, WARNING, print_rows};
use crate::tool_set;

pub(super) async fn run(args: &McpArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    let stored = operator.org(&org).own_tool(OrgToolKind::Mcp, &args.name).await?;
    let OrgTool::Mcp(server) = &stored.tool else { bail!("{} is no MCP server", args.name) };
    let servers = tool_set::org_tools(&operator.installation)?.start_server(org.id, server).await;
    let (tools, problems) = (servers.tools(), servers.problems());
    servers.shutdown().await;
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    if args.target.output.json {
        let tools: Vec<_> = tools.iter().map(|tool| &tool.definition().spec).collect();
        return crate::commands::print_json(&json!({"tools": tools, "problems": problems}));
    }
    if tools.is_empty() {
        bail!(
            "no tools: {}",
            if problems.is_empty() { "it lists none".to_owned() } else { problems.join("; ") }
        );
    }
    let header = ["tool", "risk", "price", "description"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(tools.iter().map(|tool| {
        let definition = tool.definition();
        let spec = &definition.spec;
        let line = definition.description.lines().next().unwrap_or_default();
        let (risk, price) = (spec.risk.name().into(), spec.price.to_string().into());
        [spec.name.as_str().into(), risk, price, line.into()]
    }));
    print_rows(&rows);
    for problem in problems {
        anstream::println!("{WARNING}problem{WARNING:#}  {problem}");
    }
    Ok(())
}
