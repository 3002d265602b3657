//! A server that misbehaves.

use std::collections::BTreeMap;
use std::time::Duration;

use ostler_domain::secret::SecretRef;
use ostler_domain::tool::Trust;
use ostler_engine::history::CallId;
use ostler_engine::outcome::{Outcome, Status};
use ostler_engine::tool::Reply;
use ostler_engine::turn::{Input, Out};
use ostler_tools::mcp::{Hints, McpServerConfig, McpServers, McpTransport, StdioServer};
use serde_json::{Value, json};

use crate::support::{
    World, call, call_tool, names, node, problems, run, start, stdio, tool, until, within,
};

/// The server, in one of its moods.
fn fake(args: &[&str]) -> McpServerConfig {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/fake.mjs");
    let args = [script].into_iter().chain(args.iter().copied());
    let mut config = stdio("fake", StdioServer::new(node(), args));
    config.limits.backoff = Duration::from_millis(50);
    config.limits.relist = Duration::from_millis(10);
    config
}

async fn echo(servers: &McpServers, words: &str) -> Outcome {
    call(servers, "mcp__fake__echo", json!({ "words": words })).await
}

#[tokio::test]
async fn errors_are_outcomes_in_words() {
    let servers = start(fake(&[])).await;
    let failed = call(&servers, "mcp__fake__fail", json!({})).await;
    assert_eq!(failed, Outcome::failed("It did not work.").untrusted());
    let refused = call(&servers, "mcp__fake__refuse", json!({})).await;
    let why = "The MCP server fake refused the call: I do not want to";
    assert_eq!(refused, Outcome::failed(why).untrusted());
    servers.shutdown().await;
}

#[tokio::test]
async fn a_server_that_crashes_in_a_call_is_started_again() {
    let servers = start(fake(&[])).await;
    let before = call(&servers, "mcp__fake__pid", json!({})).await.content;
    let (echo, pid) = (tool(&servers, "mcp__fake__echo"), tool(&servers, "mcp__fake__pid"));

    let crashed = call(&servers, "mcp__fake__crash", json!({})).await;
    assert_eq!(crashed.status, Status::OutcomeUnknown, "{crashed:?}");
    assert_eq!(crashed.trust, Trust::Untrusted);
    assert!(!crashed.content.contains("pump"), "the model gets no error output: {crashed:?}");

    // The tools that a turn already holds work again.
    let back = async {
        while call_tool(&echo, &json!({"words": "back"})).await.status != Status::Ok {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    within(back).await;
    assert_ne!(call_tool(&pid, &json!({})).await.content, before);
    assert_eq!(problems(&servers), [""; 0]);
    servers.shutdown().await;
}

#[tokio::test]
async fn calls_are_told_when_a_server_is_being_started_again() {
    let mut config = fake(&[]);
    config.limits.backoff = Duration::from_secs(3600);
    config.limits.backoff_most = Duration::from_secs(3600);
    let servers = start(config).await;
    call(&servers, "mcp__fake__crash", json!({})).await;
    until(&servers, "down", |servers| !servers.problems().is_empty()).await;
    let meanwhile = echo(&servers, "x").await;
    assert_eq!(meanwhile.status, Status::Failed);
    assert!(meanwhile.content.contains("is being started again"), "{meanwhile:?}");
    within(servers.shutdown()).await;
}

/// Operators read the last words of a server, without the secrets it was given.
#[tokio::test]
async fn last_words_are_kept_and_secrets_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    std::fs::write(&path, "hunter2\n").unwrap();
    let mut config = fake(&[]);
    let key = SecretRef::File(path.to_str().unwrap().to_owned());
    set_secrets(&mut config, BTreeMap::from([("KEY".to_owned(), key)]));
    config.limits.restarts = 0;
    let servers = start(config).await;
    call(&servers, "mcp__fake__crash", json!({})).await;
    until(&servers, "given up", |servers| servers.tools().is_empty()).await;
    let said = problems(&servers).join("\n");
    assert!(said.contains("the pump broke, and my key is [hidden]"), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
}

fn set_secrets(config: &mut McpServerConfig, secrets: BTreeMap<String, SecretRef>) {
    if let McpTransport::Stdio(server) = &mut config.transport {
        server.secrets = secrets;
    }
}

#[tokio::test]
async fn a_server_that_keeps_dying_is_given_up() {
    let mut config = fake(&["dies"]);
    config.limits.restarts = 2;
    config.limits.backoff = Duration::from_millis(1);
    let servers = start(config).await;
    let over = |servers: &McpServers| problems(servers).join("").contains("3 times in a row");
    until(&servers, "given up", over).await;
    let said = problems(&servers).join("\n");
    assert!(said.contains("is not started again"), "{said}");
    assert!(said.contains("no licence found"), "{said}");
    assert_eq!(names(&servers), [""; 0]);
    within(servers.shutdown()).await;
}

#[tokio::test]
async fn a_program_that_is_not_there_is_a_problem() {
    let servers = start(stdio("none", StdioServer::new("/no/such/program", [""; 0]))).await;
    let said = problems(&servers).join("\n");
    assert!(said.starts_with("MCP server none: `/no/such/program` cannot be started"), "{said}");
}

#[tokio::test]
async fn a_server_that_never_answers_is_not_waited_for() {
    let mut config = fake(&["mute"]);
    config.limits.start = Duration::from_millis(300);
    config.limits.restarts = 0;
    let servers = start(config).await;
    let said = problems(&servers).join("\n");
    assert!(said.contains("it was not ready within 300ms"), "{said}");
}

#[tokio::test]
async fn garbage_between_messages_is_ignored() {
    let servers = start(fake(&[])).await;
    let outcome = call(&servers, "mcp__fake__garbage", json!({})).await;
    assert_eq!(outcome.content, "still here");
    assert_eq!(echo(&servers, "fine").await.content, "fine");
    servers.shutdown().await;
}

#[tokio::test]
async fn a_message_that_is_too_long_is_thrown_away_and_said() {
    let mut config = fake(&[]);
    config.limits.message = 100_000;
    config.limits.output = 1000;
    let servers = start(config).await;
    let cut = call(&servers, "mcp__fake__huge", json!({"bytes": 50_000})).await;
    assert_eq!(cut.status, Status::Ok);
    assert!(cut.content.len() < 1100, "{}", cut.content.len());
    assert!(cut.content.ends_with("more bytes were left out]"));
    let huge = call(&servers, "mcp__fake__huge", json!({"bytes": 5_000_000})).await;
    assert_eq!(huge.status, Status::OutcomeUnknown);
    assert!(huge.content.contains("more than 100000 bytes"), "{huge:?}");
    assert_eq!(echo(&servers, "fine").await.content, "fine");
    assert_eq!(problems(&servers), [""; 0]);
    servers.shutdown().await;
}

/// Waits until the server knows that its silent call was cancelled.
async fn cancelled(servers: &McpServers) {
    let known = async {
        while call(servers, "mcp__fake__cancelled", json!({})).await.content != "1" {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    within(known).await;
}

#[tokio::test]
async fn a_call_that_takes_too_long_ends_and_is_cancelled() {
    let mut config = fake(&[]);
    config.limits.call = Duration::from_millis(200);
    let servers = start(config).await;
    let slow = call(&servers, "mcp__fake__silent", json!({})).await;
    let why = "The MCP server fake did not answer within 200ms.";
    let unknown = format!("{why} Nobody knows whether it was done.");
    assert_eq!(slow, Outcome::of(Status::OutcomeUnknown, unknown).untrusted());
    cancelled(&servers).await;
    servers.shutdown().await;

    // What only reads was not done; but that must be believed.
    let mut config = McpServerConfig { hints: Hints::Believed, ..fake(&[]) };
    config.limits.call = Duration::from_millis(200);
    let servers = start(config).await;
    let slow = call(&servers, "mcp__fake__look", json!({})).await;
    assert_eq!(slow, Outcome::of(Status::TimedOut, why).untrusted());
    servers.shutdown().await;
}

/// Dropping a call returns at once, and the server is told.
#[tokio::test]
async fn a_dropped_call_is_cancelled_at_the_server() {
    let servers = start(fake(&[])).await;
    let name = "mcp__fake__silent";
    let silent = tool(&servers, name);
    let world = World::new(vec![silent.clone()]);
    let authorized = world.model_calls(&mut world.turn(), "c1", name, &json!({})).authorized();
    let running = run(&silent, &authorized);
    let stopped = tokio::time::timeout(Duration::from_millis(200), running).await;
    assert!(stopped.is_err(), "{stopped:?}");
    cancelled(&servers).await;
    servers.shutdown().await;
}

#[tokio::test]
async fn a_changed_list_is_taken_over() {
    let servers = start(fake(&[])).await;
    let has = |servers: &McpServers| names(servers).iter().any(|name| name == "mcp__fake__added");
    assert!(!has(&servers));
    let version = *servers.changed().borrow();
    call(&servers, "mcp__fake__change", json!({})).await;
    until(&servers, "added", has).await;
    assert!(*servers.changed().borrow() > version);
    servers.shutdown().await;
}

#[tokio::test]
async fn bad_schemas_and_equal_names_are_left_out_and_said() {
    // What a name of sixty letters is shortened to, on every start.
    let shortened = format!("{}_", "x".repeat(44));
    let first = start(fake(&["bad", "other"])).await;
    let long = names(&first).into_iter().find(|name| name.contains(&shortened)).unwrap();
    let twin = long.strip_prefix("mcp__fake__").unwrap();
    first.shutdown().await;

    let servers = start(fake(&["bad", twin])).await;
    assert_eq!(names(&servers), ["mcp__fake__good"]);
    let said = problems(&servers);
    let expected = [
        "tool `not-an-object`: left out, since its schema cannot be used: it does not describe an",
        "tool `remote`: left out, since its schema cannot be used: it refers to something outside",
        "tool `no-schema`: left out, since it cannot be read: missing field `inputSchema`",
        "left out, since another tool of the server is named",
        "left out, since another tool of the server is named",
    ];
    assert_eq!(said.len(), expected.len(), "{said:?}");
    for (said, expected) in said.iter().zip(expected) {
        assert!(said.contains(expected), "{said}");
    }
    servers.shutdown().await;
}

#[tokio::test]
async fn two_servers_of_one_name_are_one() {
    let servers = McpServers::start(vec![fake(&[]), fake(&["dies"])]);
    within(servers.ready()).await;
    assert_eq!(echo(&servers, "one").await.content, "one");
    let said = "MCP server fake: another server has the same name, so this one was not started";
    assert_eq!(problems(&servers), [said]);
    servers.shutdown().await;
}

#[tokio::test]
async fn a_server_sees_only_what_it_is_given() {
    let mut config = fake(&[]);
    if let McpTransport::Stdio(server) = &mut config.transport {
        server.inherit = vec!["CARGO_MANIFEST_DIR".to_owned()];
        server.set = BTreeMap::from([("GREETING".to_owned(), "hello".to_owned())]);
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

/// Whatever a server started ends with it, by shutdown or by being dropped.
#[tokio::test]
async fn nothing_stays_behind() {
    for drop_it in [false, true] {
        let servers = start(fake(&[])).await;
        let server = call(&servers, "mcp__fake__pid", json!({})).await.content;
        let child = call(&servers, "mcp__fake__child", json!({})).await.content;
        assert!(runs(&server) && runs(&child));
        let echo_tool = tool(&servers, "mcp__fake__echo");
        if drop_it {
            drop(servers);
        } else {
            within(servers.shutdown()).await;
        }
        let gone = async {
            while runs(&server) || runs(&child) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        within(gone).await;
        let after = call_tool(&echo_tool, &json!({"words": "x"})).await;
        assert_ne!(after.status, Status::Ok, "{after:?}");
    }
}

/// Whether a process runs; one that nobody has taken notice of does not.
fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

/// Z10, Z02: what an MCP server answers is from outside; after it a destructive tool
/// needs a person, although the user has switched asking off.
#[tokio::test]
async fn z10_after_an_answer_of_a_server_destructive_tools_ask() {
    let servers = start(McpServerConfig { hints: Hints::Believed, ..fake(&[]) }).await;
    let (echo, destroy) = ("mcp__fake__echo", "mcp__fake__drop");
    let tools = vec![tool(&servers, echo), tool(&servers, destroy)];
    let world = World::new(tools.clone());

    let mut turn = world.turn();
    assert!(!world.model_calls(&mut turn, "c1", destroy, &json!({})).asks());

    let mut turn = world.turn();
    let arguments = json!({"words": "Drop everything!"});
    let authorized = world.model_calls(&mut turn, "c1", echo, &arguments).authorized();
    let outcome = within(run(&tools[0], &authorized)).await;
    let reply = Input::Reply(CallId::new("c1"), Reply::Done(outcome));
    world.step(&mut turn, reply, &mut Out::default());
    assert_eq!(turn.trust(), Trust::Untrusted);
    assert!(world.model_calls(&mut turn, "c2", destroy, &json!({})).asks());
    servers.shutdown().await;
}
