//! The official clients of the OpenAI API talk to an agent.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::Command;

use super::{KEY, Online};
use crate::support::{Scenario, lenient_settings};

/// An agent that calls a tool. After `spend all`, the budget of its session is used up.
const SCRIPT: &str = "
price: { input: 0, output: 1000 }
usage: { output: 10 }
rules:
  - when: { user: 'what do you sell' }
    answer: [ { call: list_products }, { text: 'We sell pizza, and only pizza.', chunk: 4 } ]
  - when: { user: spend all }
    answer: [ { call: list_products, usage: { output: 500 } }, Never said. ]
default: You are welcome.
";

/// Runs a program of a client against a server, and returns what it has found.
async fn run(program: &Path, arguments: &[&str], folder: &Path) -> Value {
    let scenario = Scenario::new(SCRIPT).await;
    scenario.save_settings(&lenient_settings()).await;
    let online = Online::with(scenario).await;
    let child = Command::new(program)
        .args(arguments)
        .env("BASE_URL", online.url("/v1"))
        .env("KEY", KEY)
        .current_dir(folder)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(Duration::from_secs(120), child).await.unwrap().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns the folder that a script of the workspace prints.
async fn installed(script: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(root.join("scripts").join(script)).output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().into()
}

fn check(mut found: Value, budget_error: &str) {
    let tokens = found["tokens"].take().as_u64().unwrap();
    let run = found["run"].take();
    assert!(tokens > 0 && run.as_str().unwrap().starts_with("run_"), "{tokens} {run}");
    let stopped = json!([budget_error, "insufficient_quota", "insufficient_quota"]);
    let expected = json!({
        "models": ["enzo", "gia"],
        "text": "We sell pizza, and only pizza.",
        "finish": "stop",
        "tokens": null,
        "second": "You are welcome.",
        "run": null,
        "budget": stopped,
        "streamed_budget": stopped,
        "unknown": "model_not_found",
        "refused": ["unsupported_parameter", "n"],
        "key": "invalid_api_key",
    });
    assert_eq!(found, expected);
}

/// K04: the Python client holds a streamed conversation with an agent that uses a tool and is
/// stopped by its budget.
#[tokio::test(flavor = "multi_thread")]
async fn k04_the_official_python_client_holds_a_conversation() {
    let python = installed("install-pypi").await.join("bin/python");
    let (program, folder) = (include_str!("completions_client.py"), std::env::temp_dir());
    let found = run(&python, &["-c", program], &folder).await;
    check(found, "RateLimitError");
}

/// K04: the JavaScript client does the same.
#[tokio::test(flavor = "multi_thread")]
async fn k04_the_official_javascript_client_holds_a_conversation() {
    let folder = installed("install-npm").await;
    let program = include_str!("completions_client.mjs");
    let arguments = ["--input-type=module", "-e", program];
    let found = run(&folder.join("node"), &arguments, &folder).await;
    check(found, "RateLimitError");
}
