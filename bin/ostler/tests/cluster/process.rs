//! `ostler` in a process of its own.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::world::Installation;

/// A process that serves or works.
pub(crate) struct Process {
    process: Child,
    /// Where it is reached, if it serves.
    pub(crate) address: Option<String>,
}

impl Process {
    pub(crate) fn serve(place: &Installation) -> Self {
        Self::start(place, &["serve", "--listen", "127.0.0.1:0"])
    }

    pub(crate) fn work(place: &Installation) -> Self {
        Self::start(place, &["worker"])
    }

    fn start(place: &Installation, command: &[&str]) -> Self {
        let (name, value) = place.secret();
        let mut process = Command::new(env!("CARGO_BIN_EXE_ostler"))
            .args(command)
            .arg("--home")
            .arg(place.folder.path())
            .env(name, value)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(process.stdout.take().unwrap()).lines().next();
        let said = said.expect("it says why it does not start").unwrap();
        let address = said.split("http://").nth(1).and_then(|rest| rest.split(';').next());
        let address = address.map(str::to_owned);
        Self { process, address }
    }

    /// Kills it with -9.
    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Tells it to stop; it finishes what it has begun, and ends well.
    pub(crate) async fn stop(mut self) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        for _ in 0..600 {
            if let Some(status) = self.process.try_wait().unwrap() {
                assert!(status.success(), "{status}");
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("a process did not stop within a minute");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _gone_already = self.process.kill();
        let _gone_already = self.process.wait();
    }
}
