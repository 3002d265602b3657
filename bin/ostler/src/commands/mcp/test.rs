//! `ostler mcp test`.

use anyhow::bail;
use ostler_api::tool::McpServerTest;
use serde_json::json;

use super::McpArgs;
use crate::api_client::open_org;
use crate::screen::{Cell, HEADER, WARNING, print_rows};

pub(super) async fn run(args: &McpArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let McpServerTest { tools, problems } =
        org.post(&["mcp-servers", &args.name, "test"], &()).await?;
    if args.target.output.json {
        let tools: Vec<_> = tools.iter().map(|tool| &tool.spec).collect();
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
        let spec = &tool.spec;
        let line = tool.description.lines().next().unwrap_or_default();
        let (risk, price) = (spec.risk.name().into(), spec.price.to_string().into());
        [spec.name.as_str().into(), risk, price, line.into()]
    }));
    print_rows(&rows);
    for problem in problems {
        anstream::println!("{WARNING}problem{WARNING:#}  {problem}");
    }
    Ok(())
}
