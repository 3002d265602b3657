//! `ostler inbox`: in a real terminal against a server, and in lines on the installation.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::demo::DemoInstallation;
use crate::running_server::RunningServer;
use crate::tmux::TmuxTerminal;

/// Keys that decide about a call count only some time after it was drawn.
const GUARD: Duration = Duration::from_millis(500);

/// Types a text behind a key, and sends it.
fn write(terminal: &TmuxTerminal, key: &str, text: &str) {
    terminal.keys(&[key]);
    terminal.wait_for("Enter sends");
    terminal.tmux(&["send-keys", "-l", text]);
    terminal.wait_for(text);
    terminal.keys(&["Enter"]);
}

/// M43: a conversation is taken over, answered and handed back on a server; a note is added, a
/// call approved; a draft survives that the server is gone, and the inbox connects again.
#[test]
fn m43_the_inbox_answers_customers_of_a_server() {
    let demo = DemoInstallation::new();
    let key = ["key", "create", "test", "--org", "bella", "--role", "owner"];
    let key = demo.json(&key)["secret"].as_str().expect("a key").to_owned();
    let mut server = RunningServer::start(&demo.home());
    let terminal = TmuxTerminal::new(100, 30);
    let folder = terminal.folder.path().display().to_string();
    let command = format!(
        "clear; cd {folder}; unset OSTLER_HOME OSTLER_ORG; HOME={folder} XDG_CONFIG_HOME={folder} \
         OSTLER_API_KEY={key} TERM=screen-256color {} inbox --server http://{}",
        env!("CARGO_BIN_EXE_ostler"),
        server.address,
    );
    terminal.keys(&[&command, "Enter"]);
    terminal.wait_for("● live");
    terminal.wait_for("Allow? refund_payment");
    terminal.keys(&["t"]);
    terminal.wait_for("● you have it");
    write(&terminal, "r", "Hello Rosa, I am Ada.");
    terminal.wait_for("Sent.");
    write(&terminal, "i", "She called yesterday.");
    terminal.wait_for("✎ note of you");

    terminal.keys(&["r"]);
    terminal.tmux(&["send-keys", "-l", "half a thought"]);
    terminal.wait_for("› half a thought");
    server.kill();
    terminal.wait_for("No connection");
    terminal.keys(&["Enter"]);
    terminal.wait_for("Not done");
    let _server = RunningServer::start_at(&server.address, &demo.home());
    terminal.wait_for("● live");
    terminal.wait_for("› half a thought");
    terminal.keys(&["Enter"]);
    terminal.wait_for("Sent.");

    write(&terminal, "h", "The refund is fine.");
    terminal.wait_for("Gia answers");
    std::thread::sleep(GUARD);
    terminal.keys(&["y"]);
    terminal.wait_for("✓ refund_payment");
    terminal.keys(&["q"]);
    terminal.wait("the shell", |screen| !screen.contains("● live"));
    let shown = demo.run(&["session", "show", "rosa", "--org", "bella"]);
    for text in ["Hello Rosa, I am Ada.", "half a thought"] {
        assert_eq!(shown.matches(text).count(), 1, "{shown}");
    }
    let drafts = terminal.folder.path().join(".local/share/ostler/drafts");
    let files = std::fs::read_dir(drafts).expect("the folder");
    assert_eq!(files.count(), 0, "what was sent is no draft");
}

/// M43: without a terminal, the inbox of an installation prints lines and reads commands.
#[test]
fn m43_the_inbox_reads_commands_from_a_pipe() {
    let demo = DemoInstallation::new();
    let mut inbox = Command::new(env!("CARGO_BIN_EXE_ostler"))
        .args(["inbox", "--org", "bella", "--home", &demo.home()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("ostler runs");
    let mut input = inbox.stdin.take().expect("its input");
    let commands = "1\nt\nr Hello from a pipe\ni A note\nx it was eaten\nh It is settled\nfly\nq\n";
    input.write_all(commands.as_bytes()).expect("written");
    let output = inbox.wait_with_output().expect("it ends");
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(output.status.code(), Some(1), "`fly` is no command: {text}");
    assert!(!text.contains('\x1b'), "{text}");
    for line in [
        "1. Rosa: 1 call to decide",
        "⚑ waits for a person",
        "You have it",
        "Sent.",
        "Noted.",
        "Rejected; the agent learns why.",
        "Handed back",
        "Commands: NUMBER opens",
    ] {
        assert!(text.contains(line), "{line}:\n{text}");
    }
    let show = demo.run(&["session", "show", "rosa", "--org", "bella"]);
    assert!(show.contains("Hello from a pipe") && show.contains("it was eaten"), "{show}");
}
