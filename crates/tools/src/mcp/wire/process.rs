//! The program that a server is: started with a small environment, in a process
//! group of its own, which is killed when nobody holds it any more.

use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ostler_engine::secret::{self, Secret};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::mcp::config::StdioServer;
use crate::mcp::problem::Trouble;

/// Variables that nearly every program needs.
const USUAL: [&str; 9] =
    ["PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "SYSTEMROOT"];
/// How much of the error output is remembered.
const REMEMBERED: usize = 4096;
/// How much of it is shown.
const SHOWN: usize = 500;
/// How often is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(20);
/// How long it may take until a killed program is gone.
const REAP: Duration = Duration::from_secs(1);

/// A running program.
pub(super) struct Process {
    child: Child,
    /// Its group, until the group is killed. The program is not waited for
    /// before that, so that its number cannot have gone to another one.
    group: Option<Pid>,
    words: Words,
    listener: JoinHandle<()>,
}

impl Process {
    /// Starts a program.
    pub(super) fn start(server: &StdioServer) -> Result<(Self, ChildStdout, ChildStdin), Trouble> {
        let trouble = |why: String| Trouble::Spawn { command: server.command.clone(), why };
        let mut secrets = Vec::new();
        let mut command = Command::new(&server.command);
        command.args(&server.args).env_clear();
        let inherited = USUAL.into_iter().chain(server.inherit.iter().map(String::as_str));
        command.envs(inherited.filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.envs(&server.set);
        for (name, at) in &server.secrets {
            let secret = secret::read(at)?;
            command.env(name, secret.expose());
            secrets.push(secret);
        }
        if let Some(folder) = &server.folder {
            command.current_dir(folder);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| trouble(error.to_string()))?;
        let group = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let words = Words { said: Arc::default(), secrets: secrets.into() };
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(trouble("it has no input and output".to_owned()));
        };
        let listener = tokio::spawn(words.clone().listen(stderr));
        let process = Self { child, group, words, listener };
        Ok((process, stdout, stdin))
    }

    /// What it last wrote to its error output.
    pub(super) fn words(&self) -> Words {
        self.words.clone()
    }

    /// Waits a while for it to end by itself, then ends it and all it started.
    pub(super) async fn end(mut self, grace: Duration) {
        let ended = async {
            while !self.has_ended() {
                sleep(LOOK).await;
            }
        };
        let _ = timeout(grace, ended).await;
        self.kill();
        let _ = timeout(REAP, self.child.wait()).await;
        // Whoever holds the other end outside the group is not waited for long.
        let _ = timeout(REAP, &mut self.listener).await;
    }

    /// Whether it has ended, without taking notice of it.
    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.group.is_none_or(|pid| !matches!(waitid(WaitId::Pid(pid), options), Ok(None)))
    }

    fn kill(&mut self) {
        if let Some(group) = self.group.take() {
            // An error means that nobody is left in the group.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        self.listener.abort();
    }
}

/// The last that a program wrote to its error output.
#[derive(Clone)]
pub(super) struct Words {
    said: Arc<Mutex<VecDeque<u8>>>,
    secrets: Arc<[Secret]>,
}

impl Words {
    async fn listen(self, mut stderr: ChildStderr) {
        let mut chunk = [0; 1024];
        while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
            let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
            said.extend(&chunk[..read]);
            let over = said.len().saturating_sub(REMEMBERED);
            said.drain(..over);
        }
    }

    /// The end of it, with the secrets that the program was given blotted out.
    pub(super) fn last(&self) -> Option<String> {
        let bytes: Vec<u8> = {
            let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
            said.iter().copied().collect()
        };
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        for secret in self.secrets.iter() {
            text = secret.hide_in(&text);
        }
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let line = lines.collect::<Vec<_>>().join(" / ");
        let plain: String = line.chars().filter(|c| !c.is_control()).collect();
        let from = plain.ceil_char_boundary(plain.len().saturating_sub(SHOWN));
        Some(plain[from..].to_owned()).filter(|words| !words.is_empty())
    }
}
