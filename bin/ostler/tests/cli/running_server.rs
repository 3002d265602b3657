//! A running `ostler serve`.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server on a free port, which is killed when it is dropped.
pub(crate) struct RunningServer {
    process: Child,
    pub(crate) address: String,
}

impl RunningServer {
    pub(crate) fn start(home: &str) -> Self {
        Self::start_at("127.0.0.1:0", home)
    }

    pub(crate) fn start_at(address: &str, home: &str) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_ostler"))
            .args(["serve", "--listen", address, "--home", home])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let output = BufReader::new(process.stdout.take().expect("an output"));
        let said = output.lines().next().expect("a line").expect("it says where it listens");
        let address = said.split("http://").nth(1).and_then(|rest| rest.split(';').next());
        Self { process, address: address.expect("an address").to_owned() }
    }

    /// Sends SIGTERM.
    pub(crate) fn terminate(&self) {
        let pid = rustix::process::Pid::from_child(&self.process);
        let signal = rustix::process::Signal::TERM;
        rustix::process::kill_process(pid, signal).expect("it runs");
    }

    /// Waits until the server ends by itself. Returns whether it ended in success, or `None`
    /// if it still runs after this time.
    pub(crate) fn ended_within(&mut self, limit: Duration) -> Option<bool> {
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline {
            if let Some(status) = self.process.try_wait().expect("its status") {
                return Some(status.success());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        None
    }

    /// Kills the server, and returns what it said on standard error.
    pub(crate) fn kill(&mut self) -> String {
        self.process.kill().expect("it runs");
        let mut said = String::new();
        let mut errors = self.process.stderr.take().expect("standard error");
        errors.read_to_string(&mut said).expect("text");
        said
    }

    /// Waits until the server ends by itself, and returns what it said on standard error.
    pub(crate) fn wait_for_exit(&mut self) -> String {
        let mut said = String::new();
        let mut errors = self.process.stderr.take().expect("standard error");
        errors.read_to_string(&mut said).expect("text");
        assert!(!self.process.wait().expect("it ends").success(), "{said}");
        said
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        let _gone_already = self.process.kill();
        let _gone_already = self.process.wait();
    }
}
