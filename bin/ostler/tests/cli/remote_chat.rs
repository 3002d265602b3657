//! `ostler chat --connect`: a chat whose thread is on a server.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::demo::DemoInstallation;
use crate::running_server::RunningServer;
use crate::tmux::TmuxTerminal;

/// Keys of a card count only some time after it was drawn.
const GUARD: Duration = Duration::from_millis(400);

/// A demo whose threads follow the script for coding, and have a folder.
fn demo_with_threads() -> (DemoInstallation, String) {
    let demo = DemoInstallation::new();
    let home = demo.home();
    let file = |name: &str| Path::new(&home).join(name);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scripts/coding.yaml");
    fs::copy(script, file("threads.yaml")).expect("copied");
    let text = fs::read_to_string(file("ostler.toml")).expect("a configuration");
    let others = text.lines().filter(|line| !line.starts_with("script ="));
    let own = "script = 'threads.yaml'\nlease_timeout_secs = 2\nthread_workspaces = 'work'\n";
    let text = format!("{own}{}\n", others.collect::<Vec<_>>().join("\n"));
    fs::write(file("ostler.toml"), text).expect("written");
    let key = ["key", "create", "test", "--org", "bella", "--role", "owner"];
    let key = demo.json(&key)["secret"].as_str().expect("a key").to_owned();
    (demo, key)
}

/// M43: over HTTP, a chat has permission cards, questions, plans, modes, images, following up,
/// steering and stopping, and continues when the server is there again.
#[test]
fn m43_a_chat_with_a_thread_on_a_server() {
    let (demo, key) = demo_with_threads();
    let mut server = RunningServer::start(&demo.home());
    let address = server.address.clone();
    let terminal = TmuxTerminal::new(80, 30);
    let folder = terminal.folder.path().display().to_string();
    let image = terminal.folder.path().join("photo.png");
    fs::write(&image, b"\x89PNG\r\n\x1a\n and the rest").expect("an image");
    let start = |more: &str, ready: &str| {
        let command = format!(
            "clear; cd {folder}; unset OSTLER_HOME OSTLER_ORG; HOME={folder} \
             XDG_CONFIG_HOME={folder} OSTLER_API_KEY={key} TERM=screen-256color {} chat \
             --connect http://{} {more}",
            env!("CARGO_BIN_EXE_ostler"),
            address,
        );
        terminal.keys(&[&command, "Enter"]);
        terminal.wait_for(ready);
    };
    start("", "? help");
    // It would hold for all threads, and not end with the chat.
    terminal.send("/yolo");
    terminal.wait_for("this would hold for all your threads");
    terminal.send("write a.txt");
    terminal.wait_for("Allow? Write a.txt");
    std::thread::sleep(GUARD);
    terminal.keys(&["y"]);
    terminal.wait_for("✓ Write a.txt");
    terminal.send("write b.txt");
    terminal.wait_for("Allow? Write b.txt");
    std::thread::sleep(GUARD);
    terminal.keys(&["d"]);
    terminal.wait_for("Write why");
    terminal.send("not here");
    terminal.wait_for("⊘ Write b.txt");

    terminal.send("which colour");
    terminal.wait_for("? Which colour?");
    std::thread::sleep(GUARD);
    terminal.keys(&["2"]);
    terminal.wait_for("You chose blue.");

    terminal.send("/mode plan");
    terminal.wait_for("The mode is plan now.");
    terminal.send("make a plan");
    terminal.wait_for("Plan: Add a greeting");
    std::thread::sleep(GUARD);
    terminal.keys(&["y"]);
    terminal.wait_for("Allow? Write greeting.txt");
    std::thread::sleep(GUARD);
    terminal.keys(&["y"]);
    terminal.wait_for("The plan is carried out.");

    terminal.send("think");
    terminal.wait_for("This is");
    terminal.send("show tasks");
    terminal.wait_for("1 after this turn");
    terminal.keys(&["Escape"]);
    terminal.wait_for("Stopped.");
    terminal.keys(&["Enter"]);
    terminal.wait_for("These are my tasks.");
    terminal.send("think");
    terminal.wait("the story", |screen| screen.matches("This is").count() > 1);
    terminal.tmux(&["send-keys", "-l", "which colour"]);
    terminal.keys(&["C-s"]);
    terminal.wait("the question", |screen| screen.contains("1 red"));
    std::thread::sleep(GUARD);
    terminal.keys(&["1"]);
    terminal.wait_for("You chose red.");

    terminal.send(&format!("/image {}", image.display()));
    terminal.wait_for("[image photo.png, 21 bytes]");
    terminal.keys(&["Enter"]);
    terminal.wait_for("⊞ photo.png, 21 bytes");

    server.kill();
    terminal.wait_for("The connection is lost");
    let _server = RunningServer::start_at(&address, &demo.home());
    terminal.wait_for("The connection is back.");
    // The lease of the server that is gone ends.
    std::thread::sleep(Duration::from_secs(3));
    terminal.send("read a.txt");
    terminal.wait_for("hello from the agent");
    terminal.keys(&["C-d"]);
    terminal.wait("the shell", |screen| !screen.contains("? help"));

    // The thread is on the server, with every line once.
    terminal.keys(&["clear", "Enter"]);
    terminal.tmux(&["clear-history"]);
    start("--resume --mode plan", "? help");
    terminal.wait_for("It says:");
    terminal.wait("the mode", |screen| screen.contains("plan · "));
    let all = terminal.all();
    for line in ["› write a.txt", "You chose blue.", "The plan is carried out.", "It says:"] {
        assert_eq!(all.matches(line).count(), 1, "{line}:\n{all}");
    }
}
