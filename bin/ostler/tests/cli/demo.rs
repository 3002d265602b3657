//! The demo, and operating it.

use serde_json::Value;

use crate::running_server::RunningServer;
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

    /// Writes a secret into the folder of an org.
    pub(crate) fn write_secret(&self, org: &str, name: &str, secret: &str) {
        let folder = self.secrets_folder(org);
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join(name), secret).expect("the secret is written");
    }

    pub(crate) fn read_secret(&self, org: &str, name: &str) -> String {
        std::fs::read_to_string(self.secrets_folder(org).join(name)).expect("a secret")
    }

    pub(crate) fn remove_secret(&self, org: &str, name: &str) {
        std::fs::remove_file(self.secrets_folder(org).join(name)).expect("it was there");
    }

    pub(crate) fn secrets_folder(&self, org: &str) -> std::path::PathBuf {
        let channels = self.json(&["channel", "ls", "--org", org]);
        let id = channels[0]["org"].as_str().expect("an org").to_owned();
        self.folder.path().join("secrets").join(id)
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
        "the issue goes up to the agency",
        "I have asked my manager",
        "I have asked Mara",
        "10 percent from 25 guests on",
        "I have an answer for you: yes, 10 percent for 30 guests",
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

/// O21: the demo makes nothing in a folder that it did not make, and deletes and
/// overwrites nothing else.
#[test]
fn o21_the_demo_touches_only_what_it_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().to_string_lossy().into_owned();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("thesis.txt"), "years of work").expect("written");
    for args in [vec!["demo", "--once"], vec!["demo", "--once", "--reset"]] {
        let refused = stderr(&[args.as_slice(), &["--home", &home]].concat());
        assert!(refused.contains("was not made by `ostler demo` (it has thesis.txt)"), "{refused}");
        assert!(refused.contains("Nothing was changed"), "{refused}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);

    let demo = DemoInstallation::new();
    let file = |name: &str| std::path::Path::new(&demo.home()).join(name);
    let config = std::fs::read_to_string(file("ostler.toml")).expect("a configuration");
    let edited = format!("{config}listen = \"127.0.0.1:7999\"\n");
    std::fs::write(file("ostler.toml"), &edited).expect("written");
    std::fs::write(file("notes.txt"), "mine").expect("written");
    stdout(&["demo", "--once", "--home", &demo.home()]);
    assert_eq!(std::fs::read_to_string(file("ostler.toml")).expect("kept"), edited);
    let fresh = stdout(&["demo", "--once", "--reset", "--home", &demo.home()]);
    assert!(fresh.contains("handoff 1 → Enzo"), "the story is played again: {fresh}");
    assert_eq!(std::fs::read_to_string(file("notes.txt")).expect("kept"), "mine");
    assert_eq!(std::fs::read_to_string(file("ostler.toml")).expect("new"), config);
}

/// O21: a folder that a server uses is not reset; a server whose database is replaced all
/// the same stops and says so.
#[test]
fn o21_a_folder_in_use_is_not_reset() {
    let demo = DemoInstallation::new();
    let mut server = RunningServer::start(&demo.home());
    let refused = demo.error(&["demo", "--once", "--reset"]);
    assert!(refused.contains("a server or a demo is using"), "{refused}");
    assert!(demo.run(&["session", "ls", "--org", "bella"]).contains("Rosa"), "nothing is gone");
    let database = std::path::Path::new(&demo.home()).join("ostler.db");
    std::fs::rename(&database, database.with_extension("old")).expect("moved");
    let said = server.wait_for_exit();
    assert!(said.contains("was deleted or replaced while this process used it"), "{said}");
}

/// An operator takes over, writes, hands back and approves, and the agent that asked
/// tells the customer the result.
#[test]
fn an_operator_takes_over_hands_back_and_approves() {
    let demo = DemoInstallation::new();
    assert!(demo.run(&["escalation", "ls", "--org", "bella"]).contains("asked for a person"));
    assert!(demo.run(&["session", "take-over", "rosa"]).contains("taken over"));
    demo.run(&["session", "say", "rosa", "This is Ada, I am on it."]);
    assert!(demo.run(&["session", "resume", "rosa"]).contains("an agent answers"));
    let waiting = demo.json(&["approval", "ls", "--org", "bella"]);
    let id = waiting[0]["id"].as_str().expect("an approval").to_owned();
    demo.run(&["approval", "approve", &id, "--org", "bella"]);
    demo.run(&["send", "thank you", "--org", "bella", "--contact", "rosa"]);
    let shown = demo.run(&["session", "show", "rosa"]);
    for part in ["This is Ada", "approved by a person", "the refund of 10.00 EUR was approved"] {
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

/// O28: an approved call that the tool refuses is told as refused, to the customer and to
/// the operator.
#[test]
fn o28_a_refused_refund_is_not_told_as_made() {
    let demo = DemoInstallation::new();
    demo.run(&["session", "take-over", "rosa"]);
    demo.run(&["session", "resume", "rosa"]);
    let waiting = demo.json(&["approval", "ls", "--org", "bella"]);
    let id = waiting[0]["id"].as_str().expect("an approval").to_owned();
    let edited = r#"{"order": "1234", "amount": "5000.00", "reason": "all of it"}"#;
    demo.run(&["approval", "approve", &id, "--org", "bella", "--with", edited]);
    demo.run(&["send", "thank you", "--org", "bella", "--contact", "rosa"]);
    let shown = demo.run(&["session", "show", "rosa"]);
    assert!(shown.contains("I could not make the refund"), "{shown}");
    assert!(!shown.contains("has been made"), "{shown}");
    assert!(shown.contains("✗ refused: Not refunded: the total of order 1234"), "{shown}");
    let notices = demo.run(&["notice", "ls", "--org", "bella"]);
    let failed = "the approved call of refund_payment did not succeed: refused: Not refunded";
    assert!(notices.contains(failed), "{notices}");
}

/// O28: the approvals of a session that is closed are withdrawn, and the screen says so.
#[test]
fn o28_approvals_of_a_closed_session_are_not_listed() {
    let demo = DemoInstallation::new();
    let waiting = demo.json(&["approval", "ls", "--org", "bella"]);
    let id = waiting[0]["id"].as_str().expect("an approval").to_owned();
    demo.run(&["session", "close", "rosa"]);
    let none = demo.run(&["approval", "ls", "--org", "bella"]);
    assert!(none.contains("no approval is pending"), "{none}");
    let late = demo.error(&["approval", "approve", &id, "--org", "bella"]);
    assert!(late.contains("ended with its session, which is closed; nothing was run"), "{late}");
    let shown = demo.run(&["session", "show", "rosa"]);
    assert!(shown.contains("closed: by an operator · this session spent"), "{shown}");
}

/// O28: an approval given while a person has the conversation says when the call is made,
/// and a second one says that it was given.
#[test]
fn o28_an_approval_says_when_its_call_is_made() {
    let demo = DemoInstallation::new();
    let waiting = demo.json(&["approval", "ls", "--org", "bella"]);
    let id = waiting[0]["id"].as_str().expect("an approval").to_owned();
    let approve = ["approval", "approve", id.as_str(), "--org", "bella"];
    assert!(demo.run(&["session", "ls"]).contains("1 call waits for approval"));
    let said = demo.run(&approve);
    assert!(
        said.contains("waits for a person, so the call is made once the agents have"),
        "{said}"
    );
    for shown in [demo.run(&["session", "show", "rosa"]), demo.run(&["session", "ls"])] {
        assert!(!shown.contains("waits for approval"), "it was given: {shown}");
    }
    let again = demo.error(&approve);
    assert!(again.contains("is approved already"), "{again}");
    demo.run(&["session", "take-over", "rosa"]);
    demo.run(&["session", "resume", "rosa"]);
    demo.run(&["send", "thank you", "--org", "bella", "--contact", "rosa"]);
    let shown = demo.run(&["session", "show", "rosa"]);
    assert!(shown.contains("the refund of 10.00 EUR was approved"), "{shown}");
}

/// S01: a customer who names somebody else's order learns nothing about it.
#[test]
fn s01_a_customer_does_not_see_the_order_of_another() {
    let demo = DemoInstallation::new();
    let args = ["send", "--org", "bella", "--contact", "otto", "I paid twice. Order 1234."];
    let said = demo.run(&args);
    assert!(said.contains("I cannot find that order under your name"), "{said}");
    assert!(!said.contains("Margherita"), "{said}");
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
