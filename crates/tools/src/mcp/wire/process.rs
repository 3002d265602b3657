//! The process of a stdio server: started with a minimal environment in its own process
//! group, which is killed when the handle is dropped.

use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ostler_engine::secret::{Secret, SecretScope};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::mcp::config::{McpStdioServer, read_value};
use crate::mcp::error::McpServerError;

/// Environment variables that nearly every program needs.
const COMMON_ENV: [&str; 9] =
    ["PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "SYSTEMROOT"];
/// Bytes of error output that are kept.
const KEPT_STDERR_BYTES: usize = 4096;
/// Bytes of error output that are reported.
const REPORTED_STDERR_BYTES: usize = 500;
const EXIT_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How long to wait for a killed process.
const REAP_TIMEOUT: Duration = Duration::from_secs(1);

/// A running server process.
pub(super) struct Process {
    child: Child,
    /// The process group, until it is killed. The process is not reaped before that, so
    /// that its id cannot be reused.
    group: Option<Pid>,
    stderr: StderrTail,
    stderr_reader: JoinHandle<()>,
}

impl Process {
    /// Starts the program. Fails if a secret cannot be read or the program not started.
    pub(super) fn start(
        server: &McpStdioServer,
        scope: &SecretScope,
    ) -> Result<(Self, ChildStdout, ChildStdin), McpServerError> {
        let spawn_error =
            |reason: String| McpServerError::Spawn { command: server.command.clone(), reason };
        let mut secrets = Vec::new();
        let mut command = Command::new(&server.command);
        command.args(&server.args).env_clear();
        let inherited =
            COMMON_ENV.into_iter().chain(server.inherited_env.iter().map(String::as_str));
        command.envs(inherited.filter_map(|name| Some((name, std::env::var_os(name)?))));
        for (name, value) in &server.env {
            let (text, secret) = read_value(value, scope)?;
            command.env(name, text);
            secrets.extend(secret);
        }
        if let Some(dir) = &server.working_dir {
            command.current_dir(dir);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| spawn_error(error.to_string()))?;
        let group = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let stderr = StderrTail { bytes: Arc::default(), secrets: secrets.into() };
        let (Some(stdin), Some(stdout), Some(stderr_pipe)) = pipes else {
            return Err(spawn_error("it has no standard input and output".to_owned()));
        };
        let stderr_reader = tokio::spawn(stderr.clone().read_from(stderr_pipe));
        let process = Self { child, group, stderr, stderr_reader };
        Ok((process, stdout, stdin))
    }

    /// Returns the end of its error output.
    pub(super) fn stderr(&self) -> StderrTail {
        self.stderr.clone()
    }

    /// Waits up to `grace` for it to exit, then kills its process group.
    pub(super) async fn stop(mut self, grace: Duration) {
        let exited = async {
            while !self.has_exited() {
                sleep(EXIT_POLL_INTERVAL).await;
            }
        };
        let _ = timeout(grace, exited).await;
        self.kill();
        let _ = timeout(REAP_TIMEOUT, self.child.wait()).await;
        // A process outside the group may still hold the pipe; do not wait long for it.
        let _ = timeout(REAP_TIMEOUT, &mut self.stderr_reader).await;
    }

    /// Returns whether the process has exited, without reaping it.
    fn has_exited(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.group.is_none_or(|pid| !matches!(waitid(WaitId::Pid(pid), options), Ok(None)))
    }

    fn kill(&mut self) {
        if let Some(group) = self.group.take() {
            // An error means that the group is empty.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        self.stderr_reader.abort();
    }
}

/// The end of the error output of a process.
#[derive(Clone)]
pub(super) struct StderrTail {
    bytes: Arc<Mutex<VecDeque<u8>>>,
    secrets: Arc<[Secret]>,
}

impl StderrTail {
    async fn read_from(self, mut stderr: ChildStderr) {
        let mut chunk = [0; 1024];
        while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
            let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
            bytes.extend(&chunk[..read]);
            let excess = bytes.len().saturating_sub(KEPT_STDERR_BYTES);
            bytes.drain(..excess);
        }
    }

    /// Returns the output as one line with the secrets of the program redacted, or `None`
    /// if there is none.
    pub(super) fn text(&self) -> Option<String> {
        let bytes: Vec<u8> = {
            let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
            bytes.iter().copied().collect()
        };
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        for secret in self.secrets.iter() {
            text = secret.redact(&text);
        }
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let line = lines.collect::<Vec<_>>().join(" / ");
        let plain: String = line.chars().filter(|c| !c.is_control()).collect();
        let from = plain.ceil_char_boundary(plain.len().saturating_sub(REPORTED_STDERR_BYTES));
        Some(plain[from..].to_owned()).filter(|text| !text.is_empty())
    }
}
