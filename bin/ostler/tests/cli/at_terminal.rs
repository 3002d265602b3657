//! Commands that ask a person: the test answers on a terminal of their own.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Output, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// A command that runs until it asks a question.
pub(crate) struct AskingCommand {
    child: Child,
    terminal: File,
    /// What it has printed.
    pub(crate) printed: String,
}

impl AskingCommand {
    /// Starts a command and waits for its question.
    pub(crate) fn start(args: &[&str]) -> Self {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&terminal).expect("a terminal");
        unlockpt(&terminal).expect("a terminal");
        let name = ptsname(&terminal, Vec::new()).expect("a name").into_string().expect("a path");
        let keyboard = OpenOptions::new().read(true).open(name).expect("the other side");
        let mut child = Command::new(env!("CARGO_BIN_EXE_ostler"))
            .args(args)
            .stdin(keyboard)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("ostler runs");
        let mut printed = Vec::new();
        let mut byte = [0];
        let output = child.stdout.as_mut().expect("its output");
        while !printed.ends_with(b"[y/N] ") {
            let count = output.read(&mut byte).expect("its output is read");
            assert!(
                count == 1,
                "it ended without a question: {}",
                String::from_utf8_lossy(&printed)
            );
            printed.push(byte[0]);
        }
        let printed = String::from_utf8(printed).expect("text");
        Self { child, terminal: File::from(terminal), printed }
    }

    /// Answers the question and returns what it prints from then on.
    pub(crate) fn answer(mut self, text: &str) -> Output {
        writeln!(self.terminal, "{text}").expect("typed");
        self.child.wait_with_output().expect("it ends")
    }
}
