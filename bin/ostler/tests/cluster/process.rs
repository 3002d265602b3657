//! Processes of `ostler`.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::installation::ClusterInstallation;

/// A running `ostler serve` or `ostler worker`.
pub(crate) struct Process {
    process: Child,
    /// The address of the HTTP API, if it serves one.
    pub(crate) address: Option<String>,
}

impl Process {
    pub(crate) fn serve(installation: &ClusterInstallation) -> Self {
        Self::start(installation, &["serve", "--listen", "127.0.0.1:0"])
    }

    pub(crate) fn worker(installation: &ClusterInstallation) -> Self {
        Self::start(installation, &["worker"])
    }

    fn start(installation: &ClusterInstallation, command: &[&str]) -> Self {
        let (name, value) = installation.secret();
        let mut process = Command::new(env!("CARGO_BIN_EXE_ostler"))
            .args(command)
            .arg("--home")
            .arg(installation.folder.path())
            .env(name, value)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let first_line = BufReader::new(process.stdout.take().unwrap()).lines().next();
        let first_line = first_line.expect("a first line").unwrap();
        let address = first_line.split("http://").nth(1).and_then(|rest| rest.split(';').next());
        let address = address.map(str::to_owned);
        Self { process, address }
    }

    /// Kills the process with -9.
    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Sends SIGTERM and waits until the process ends successfully.
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
