//! A terminal of tmux, which types keys and shows the screen.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(30);

/// A terminal in which a shell runs, with a folder of its own.
pub(crate) struct TmuxTerminal {
    pub(crate) folder: TempDir,
}

impl TmuxTerminal {
    pub(crate) fn new(columns: u16, rows: u16) -> Self {
        let terminal = Self { folder: tempfile::tempdir().expect("a folder") };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        terminal.tmux(&["new-session", "-d", "-x", &columns, "-y", &rows, "sh"]);
        terminal.tmux(&["set-option", "-g", "history-limit", "50000"]);
        terminal
    }

    pub(crate) fn tmux(&self, args: &[&str]) -> Output {
        let output = Command::new("tmux")
            .arg("-S")
            .arg(self.folder.path().join("tmux"))
            .args(["-f", "/dev/null"])
            .args(args)
            .stdin(Stdio::null())
            .output();
        let output = output.expect("tmux is installed; scripts/install-services does that");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }

    /// Presses keys, by the names of tmux.
    pub(crate) fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    pub(crate) fn send(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
        self.wait_for(&format!("› {text}"));
        self.keys(&["Enter"]);
    }

    pub(crate) fn screen(&self) -> String {
        String::from_utf8(self.tmux(&["capture-pane", "-p"]).stdout).expect("text")
    }

    /// Returns scrollback and screen.
    pub(crate) fn all(&self) -> String {
        String::from_utf8(self.tmux(&["capture-pane", "-p", "-S", "-"]).stdout).expect("text")
    }

    /// Waits until the screen has a text.
    pub(crate) fn wait_for(&self, text: &str) -> String {
        self.wait(text, |screen| screen.contains(text))
    }

    pub(crate) fn wait(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let screen = self.screen();
            if holds(&screen) {
                return screen;
            }
            assert!(start.elapsed() < PATIENCE, "waiting for {what}:\n{screen}");
            std::thread::sleep(Duration::from_millis(40));
        }
    }
}

impl Drop for TmuxTerminal {
    fn drop(&mut self) {
        let socket = self.folder.path().join("tmux");
        let _ = Command::new("tmux").arg("-S").arg(socket).arg("kill-server").output();
    }
}
