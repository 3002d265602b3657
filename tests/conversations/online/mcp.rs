//! The MCP server: its tools, who has them, and the protocol's conformance suite.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::id::KeyId;
use ostler_domain::org::role::Role;
use ostler_store::NewApiKey;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::{KEY, Online, key};
use crate::approvals::{contacts, only};
use crate::support::{ECHO, ORG};

const VIEWER_KEY: &str = "osk_a-viewer-of-bella-pizza-who-only-reads";
const SCOPED_KEY: &str = "osk_an-operator-of-bella-pizza-with-scopes";

/// Sends a request of the revision 2025-11-25, and returns the status and the answer.
async fn send(online: &Online, key: &str, method: &str, params: Value) -> (u16, Value) {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = online.http.post(online.url("/mcp")).bearer_auth(key).json(&body);
    let accept = "application/json, text/event-stream";
    let answer = request.header("accept", accept).send().await.unwrap();
    let status = answer.status().as_u16();
    let text = answer.text().await.unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let data = data.map(str::trim).find(|line| !line.is_empty()).unwrap_or(&text);
    (status, serde_json::from_str(data).unwrap_or(Value::Null))
}

async fn tools(online: &Online, key: &str) -> Vec<String> {
    let (status, answer) = send(online, key, "tools/list", json!({})).await;
    assert_eq!(status, 200, "{answer}");
    let tools = answer["result"]["tools"].as_array().expect("tools").iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// Calls a tool and returns its result.
async fn call(online: &Online, key: &str, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let (_, answer) = send(online, key, "tools/call", params).await;
    assert!(answer["result"].is_object(), "{answer}");
    answer["result"].clone()
}

/// K05: a key has the tools of its role and its scopes; others do not exist for it.
#[tokio::test]
async fn k05_tools_follow_from_role_and_scopes() {
    let online = Online::new(ECHO).await;
    key(&online.scenario, ORG, 2, VIEWER_KEY, Role::Viewer).await;
    let scopes = "mcp:write sessions:read approvals:read".parse().unwrap();
    let (id, role) = (KeyId::from_u128(3), Role::Operator);
    let scoped = NewApiKey { id, name: "scoped".into(), role, scopes, expires_at: None };
    online.scenario.org().create_key(scoped, &SCOPED_KEY.parse().unwrap()).await.unwrap();
    let all = tools(&online, KEY).await;
    assert_eq!(
        all,
        [
            "list_agents",
            "ask_agent",
            "list_sessions",
            "show_session",
            "list_approvals",
            "approve_call",
            "reject_call"
        ]
    );
    let reading = ["list_agents", "list_sessions", "show_session", "list_approvals"];
    assert_eq!(tools(&online, VIEWER_KEY).await, reading);
    assert_eq!(tools(&online, SCOPED_KEY).await, reading[1..]);
    for (key, tool) in [(VIEWER_KEY, "approve_call"), (SCOPED_KEY, "ask_agent")] {
        let params = json!({"name": tool, "arguments": {}});
        let (_, answer) = send(&online, key, "tools/call", params).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    assert_eq!(send(&online, "osk_wrong", "tools/list", json!({})).await.0, 401);
}

/// K05: an agent is asked, its call waits, and the client approves it.
#[tokio::test]
async fn k05_an_agent_is_asked_and_its_call_is_approved() {
    let online = Online::with(crate::approvals::scenario(AutonomyLevel::Supervised).await).await;
    let agents = call(&online, KEY, "list_agents", json!({})).await;
    assert_eq!(agents["structuredContent"]["agents"][1]["slug"], "gia");
    let ask = json!({"agent": "gia", "message": "remember Rosa", "conversation": "rosa"});
    let answer = call(&online, KEY, "ask_agent", ask).await;
    let answer = &answer["structuredContent"];
    assert_eq!(answer["answer"], "I am checking that with my team.");
    let approval = only(&online.scenario).await.to_string();
    assert_eq!(answer["pending_approvals"], json!([approval]));
    let listed = call(&online, KEY, "list_approvals", json!({})).await;
    assert_eq!(listed["structuredContent"]["approvals"][0]["id"], approval.as_str());
    let approved = call(&online, KEY, "approve_call", json!({"approval": approval})).await;
    assert_eq!(approved["isError"], false, "{approved}");
    while contacts(&online.scenario).await.is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let session = json!({"session": answer["session"]});
    let shown = call(&online, KEY, "show_session", session).await;
    assert!(shown["structuredContent"]["messages"].as_array().unwrap().len() >= 2, "{shown}");
    let sessions = call(&online, KEY, "list_sessions", json!({"limit": 5})).await;
    assert_eq!(sessions["structuredContent"]["sessions"].as_array().unwrap().len(), 1);
    for (tool, arguments) in [
        ("ask_agent", json!({"agent": "nobody", "message": "hi"})),
        ("ask_agent", json!({"agent": "gia", "message": " "})),
        ("ask_agent", json!({"agent": "gia", "message": "hi", "organization": "elsewhere"})),
        ("approve_call", json!({"approval": approval})),
        ("approve_call", json!({})),
        ("list_agents", json!({"unknown": 1})),
    ] {
        let refused = call(&online, KEY, tool, arguments.clone()).await;
        assert_eq!(refused["isError"], true, "{tool} {arguments}: {refused}");
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("conversations/online")
}

/// Returns the folder with the packages of npm.
async fn npm() -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/install-npm");
    let output = Command::new(script).output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().into()
}

/// Starts a proxy that adds a key, and returns it with its address.
async fn proxy(npm: &Path, online: &Online) -> (Child, String) {
    let mut child = Command::new(npm.join("node"))
        .arg(folder().join("mcp_proxy.mjs"))
        .envs([("TARGET", online.url("/")), ("KEY", KEY.to_owned())])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let address = lines.next_line().await.unwrap().expect("an address");
    (child, address)
}

/// Runs the scenarios that a revision requires. The baseline lists those that do not apply,
/// each with the reason; the suite fails if one of them passes, or any other one does not.
async fn conformance(revision: &str) {
    let npm = npm().await;
    let online = Online::new(ECHO).await;
    let (_proxy, address) = proxy(&npm, &online).await;
    let baseline = folder().join(format!("mcp_conformance_{revision}.yml"));
    let results = tempfile::tempdir().unwrap();
    let suite = npm.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let child = Command::new(npm.join("node"))
        .arg(suite)
        .args(["server", "--url", &format!("{address}/mcp"), "--requirements", revision])
        .arg("--expected-failures")
        .arg(baseline)
        .current_dir(results.path())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(Duration::from_secs(300), child).await.unwrap().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
}

/// K05: the scenarios of the revision with sessions, which the server does without.
#[tokio::test(flavor = "multi_thread")]
async fn k05_the_conformance_scenarios_of_2025_pass() {
    conformance("2025-11-25").await;
}

/// K05: the scenarios of the revision without sessions.
#[tokio::test(flavor = "multi_thread")]
async fn k05_the_conformance_scenarios_of_2026_pass() {
    conformance("2026-07-28").await;
}
