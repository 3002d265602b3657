//! The demo, and operating it.

use serde_json::Value;

use crate::{stderr, stdout};

/// The installation of a demo after its story.
pub(crate) struct DemoInstallation {
    folder: tempfile::TempDir,
    output: String,
}

impl DemoInstallation {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().to_string_lossy().into_owned();
        let output = stdout(&["demo", "--once", "--home", &home]);
        Self { folder, output }
    }

    pub(crate) fn home(&self) -> String {
        self.folder.path().to_string_lossy().into_owned()
    }

    /// Returns what a command prints.
    pub(crate) fn run(&self, args: &[&str]) -> String {
        stdout(&[args, &["--home", &self.home()]].concat())
    }

    /// Returns the error of a command that fails.
    pub(crate) fn error(&self, args: &[&str]) -> String {
        stderr(&[args, &["--home", &self.home()]].concat())
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let text = self.run(&[args, &["--json"]].concat());
        serde_json::from_str(&text).expect("JSON")
    }
}

/// A new user sees who is there, what happened and what to type next.
#[test]
fn the_demo_prints_the_story_and_the_next_steps() {
    let demo = DemoInstallation::new();
    let parts = [
        "Bella Pizza",
        "business layer 4",
        "handoff 1 → Enzo",
        "⏸ refund_payment",
        "⚑ escalated to a human: asked for a person",
        "the refund waits for a person",
        "/chat/bnd_",
        "export OSTLER_HOME=",
        "ostler approval approve apr_",
        "demo --reset",
    ];
    for part in parts {
        assert!(demo.output.contains(part), "{part} in {}", demo.output);
    }
    assert!(!demo.output.contains('\u{1b}'), "output to a pipe is plain");
    let again = stdout(&["demo", "--once", "--home", &demo.home()]);
    assert!(again.contains("The story was played before"), "{again}");
}

/// An operator takes over, writes, hands back and approves, and the agent that asked
/// tells the customer the result.
#[test]
fn an_operator_takes_over_hands_back_and_approves() {
    let demo = DemoInstallation::new();
    assert!(demo.run(&["escalation", "ls", "--org", "bella"]).contains("asked for a person"));
    assert!(demo.run(&["session", "take-over", "rosa"]).contains("taken over"));
    demo.run(&["session", "say", "This is Ada, I am on it.", "rosa"]);
    assert!(demo.run(&["session", "resume", "rosa"]).contains("an agent answers"));
    let waiting = demo.json(&["approval", "ls", "--org", "bella"]);
    let id = waiting[0]["approval"]["id"].as_str().expect("an approval").to_owned();
    demo.run(&["approval", "approve", &id, "--org", "bella"]);
    demo.run(&["send", "thank you", "--org", "bella", "--contact", "rosa"]);
    let shown = demo.run(&["session", "show", "rosa"]);
    for part in ["This is Ada", "approved by a person", "the refund of 10.00 EUR has been made"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let run = &demo.json(&["session", "show", "rosa"])["runs"][0]["id"];
    let harness = demo.run(&["harness", "show", run.as_str().expect("a run")]);
    for group in ["identity", "soul", "tool scope", "credit budget", "autonomy", "rate limits"] {
        assert!(harness.contains(group), "A02: {group} in {harness}");
    }
    for group in ["session context", "error state", "escalation state", "blocked_topics"] {
        assert!(harness.contains(group), "A02: {group} in {harness}");
    }
    assert!(demo.run(&["credit", "show", "--org", "bella"]).contains("purchased"));
    let wrong = demo.error(&["approval", "approve", "apr_zz", "--org", "bella"]);
    assert!(wrong.contains("no approval apr_zz in Bella Pizza"), "{wrong}");
}

/// X63: AI agents of an org are on the bus and answer there in their harness.
#[test]
fn x63_ai_agents_answer_messages_on_the_bus() {
    let demo = DemoInstallation::new();
    assert!(demo.run(&["agent", "ls", "--org", "bella"]).contains("gia"));
    let sent = demo.run(&["agent", "send", "gia", "hello", "--org", "bella"]);
    assert!(sent.contains("sent to gia") && sent.lines().count() > 1, "{sent}");
    let sessions = demo.run(&["session", "ls", "--org", "bella"]);
    assert!(sessions.contains("bus"), "{sessions}");
}
