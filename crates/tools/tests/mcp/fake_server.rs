//! A stdio server that misbehaves on request.

use std::collections::BTreeMap;
use std::time::Duration;

use ostler_domain::secret::SecretRef;
use ostler_domain::tool::SecretText;
use ostler_domain::tool::Trust;
use ostler_engine::history::CallId;
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_engine::tool::ToolReply;
use ostler_engine::turn::{Input, TurnOutput};
use ostler_tools::mcp::{
    AnnotationTrust, McpServerConfig, McpServers, McpStdioServer, McpTransport,
};
use serde_json::{Value, json};

use crate::support::{
    TurnFixture, call, call_tool, names, node, problems, run, start, stdio, tool, until, within,
};

/// Configures the fake server; the first argument is its mode.
fn fake(args: &[&str]) -> McpServerConfig {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/fake_server.mjs");
    let args = [script].into_iter().chain(args.iter().copied());
    let mut config = stdio("fake", McpStdioServer::new(node(), args));
    config.limits.initial_backoff = Duration::from_millis(50);
    config.limits.min_relist_interval = Duration::from_millis(10);
    config
}

async fn echo(servers: &McpServers, words: &str) -> ToolOutcome {
    call(servers, "mcp__fake__echo", json!({ "words": words })).await
}

#[tokio::test]
async fn errors_of_a_server_are_failed_outcomes() {
    let servers = start(fake(&[])).await;
    let failed = call(&servers, "mcp__fake__fail", json!({})).await;
    assert_eq!(failed, ToolOutcome::failed("It did not work.").untrusted());
    let refused = call(&servers, "mcp__fake__refuse", json!({})).await;
    let why = "The MCP server fake refused the call: I do not want to";
    assert_eq!(refused, ToolOutcome::failed(why).untrusted());
    servers.shutdown().await;
}

#[tokio::test]
async fn a_server_that_crashes_during_a_call_is_restarted() {
    let servers = start(fake(&[])).await;
    let before = call(&servers, "mcp__fake__pid", json!({})).await.content;
    let (echo, pid) = (tool(&servers, "mcp__fake__echo"), tool(&servers, "mcp__fake__pid"));

    let crashed = call(&servers, "mcp__fake__crash", json!({})).await;
    assert_eq!(crashed.status, OutcomeStatus::OutcomeUnknown, "{crashed:?}");
    assert_eq!(crashed.trust, Trust::Untrusted);
    assert!(!crashed.content.contains("pump"), "the model must not see error output: {crashed:?}");

    // Tools from before the crash work again.
    let back = async {
        while call_tool(&echo, &json!({"words": "back"})).await.status != OutcomeStatus::Ok {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    within(back).await;
    assert_ne!(call_tool(&pid, &json!({})).await.content, before);
    assert_eq!(problems(&servers), [""; 0]);
    servers.shutdown().await;
}

#[tokio::test]
async fn calls_during_a_restart_fail_with_an_explanation() {
    let mut config = fake(&[]);
    config.limits.initial_backoff = Duration::from_secs(3600);
    config.limits.max_backoff = Duration::from_secs(3600);
    let servers = start(config).await;
    call(&servers, "mcp__fake__crash", json!({})).await;
    until(&servers, "down", |servers| !servers.problems().is_empty()).await;
    let meanwhile = echo(&servers, "x").await;
    assert_eq!(meanwhile.status, OutcomeStatus::Failed);
    assert!(meanwhile.content.contains("is being restarted"), "{meanwhile:?}");
    within(servers.shutdown()).await;
}

/// Operators see the end of the error output, without the secrets of the server.
#[tokio::test]
async fn error_output_is_reported_without_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    std::fs::write(&path, "hunter2\n").unwrap();
    let mut config = fake(&[]);
    let key = SecretRef::File(path.to_str().unwrap().to_owned());
    set_secrets(&mut config, BTreeMap::from([("KEY".to_owned(), key)]));
    config.limits.max_restarts = 0;
    let servers = start(config).await;
    call(&servers, "mcp__fake__crash", json!({})).await;
    until(&servers, "given up", |servers| servers.tools().is_empty()).await;
    let reported = problems(&servers).join("\n");
    assert!(reported.contains("the pump broke, and my key is [hidden]"), "{reported}");
    assert!(!reported.contains("hunter2"), "{reported}");
}

fn set_secrets(config: &mut McpServerConfig, secrets: BTreeMap<String, SecretRef>) {
    if let McpTransport::Stdio(server) = &mut config.transport {
        let text = |secret| SecretText::Secret { prefix: String::new(), secret };
        server.env = secrets.into_iter().map(|(name, secret)| (name, text(secret))).collect();
    }
}

#[tokio::test]
async fn a_server_that_fails_too_often_is_not_restarted() {
    let mut config = fake(&["dies"]);
    config.limits.max_restarts = 2;
    config.limits.initial_backoff = Duration::from_millis(1);
    let servers = start(config).await;
    let over = |servers: &McpServers| problems(servers).join("").contains("3 times in a row");
    until(&servers, "given up", over).await;
    let reported = problems(&servers).join("\n");
    assert!(reported.contains("is not restarted"), "{reported}");
    assert!(reported.contains("no licence found"), "{reported}");
    assert_eq!(names(&servers), [""; 0]);
    within(servers.shutdown()).await;
}

#[tokio::test]
async fn a_missing_program_is_a_problem() {
    let servers = start(stdio("none", McpStdioServer::new("/no/such/program", [""; 0]))).await;
    let reported = problems(&servers).join("\n");
    assert!(reported.starts_with("MCP server none: cannot start `/no/such/program`"), "{reported}");
}

#[tokio::test]
async fn a_server_that_never_answers_times_out() {
    let mut config = fake(&["mute"]);
    config.limits.start_timeout = Duration::from_millis(300);
    config.limits.max_restarts = 0;
    let servers = start(config).await;
    let reported = problems(&servers).join("\n");
    assert!(reported.contains("it was not ready within 300ms"), "{reported}");
}

#[tokio::test]
async fn invalid_lines_between_messages_are_ignored() {
    let servers = start(fake(&[])).await;
    let outcome = call(&servers, "mcp__fake__garbage", json!({})).await;
    assert_eq!(outcome.content, "still here");
    assert_eq!(echo(&servers, "fine").await.content, "fine");
    servers.shutdown().await;
}

#[tokio::test]
async fn a_message_over_the_limit_is_discarded_and_reported() {
    let mut config = fake(&[]);
    config.limits.max_message_bytes = 100_000;
    config.limits.max_output_bytes = 1000;
    let servers = start(config).await;
    let cut = call(&servers, "mcp__fake__huge", json!({"bytes": 50_000})).await;
    assert_eq!(cut.status, OutcomeStatus::Ok);
    assert!(cut.content.len() < 1100, "{}", cut.content.len());
    assert!(cut.content.ends_with("more bytes were left out]"));
    let huge = call(&servers, "mcp__fake__huge", json!({"bytes": 5_000_000})).await;
    assert_eq!(huge.status, OutcomeStatus::OutcomeUnknown);
    assert!(huge.content.contains("more than 100000 bytes"), "{huge:?}");
    assert_eq!(echo(&servers, "fine").await.content, "fine");
    assert_eq!(problems(&servers), [""; 0]);
    servers.shutdown().await;
}

/// Waits until the server has received the cancellation of its silent call.
async fn wait_cancelled(servers: &McpServers) {
    let known = async {
        while call(servers, "mcp__fake__cancelled", json!({})).await.content != "1" {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    within(known).await;
}

#[tokio::test]
async fn a_call_that_times_out_is_cancelled_at_the_server() {
    let mut config = fake(&[]);
    config.limits.call_timeout = Duration::from_millis(200);
    let servers = start(config).await;
    let slow = call(&servers, "mcp__fake__silent", json!({})).await;
    let text = "The MCP server fake did not answer within 200ms.";
    let unknown = format!("{text} It is not known whether the call took effect.");
    assert_eq!(slow, ToolOutcome::new(OutcomeStatus::OutcomeUnknown, unknown).untrusted());
    wait_cancelled(&servers).await;
    servers.shutdown().await;

    // A trusted read-only annotation makes it a plain timeout.
    let mut config = McpServerConfig { annotation_trust: AnnotationTrust::Trusted, ..fake(&[]) };
    config.limits.call_timeout = Duration::from_millis(200);
    let servers = start(config).await;
    let slow = call(&servers, "mcp__fake__look", json!({})).await;
    assert_eq!(slow, ToolOutcome::new(OutcomeStatus::TimedOut, text).untrusted());
    servers.shutdown().await;
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_at_the_server() {
    let servers = start(fake(&[])).await;
    let name = "mcp__fake__silent";
    let silent = tool(&servers, name);
    let fixture = TurnFixture::new(vec![silent.clone()]);
    let authorized = fixture.model_calls(&mut fixture.turn(), "c1", name, &json!({})).authorized();
    let running = run(&silent, &authorized);
    let stopped = tokio::time::timeout(Duration::from_millis(200), running).await;
    assert!(stopped.is_err(), "{stopped:?}");
    wait_cancelled(&servers).await;
    servers.shutdown().await;
}

#[tokio::test]
async fn a_changed_tool_list_is_loaded() {
    let servers = start(fake(&[])).await;
    let has = |servers: &McpServers| names(servers).iter().any(|name| name == "mcp__fake__added");
    assert!(!has(&servers));
    let version = *servers.changes().borrow();
    call(&servers, "mcp__fake__change", json!({})).await;
    until(&servers, "added", has).await;
    assert!(*servers.changes().borrow() > version);
    servers.shutdown().await;
}

#[tokio::test]
async fn tools_with_bad_schemas_or_duplicate_names_are_skipped_and_reported() {
    // A name of sixty letters is shortened in the same way on every start.
    let shortened = format!("{}_", "x".repeat(44));
    let first = start(fake(&["bad", "other"])).await;
    let long = names(&first).into_iter().find(|name| name.contains(&shortened)).unwrap();
    let twin = long.strip_prefix("mcp__fake__").unwrap();
    first.shutdown().await;

    let servers = start(fake(&["bad", twin])).await;
    assert_eq!(names(&servers), ["mcp__fake__good"]);
    let reported = problems(&servers);
    let expected = [
        "tool `not-an-object`: skipped, because its schema cannot be used: it does not describe an",
        "tool `remote`: skipped, because its schema cannot be used: it refers to something outside",
        "tool `no-schema`: skipped, because its description is invalid: missing field `inputSchema`",
        "skipped, because several tools of the server get the name",
        "skipped, because several tools of the server get the name",
    ];
    assert_eq!(reported.len(), expected.len(), "{reported:?}");
    for (reported, expected) in reported.iter().zip(expected) {
        assert!(reported.contains(expected), "{reported}");
    }
    servers.shutdown().await;
}

#[tokio::test]
async fn a_second_server_with_the_same_name_is_not_started() {
    let servers = McpServers::start(vec![fake(&[]), fake(&["dies"])]);
    within(servers.ready()).await;
    assert_eq!(echo(&servers, "one").await.content, "one");
    let reported = "MCP server fake: not started, because another server has the same name";
    assert_eq!(problems(&servers), [reported]);
    servers.shutdown().await;
}

#[tokio::test]
async fn a_server_sees_only_the_configured_environment() {
    let mut config = fake(&[]);
    if let McpTransport::Stdio(server) = &mut config.transport {
        server.inherited_env = vec!["CARGO_MANIFEST_DIR".to_owned()];
        server.env =
            BTreeMap::from([("GREETING".to_owned(), SecretText::Plain("hello".to_owned()))]);
    }
    let servers = start(config).await;
    let seen = call(&servers, "mcp__fake__env", json!({})).await.content;
    let seen: BTreeMap<String, Value> = serde_json::from_str(&seen).unwrap();
    assert_eq!(seen["GREETING"], "hello");
    assert_eq!(seen["CARGO_MANIFEST_DIR"], env!("CARGO_MANIFEST_DIR"));
    assert!(std::env::var_os("CARGO_PKG_NAME").is_some(), "cargo sets it for tests");
    assert!(!seen.contains_key("CARGO_PKG_NAME"), "{seen:?}");
    servers.shutdown().await;
}

#[tokio::test]
async fn shutdown_and_drop_kill_all_processes_of_a_server() {
    for by_drop in [false, true] {
        let servers = start(fake(&[])).await;
        let server = call(&servers, "mcp__fake__pid", json!({})).await.content;
        let child = call(&servers, "mcp__fake__child", json!({})).await.content;
        assert!(is_running(&server) && is_running(&child));
        let echo_tool = tool(&servers, "mcp__fake__echo");
        if by_drop {
            drop(servers);
        } else {
            within(servers.shutdown()).await;
        }
        let gone = async {
            while is_running(&server) || is_running(&child) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        within(gone).await;
        let after = call_tool(&echo_tool, &json!({"words": "x"})).await;
        assert_ne!(after.status, OutcomeStatus::Ok, "{after:?}");
    }
}

/// Returns whether a process runs. A zombie does not count.
fn is_running(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

/// Z10, Z02: answers of an MCP server are untrusted. After one, a destructive tool needs
/// approval even though the user has switched approvals off.
#[tokio::test]
async fn z10_destructive_tools_need_approval_after_an_answer_of_a_server() {
    let servers =
        start(McpServerConfig { annotation_trust: AnnotationTrust::Trusted, ..fake(&[]) }).await;
    let (echo, destroy) = ("mcp__fake__echo", "mcp__fake__drop");
    let tools = vec![tool(&servers, echo), tool(&servers, destroy)];
    let fixture = TurnFixture::new(tools.clone());

    let mut turn = fixture.turn();
    assert!(!fixture.model_calls(&mut turn, "c1", destroy, &json!({})).asks_approval());

    let mut turn = fixture.turn();
    let arguments = json!({"words": "Drop everything!"});
    let authorized = fixture.model_calls(&mut turn, "c1", echo, &arguments).authorized();
    let outcome = within(run(&tools[0], &authorized)).await;
    let reply = Input::Reply(CallId::new("c1"), ToolReply::Done(outcome));
    fixture.step(&mut turn, reply, &mut TurnOutput::default());
    assert_eq!(turn.trust(), Trust::Untrusted);
    assert!(fixture.model_calls(&mut turn, "c2", destroy, &json!({})).asks_approval());
    servers.shutdown().await;
}
