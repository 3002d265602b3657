//! The MCP reference server, over both transports.

use std::net::{Ipv4Addr, TcpListener};
use std::process::Stdio;
use std::time::Duration;

use ostler_domain::tool::Trust;
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_tools::mcp::{McpHttpServer, McpServerConfig, McpServers, McpStdioServer, McpTransport};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::support::{
    TurnFixture, call, names, node, problems, reference_server_script, run, start, stdio, tool,
    within,
};

#[tokio::test]
async fn the_reference_server_works_over_stdio() {
    let servers =
        start(stdio("everything", McpStdioServer::new(node(), [reference_server_script()]))).await;
    exercise(&servers).await;
    within(servers.shutdown()).await;
}

#[tokio::test]
async fn the_reference_server_works_over_streamable_http() {
    let (_server, port) = start_http_server().await;
    let url = format!("http://127.0.0.1:{port}/mcp");
    let transport = McpTransport::Http(McpHttpServer::new(url));
    let servers = start(McpServerConfig::new("everything".parse().unwrap(), transport)).await;
    exercise(&servers).await;
    within(servers.shutdown()).await;
}

/// Starts the reference server on a free port.
async fn start_http_server() -> (Child, u16) {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let child = Command::new(node())
        .args([&reference_server_script(), "streamableHttp"])
        .env("PORT", port.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let reachable = async {
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    within(reachable).await;
    (child, port)
}

/// Lists tools and checks successful, failing and cancelled calls. A tool that only runs as a
/// task is not offered, and the reason is told.
async fn exercise(servers: &McpServers) {
    assert_eq!(
        problems(servers),
        [
            "MCP server everything, tool `simulate-research-query`: skipped, because it only runs as \
          an MCP task, which Ostler does not support"
        ]
    );
    let names = names(servers);
    assert!(!names.iter().any(|name| name.contains("research")), "{names:?}");
    for expected in ["mcp__everything__echo", "mcp__everything__get-sum"] {
        assert!(names.iter().any(|name| name == expected), "{names:?}");
    }

    let echo = call(servers, "mcp__everything__echo", json!({"message": "hello"})).await;
    assert_eq!(echo, ToolOutcome::ok("Echo: hello").untrusted());
    let sum = call(servers, "mcp__everything__get-sum", json!({"a": 2, "b": 40})).await;
    assert_eq!(sum, ToolOutcome::ok("The sum of 2 and 40 is 42.").untrusted());
    let image = call(servers, "mcp__everything__get-tiny-image", json!({})).await;
    assert!(image.content.contains("[an image, image/png, about"), "{image:?}");

    // The schema allows this; the server itself reports the error.
    let invalid = json!({"resourceType": "Text", "resourceId": -1});
    let failed = call(servers, "mcp__everything__get-resource-reference", invalid).await;
    assert_eq!(
        (failed.status, failed.trust),
        (OutcomeStatus::Failed, Trust::Untrusted),
        "{failed:?}"
    );

    check_cancellation(servers).await;
}

/// Dropping a long call does not affect later calls.
async fn check_cancellation(servers: &McpServers) {
    let name = "mcp__everything__trigger-long-running-operation";
    let long = tool(servers, name);
    let fixture = TurnFixture::new(vec![long.clone()]);
    let arguments = json!({"duration": 600, "steps": 2});
    let authorized = fixture.model_calls(&mut fixture.turn(), "c1", name, &arguments).authorized();
    let running = run(&long, &authorized);
    let stopped = tokio::time::timeout(Duration::from_millis(300), running).await;
    assert!(stopped.is_err(), "{stopped:?}");
    let echo = call(servers, "mcp__everything__echo", json!({"message": "again"})).await;
    assert_eq!(echo.content, "Echo: again");
}
