//! The reference server, over both transports.

use std::net::{Ipv4Addr, TcpListener};
use std::process::Stdio;
use std::time::Duration;

use ostler_domain::tool::Trust;
use ostler_engine::outcome::{Outcome, Status};
use ostler_tools::mcp::{HttpServer, McpServerConfig, McpServers, McpTransport, StdioServer};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::support::{
    World, call, everything, names, node, problems, run, start, stdio, tool, within,
};

#[tokio::test]
async fn the_reference_server_works_over_its_input_and_output() {
    let servers = start(stdio("everything", StdioServer::new(node(), [everything()]))).await;
    exercise(&servers).await;
    within(servers.shutdown()).await;
}

#[tokio::test]
async fn the_reference_server_works_over_streamable_http() {
    let (_server, port) = serve().await;
    let url = format!("http://127.0.0.1:{port}/mcp");
    let transport = McpTransport::Http(HttpServer { url, bearer: None });
    let servers = start(McpServerConfig::new("everything".parse().unwrap(), transport)).await;
    exercise(&servers).await;
    within(servers.shutdown()).await;
}

/// The reference server on a free port.
async fn serve() -> (Child, u16) {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let child = Command::new(node())
        .args([&everything(), "streamableHttp"])
        .env("PORT", port.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let answers = async {
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    within(answers).await;
    (child, port)
}

/// Lists, calls, fails and cancels.
async fn exercise(servers: &McpServers) {
    assert_eq!(problems(servers), [""; 0]);
    let names = names(servers);
    for expected in ["mcp__everything__echo", "mcp__everything__get-sum"] {
        assert!(names.iter().any(|name| name == expected), "{names:?}");
    }

    let echo = call(servers, "mcp__everything__echo", json!({"message": "hello"})).await;
    assert_eq!(echo, Outcome::ok("Echo: hello").untrusted());
    let sum = call(servers, "mcp__everything__get-sum", json!({"a": 2, "b": 40})).await;
    assert_eq!(sum, Outcome::ok("The sum of 2 and 40 is 42.").untrusted());
    let image = call(servers, "mcp__everything__get-tiny-image", json!({})).await;
    assert!(image.content.contains("[an image, image/png, about"), "{image:?}");

    // It is an error of the server's own: the schema allows it.
    let wrong = json!({"resourceType": "Text", "resourceId": -1});
    let wrong = call(servers, "mcp__everything__get-resource-reference", wrong).await;
    assert_eq!((wrong.status, wrong.trust), (Status::Failed, Trust::Untrusted), "{wrong:?}");

    cancel(servers).await;
}

/// A long operation is left alone, and the server goes on.
async fn cancel(servers: &McpServers) {
    let name = "mcp__everything__trigger-long-running-operation";
    let long = tool(servers, name);
    let world = World::new(vec![long.clone()]);
    let arguments = json!({"duration": 600, "steps": 2});
    let authorized = world.model_calls(&mut world.turn(), "c1", name, &arguments).authorized();
    let running = run(&long, &authorized);
    let stopped = tokio::time::timeout(Duration::from_millis(300), running).await;
    assert!(stopped.is_err(), "{stopped:?}");
    let echo = call(servers, "mcp__everything__echo", json!({"message": "again"})).await;
    assert_eq!(echo.content, "Echo: again");
}
