//! Workflows and proposals on a server: started, followed, operated and decided there.

use std::time::Duration;

use super::serve_copy;
use crate::demo::DemoInstallation;

/// K03: a workflow is started on a server from a file of this machine, followed while the server
/// runs it, paused, continued, answered and shown as on a local installation.
#[test]
fn k03_a_workflow_is_run_and_followed_on_a_server() {
    let demo = DemoInstallation::new();
    let folder = tempfile::tempdir().expect("a folder");
    let server = serve_copy(&demo, &folder.path().join("copy"));
    let input = ["--input", "{\"order\": \"1234\"}", "--org", "bella"];
    let run = server.says(&[&["workflow", "run", "refund.toml"], &input[..]].concat());
    for part in ["✓ look  done", "✓ judge  done", "⏸ decide  waits", "next  ostler"] {
        assert!(run.contains(part), "{part} in {run}");
    }
    let listed = server.json(&["workflow", "ls", "--org", "bella"]);
    let id = listed[0]["id"].as_str().expect("an id").to_owned();
    let bella = |words: &[&'static str]| -> Vec<String> {
        let words = words.iter().map(|word| if *word == "ID" { id.as_str() } else { *word });
        words.chain(["--org", "bella"]).map(str::to_owned).collect()
    };
    let says = |words: &[&'static str]| {
        let words = bella(&[&["workflow"], words].concat());
        server.says(&words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    assert!(says(&["show", "ID"]).contains("asks: Enzo says: Yes, one pizza was charged twice."));
    assert!(says(&["graph", "ID"]).contains("judge"));
    assert!(says(&["pause", "ID", "pay"]).contains("pay  paused"));
    // The server pauses the step when it looks at the workflow the next time.
    let is_paused = |line: &str| line.contains("pay") && line.contains("paused");
    let mut looks = 0;
    while !says(&["show", "ID"]).lines().any(is_paused) {
        looks += 1;
        assert!(looks < 100, "{}", says(&["show", "ID"]));
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(says(&["continue", "ID", "pay"]).contains("pay  continued"));
    says(&["answer", "ID", "decide", "yes"]);
    let resumed = says(&["resume", "ID"]);
    assert!(resumed.contains("⏸ pay  waits"), "{resumed}");
    says(&["approve", "ID", "pay"]);
    let resumed = says(&["resume", "ID"]);
    assert!(resumed.ends_with("done\n"), "{resumed}");
    let shown = says(&["show", "ID"]);
    assert!(shown.contains("refund_payment  ran: approved by a person"), "{shown}");
    let ended = server.error(&["workflow", "skip", &id, "pay", "--org", "bella"]);
    let retried = server.error(&["workflow", "retry", &id, "--org", "bella"]);
    assert!(!ended.is_empty() && !retried.is_empty());
}

/// K03: a soul is proposed on a server with a file of this machine, and decided there.
#[test]
fn k03_a_soul_is_proposed_and_decided_on_a_server() {
    let demo = DemoInstallation::new();
    let folder = tempfile::tempdir().expect("a folder");
    let server = serve_copy(&demo, &folder.path().join("copy"));
    let propose = ["soul", "propose", "gia", "SOUL.md", "--org", "bella", "--reason"];
    for (reason, decision) in [("too long", "approve"), ("still too long", "reject")] {
        if decision == "reject" {
            let rollback = ["soul", "rollback", "gia", "1", "--org", "bella"];
            server.says(&rollback);
        }
        let made = server.json(&[&propose[..], &[reason]].concat());
        let id = made["id"].as_str().expect("an id").to_owned();
        let end = format!("…{}", &id[id.len() - 6..]);
        let listed = server.says(&["soul", "proposals", "ls", "--org", "bella"]);
        assert!(listed.contains(reason) && listed.contains("a person"), "{listed}");
        let shown = server.says(&["soul", "proposals", "show", &end, "--org", "bella"]);
        assert!(shown.contains("+ Short and warm."), "{shown}");
        let decide = ["soul", "proposals", decision, &end, "--org", "bella"];
        let said = if decision == "approve" {
            server.says(&decide)
        } else {
            server.says(&[&decide[..], &["--reason", "we stay formal"]].concat())
        };
        assert!(said.contains(decision), "{said}");
        let state = if decision == "approve" { "applied" } else { "rejected" };
        let decided = server.json(&["soul", "proposals", "ls", "--state", state, "--org", "bella"]);
        assert_eq!(decided[0]["id"], id.as_str(), "{decided}");
    }
}
