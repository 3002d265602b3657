//! `@xterm/headless` in a process of Node.js, which answers line by line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::{Emulator, without_spaces};

/// A process with one terminal at a time.
pub(in super::super) struct Xterm {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Xterm {
    /// Starts the process. Its packages are installed if they are not.
    pub(in super::super) fn start() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let installed = Command::new(folder.join("../../scripts/install-npm")).output();
        let installed = installed.expect("the script runs");
        let said = String::from_utf8_lossy(&installed.stderr).into_owned();
        assert!(installed.status.success(), "scripts/install-npm: {said}");
        let packages = String::from_utf8(installed.stdout).expect("a folder");
        let packages = PathBuf::from(packages.trim());
        let mut process = Command::new(packages.join("node"))
            .arg(folder.join("src/tests/emulator/xterm.mjs"))
            .arg(packages.join("package.json"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Node.js runs");
        let input = process.stdin.take().expect("its input");
        let output = BufReader::new(process.stdout.take().expect("its output"));
        Self { process, input, output }
    }

    fn send(&mut self, request: &Value) {
        writeln!(self.input, "{request}").expect("the emulator listens");
    }
}

impl Emulator for Xterm {
    fn open(&mut self, (columns, rows): (usize, usize)) {
        self.send(&json!({"open": [columns, rows]}));
    }

    fn write(&mut self, text: &str) {
        self.send(&json!({"write": text}));
    }

    fn resize(&mut self, (columns, rows): (usize, usize)) {
        self.send(&json!({"resize": [columns, rows]}));
    }

    fn text(&mut self) -> String {
        self.send(&json!({"text": true}));
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the emulator answers");
        let text: String = serde_json::from_str(&line).expect("a text");
        without_spaces(&text)
    }
}

impl Drop for Xterm {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
