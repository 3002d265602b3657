//! The demonstration, and operating what it leaves.

use serde_json::Value;

use crate::{stderr, stdout};

/// A world in which the story was played.
pub(crate) struct Played {
    folder: tempfile::TempDir,
    shown: String,
}

impl Played {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().to_string_lossy().into_owned();
        let shown = stdout(&["demo", "--once", "--home", &home]);
        Self { folder, shown }
    }

    pub(crate) fn home(&self) -> String {
        self.folder.path().to_string_lossy().into_owned()
    }

    /// What a command prints in this world.
    pub(crate) fn run(&self, args: &[&str]) -> String {
        stdout(&[args, &["--home", &self.home()]].concat())
    }

    /// What a command says that is refused in this world.
    pub(crate) fn refused(&self, args: &[&str]) -> String {
        stderr(&[args, &["--home", &self.home()]].concat())
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let text = self.run(&[args, &["--json"]].concat());
        serde_json::from_str(&text).expect("JSON")
    }
}

/// A new user sees who is there, what happened and what to type next.
#[test]
fn the_demo_tells_a_story() {
    let played = Played::new();
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
        assert!(played.shown.contains(part), "{part} in {}", played.shown);
    }
    assert!(!played.shown.contains('\u{1b}'), "output to a pipe is plain");
    let again = stdout(&["demo", "--once", "--home", &played.home()]);
    assert!(again.contains("The story was played before"), "{again}");
}

/// An operator takes over, writes, hands back and approves, and the customer is
/// told what came of it by the agent that asked.
#[test]
fn an_operator_works_from_the_terminal() {
    let played = Played::new();
    assert!(played.run(&["escalation", "ls", "--org", "bella"]).contains("asked for a person"));
    assert!(played.run(&["session", "take-over", "rosa"]).contains("yours"));
    played.run(&["session", "say", "This is Ada, I am on it.", "rosa"]);
    assert!(played.run(&["session", "resume", "rosa"]).contains("an agent answers"));
    let waiting = played.json(&["approval", "ls", "--org", "bella"]);
    let id = waiting[0]["approval"]["id"].as_str().expect("an approval").to_owned();
    played.run(&["approval", "approve", &id, "--org", "bella"]);
    played.run(&["send", "thank you", "--org", "bella", "--contact", "rosa"]);
    let shown = played.run(&["session", "show", "rosa"]);
    for part in ["This is Ada", "approved by a person", "the refund of 10.00 EUR has been made"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let run = &played.json(&["session", "show", "rosa"])["runs"][0]["id"];
    let harness = played.run(&["harness", "show", run.as_str().expect("a run")]);
    for group in ["identity", "soul", "tool scope", "credit budget", "autonomy", "rate limits"] {
        assert!(harness.contains(group), "A02: {group} in {harness}");
    }
    for group in ["session context", "error state", "escalation state", "blocked_topics"] {
        assert!(harness.contains(group), "A02: {group} in {harness}");
    }
    assert!(played.run(&["credit", "show", "--org", "bella"]).contains("purchased"));
    let wrong = played.refused(&["approval", "approve", "apr_zz", "--org", "bella"]);
    assert!(wrong.contains("no approval apr_zz in Bella Pizza"), "{wrong}");
}

/// X63: an org's agents are on the bus, where they are asked like any agent there
/// and answer in their harness.
#[test]
fn x63_an_ai_agent_is_asked_on_the_bus() {
    let played = Played::new();
    assert!(played.run(&["agent", "ls", "--org", "bella"]).contains("gia"));
    let told = played.run(&["agent", "send", "gia", "hello", "--org", "bella"]);
    assert!(told.contains("sent to gia") && told.lines().count() > 1, "{told}");
    let sessions = played.run(&["session", "ls", "--org", "bella"]);
    assert!(sessions.contains("bus"), "{sessions}");
}
