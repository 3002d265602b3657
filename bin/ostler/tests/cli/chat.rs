//! `ostler chat` in a real terminal: tmux types the keys and shows the screen.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::tmux::TmuxTerminal;

/// Keys of a card count only some time after it was drawn.
const CARD_GUARD: Duration = Duration::from_millis(400);

/// A chat in a terminal of its own.
struct Chat(TmuxTerminal);

impl std::ops::Deref for Chat {
    type Target = TmuxTerminal;

    fn deref(&self) -> &TmuxTerminal {
        &self.0
    }
}

impl Chat {
    /// Starts a chat in an empty folder, and waits until it is ready.
    fn start() -> Self {
        let chat = Self(TmuxTerminal::new(80, 24));
        fs::create_dir(chat.folder.path().join("shop")).expect("a folder");
        fs::create_dir(chat.folder.path().join("home")).expect("a folder");
        chat.run("", "? help");
        chat
    }

    /// Starts the program in the terminal, and waits for a text.
    fn run(&self, arguments: &str, ready: &str) {
        let (program, home) = (env!("CARGO_BIN_EXE_ostler"), self.folder.path().join("home"));
        let script =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/scripts/coding.yaml");
        let command = format!(
            "clear; unset OSTLER_HOME; cd {}; HOME={} TERM=screen-256color {program} chat --script {} {arguments}",
            self.shop().display(),
            home.display(),
            script.display(),
        );
        self.keys(&[&command, "Enter"]);
        self.wait_for(ready);
    }

    fn shop(&self) -> PathBuf {
        self.folder.path().join("shop")
    }

    /// Waits for a card, and until its keys count.
    fn wait_for_card(&self, text: &str) {
        self.wait_for(text);
        std::thread::sleep(CARD_GUARD);
    }

    fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.shop().join(file)).ok()
    }

    /// Returns the process id of the program.
    fn process(&self) -> String {
        let shell = self.tmux(&["display-message", "-p", "#{pane_pid}"]).stdout;
        let shell = String::from_utf8(shell).expect("text").trim().to_owned();
        let children = fs::read_to_string(
            Path::new("/proc").join(&shell).join("task").join(&shell).join("children"),
        );
        children
            .expect("the shell runs")
            .split_whitespace()
            .next()
            .expect("the program runs")
            .to_owned()
    }
}

/// M43: a call is approved, declined with a reason, edited, and allowed from now on.
#[test]
fn m43_calls_are_answered_with_one_key() {
    let chat = Chat::start();
    chat.send("write a.txt");
    chat.wait_for_card("Allow? Write a.txt");
    chat.keys(&["y"]);
    chat.wait_for("✓ Write a.txt");
    assert!(chat.read("a.txt").is_some());

    chat.send("write b.txt");
    chat.wait_for_card("Allow? Write b.txt");
    chat.keys(&["d"]);
    chat.wait_for("Write why");
    chat.send("not here");
    chat.wait_for("⊘ Write b.txt");
    assert!(chat.screen().contains("not here") && chat.read("b.txt").is_none());

    chat.send("write c.txt");
    chat.wait_for_card("Allow? Write c.txt");
    chat.keys(&["e"]);
    chat.wait_for("Edit the arguments");
    chat.keys(&["C-c"]);
    chat.tmux(&["send-keys", "-l", r#"{"path": "d.txt", "content": "edited"}"#]);
    chat.keys(&["Enter"]);
    chat.wait_for("✓ Write");
    chat.wait("the file", |_| chat.read("d.txt").as_deref() == Some("edited"));
    assert_eq!(chat.read("c.txt"), None);

    chat.send("write e.txt");
    chat.wait_for_card("Allow? Write e.txt");
    chat.keys(&["a"]);
    chat.wait_for("This rule would be written");
    chat.keys(&["p"]);
    chat.wait("the file", |_| chat.read("e.txt").is_some());
    assert!(chat.read(".ostler/permissions.toml").expect("a rule").contains("write_file"));
}

/// M43: questions, plans and tasks have a form of their own; modes change by key.
#[test]
fn m43_questions_plans_tasks_and_modes() {
    let chat = Chat::start();
    chat.send("which colour");
    chat.wait_for_card("? Which colour?");
    chat.keys(&["2"]);
    chat.wait_for("You chose blue.");
    chat.send("show tasks");
    chat.wait_for("☰ Tasks 1 of 2");
    chat.keys(&["BTab"]);
    chat.wait_for("The mode is ");
    chat.send("/mode plan");
    chat.wait_for("plan · scripted");
    chat.send("make a plan");
    chat.wait_for_card("Plan: Add a greeting");
    chat.keys(&["y"]);
    chat.wait_for_card("Allow? Write greeting.txt");
    chat.keys(&["y"]);
    chat.wait_for("The plan is carried out.");
    assert_eq!(chat.read("greeting.txt").as_deref(), Some("hello\n"));
}

/// M43: a turn is stopped, followed up and steered; what waits is parked and continued.
#[test]
fn m43_turns_are_stopped_followed_and_steered() {
    let chat = Chat::start();
    chat.send("think");
    chat.wait_for("This is");
    chat.send("read first.txt");
    chat.wait_for("1 after this turn");
    chat.keys(&["Escape"]);
    chat.wait_for("Stopped.");
    chat.wait_for("1 waiting");
    chat.keys(&["Enter"]);
    chat.wait_for("› read first.txt");
    chat.wait_for("It says:");
    chat.send("think");
    chat.wait("the story", |screen| screen.matches("This is").count() > 1);
    chat.tmux(&["send-keys", "-l", "show tasks"]);
    chat.keys(&["C-s"]);
    chat.wait_for("These are my tasks.");
}

/// M43, Z16: after `kill -9`, the open question, the draft and the thread are there again;
/// each line once, whatever happened to the size.
#[test]
fn m43_z16_a_chat_survives_a_kill_and_a_storm_of_sizes() {
    let chat = Chat::start();
    chat.send("read nothing.txt");
    chat.wait_for("It says:");
    chat.send("write late.txt");
    chat.wait_for_card("Allow? Write late.txt");
    for (columns, rows) in
        [("40", "12"), ("120", "40"), ("61", "9"), ("200", "50"), ("30", "20"), ("80", "24")]
    {
        chat.tmux(&["resize-window", "-x", columns, "-y", rows]);
        std::thread::sleep(Duration::from_millis(30));
    }
    std::thread::sleep(Duration::from_millis(300));
    chat.wait_for("Allow? Write late.txt");
    assert_eq!(chat.all().matches("› read nothing.txt").count(), 1, "{}", chat.all());
    assert_eq!(chat.all().matches("It says:").count(), 1, "{}", chat.all());

    chat.keys(&["Tab"]);
    chat.tmux(&["send-keys", "-l", "half a thought"]);
    std::thread::sleep(Duration::from_millis(600));
    assert!(Command::new("kill").args(["-9", &chat.process()]).status().expect("kill").success());
    std::thread::sleep(Duration::from_millis(200));
    // The terminal is as the program left it: a line ends with a line feed.
    chat.keys(&["stty sane", "C-j"]);
    std::thread::sleep(Duration::from_millis(500));
    chat.keys(&["clear", "Enter"]);
    chat.wait("an empty screen", |screen| !screen.contains("? help"));
    chat.run("--resume", "› half a thought");
    chat.wait_for("Allow? Write late.txt");
    chat.keys(&["Tab"]);
    std::thread::sleep(CARD_GUARD);
    chat.keys(&["y"]);
    chat.wait_for("✓ Write late.txt");
    assert!(chat.read("late.txt").is_some());
}

/// M43: a paste of 1 MB is folded at once and sent as it was pasted.
#[test]
fn m43_a_paste_of_a_megabyte() {
    let chat = Chat::start();
    let pasted = "0123456789abcde\n".repeat(64 * 1024);
    let file = chat.folder.path().join("paste");
    fs::write(&file, &pasted).expect("a file");
    chat.tmux(&["load-buffer", &file.display().to_string()]);
    chat.tmux(&["paste-buffer", "-p"]);
    chat.wait_for("[paste 1: 65,536 lines]");
    chat.keys(&["Enter"]);
    chat.wait_for("more lines");
    chat.wait_for("I can write FILE");
    assert_eq!(chat.all().matches("[paste").count(), 0, "{}", chat.screen());
}

/// M43: in a pipe, lines are appended, and answers are read line by line.
#[test]
fn m43_a_pipe_gets_plain_lines() {
    use std::io::Write as _;
    let folder = tempfile::tempdir().expect("a folder");
    let script =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/scripts/coding.yaml");
    let mut chat = Command::new(env!("CARGO_BIN_EXE_ostler"))
        .args(["chat", "--script"])
        .arg(script.canonicalize().expect("the script"))
        .current_dir(folder.path())
        .env("HOME", folder.path())
        .env_remove("OSTLER_HOME")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("ostler runs");
    let mut input = chat.stdin.take().expect("its input");
    writeln!(input, "write x.txt\ny\nwhich colour\n2").expect("written");
    drop(input);
    let output = chat.wait_with_output().expect("it ends");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success() && !text.contains('\x1b'), "{text}");
    let expected = [
        "› write x.txt",
        "Allow? Write x.txt",
        "✓ Write x.txt",
        "? Which colour?",
        "You chose blue.",
    ];
    for line in expected {
        assert_eq!(
            text.matches(line).count(),
            if line == "? Which colour?" { 2 } else { 1 },
            "{line}: {text}"
        );
    }
    assert!(folder.path().join("x.txt").exists());
}
