//! `ostler mcp ls`.

use jiff::Timestamp;
use ostler_api::tool::DefinedToolKind;
use ostler_domain::tool::mcp::McpServer;
use serde_json::json;

use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::tools::definition;
use crate::screen::{Cell, HEADER, NextCommand, print_next, print_rows};

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let org = open_org(args).await?;
    let mut servers: Vec<(McpServer, Timestamp)> = Vec::new();
    for one in definition::all(&org).await? {
        if one.kind == DefinedToolKind::McpServer {
            let saved_at = Timestamp::from_millisecond(one.saved_at.as_millis());
            let server = serde_json::from_value(one.definition)?;
            servers.push((server, saved_at.unwrap_or_default()));
        }
    }
    if args.output.json {
        let all: Vec<_> = servers
            .iter()
            .map(|(server, saved_at)| json!({"server": server, "saved_at": saved_at}))
            .collect();
        return crate::commands::print_json(&all);
    }
    if servers.is_empty() {
        anstream::println!("{} has no MCP servers", org.org.name);
        print_next([NextCommand::new(format!("ostler mcp add FILE --org {}", org.org.slug), "")]);
        return Ok(());
    }
    let header = ["server", "for", "tools", "reached by"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(servers.iter().map(|(server, _)| {
        let tools = server.tools.as_ref().map_or("all".to_owned(), |tools| tools.join(", "));
        let reached_by = server.url.as_deref().or(server.command.as_deref()).unwrap_or_default();
        [
            server.name.as_str().into(),
            server.audience.name().into(),
            tools.into(),
            reached_by.into(),
        ]
    }));
    print_rows(&rows);
    print_next([NextCommand::new(format!("ostler mcp test NAME --org {}", org.org.slug), "")]);
    Ok(())
}
