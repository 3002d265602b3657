//! Starting commands and watching them.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin, Command};

use crate::sandbox::capture::{CapturedOutput, CommandOutput, DiscardOutput};
use crate::sandbox::helper::{HELPER_ARGUMENT, HELPER_VARIABLE};
use crate::sandbox::limits::CommandLimits;
use crate::sandbox::run_scope::RunScope;
use crate::sandbox::spec::{CommandUser, HelperSpec, Isolation, Namespaces};
use crate::sandbox::status::{Enforcement, SandboxStatus};
use crate::sandbox::watch::{KILL_TIMEOUT, Watch};
use crate::sandbox::{DetectedSandbox, Sandbox, Unsandboxed};

/// The user `nobody`, as whom commands run in a workspace of root.
const NOBODY: u32 = 65534;
/// How long the start of a trial command may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
/// Paths of a workspace that programs outside trust, so that commands cannot change them.
const PROTECTED: [&str; 3] = [".git/hooks", ".git/config", ".ostler"];

/// A command to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRequest {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The working directory, relative to the root.
    pub directory: String,
    pub env: Vec<(String, String)>,
    /// Whether the command may use the network.
    pub network: bool,
    pub limits: CommandLimits,
    /// Allows the command where no sandbox is available.
    pub unsandboxed: Option<Unsandboxed>,
}

impl CommandRequest {
    /// Creates a request that runs a line in a shell, without the network.
    pub fn shell(line: impl Into<String>) -> Self {
        Self {
            command: vec!["/bin/sh".to_owned(), "-c".to_owned(), line.into()],
            directory: ".".to_owned(),
            env: Vec::new(),
            network: false,
            limits: CommandLimits::default(),
            unsandboxed: None,
        }
    }
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandEnd {
    /// With this code; 128 and the number of the signal if it was killed.
    Exited(i32),
    /// It was killed at the time limit.
    TimedOut,
    /// It was killed because it had written too much.
    OutputLimit,
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandResult {
    pub end: CommandEnd,
    pub output: CapturedOutput,
    /// Whether a process was killed for using too much memory. Only control groups tell.
    pub out_of_memory: bool,
    /// Whether a process could not be started because there were too many. Only control
    /// groups tell.
    pub out_of_processes: bool,
    pub duration: Duration,
    /// What was in force.
    pub enforcement: Enforcement,
}

/// The reason why a command was not run.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error("{status}; a person can accept to run commands without one")]
    NoSandbox { status: Arc<SandboxStatus> },
    /// The sandbox could not be set up.
    #[error("the command was not started: {0}")]
    NotStarted(String),
    #[error(transparent)]
    Workspace(#[from] crate::error::WorkspaceError),
}

impl Sandbox {
    /// Runs a command in `directory`, an absolute path, and kills all its processes at the end,
    /// at a limit, or when the future is dropped.
    pub(crate) async fn run(
        &self,
        request: &CommandRequest,
        directory: &Path,
        output: &dyn CommandOutput,
    ) -> Result<CommandResult, CommandError> {
        let DetectedSandbox { status, isolation } = self.detected().await;
        let isolation = match (isolation, &request.unsandboxed) {
            (Some(isolation), _) => isolation.clone(),
            (None, Some(accepted)) => {
                tracing::warn!(accepted_by = accepted.person(), "command runs without a sandbox");
                Isolation::Unsandboxed
            }
            (None, None) => return Err(CommandError::NoSandbox { status: status.clone() }),
        };
        self.run_isolated(&isolation, request, directory, output)
            .await
            .map_err(CommandError::NotStarted)
    }

    /// Starts a trial command and returns what is in force for it.
    pub(crate) async fn probe(&self, isolation: &Isolation) -> Result<Enforcement, String> {
        let mut request = CommandRequest::shell("exit 0");
        request.limits.time = PROBE_TIMEOUT;
        let result = self.run_isolated(isolation, &request, &self.root, &DiscardOutput).await?;
        match result.end {
            CommandEnd::Exited(0) => Ok(result.enforcement),
            end => Err(format!("a trial command ended with {end:?}: {}", result.output.text())),
        }
    }

    async fn run_isolated(
        &self,
        isolation: &Isolation,
        request: &CommandRequest,
        directory: &Path,
        output: &dyn CommandOutput,
    ) -> Result<CommandResult, String> {
        let started = Instant::now();
        let user = self.user()?;
        let owner = user.map(|user| (user.uid, user.gid));
        let grouped = self.options.control_groups.then_some(&request.limits.resources);
        let scope = RunScope::create(owner, grouped)
            .map_err(|error| format!("no temporary directory: {error}"))?;
        let spec = self.spec(isolation, request, directory, user, &scope);
        let (mut child, lifeline) = self.start_helper(&spec).await.map_err(|error| {
            format!("the helper {} cannot be started: {error}", self.options.helper.path.display())
        })?;
        let mut captured = CapturedOutput::new(request.limits.kept_output_bytes);
        let watch =
            Watch { limits: &request.limits, listener: output, captured: &mut captured, lifeline };
        let end = watch.until_end(&mut child).await;
        let exit = tokio::time::timeout(KILL_TIMEOUT, child.wait()).await;
        let code = exit.ok().and_then(Result::ok).and_then(|status| status.code());
        let enforcement = scope.read_report().map_err(|why| match captured.text().trim() {
            "" => why,
            text => format!("{why}: {text}"),
        })?;
        let result = CommandResult {
            end: end.unwrap_or(CommandEnd::Exited(code.unwrap_or(-1))),
            output: captured,
            out_of_memory: scope.groups().was_out_of_memory(),
            out_of_processes: scope.groups().was_out_of_processes(),
            duration: started.elapsed(),
            enforcement,
        };
        scope.close().await;
        Ok(result)
    }

    /// Returns the user to run commands as, if this process is root.
    fn user(&self) -> Result<Option<CommandUser>, String> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let owner = std::fs::metadata(&self.root)
            .map_err(|error| format!("{}: {error}", self.root.display()))?;
        let (uid, gid) = match self.options.user {
            Some(user) => user,
            None if owner.uid() != 0 => (owner.uid(), owner.gid()),
            None => (NOBODY, NOBODY),
        };
        Ok(Some(CommandUser { uid, gid, override_permissions: owner.uid() != uid }))
    }

    fn spec(
        &self,
        isolation: &Isolation,
        request: &CommandRequest,
        directory: &Path,
        user: Option<CommandUser>,
        scope: &RunScope,
    ) -> HelperSpec {
        let groups = scope.groups();
        HelperSpec {
            isolation: isolation.clone(),
            helper: self.options.helper.path.clone(),
            root: self.root.clone(),
            directory: directory.to_owned(),
            temporary: scope.temporary(),
            readable: self.options.readable.clone(),
            protected: PROTECTED.map(str::to_owned).to_vec(),
            network: request.network,
            user: user.filter(|_| *isolation != Isolation::Unsandboxed),
            limits: request.limits.resources,
            cgroups: groups.joins(),
            memory_by_cgroup: groups.limits_memory(),
            processes_by_cgroup: groups.limits_processes(),
            other_threads: 0,
            report: scope.report(),
            namespaces: Namespaces::default(),
            command: request.command.clone(),
            env: self.environment(isolation, request),
        }
    }

    /// Returns a minimal environment: nothing of this process but its path and language.
    fn environment(
        &self,
        isolation: &Isolation,
        request: &CommandRequest,
    ) -> Vec<(String, String)> {
        let inherited: &[&str] = match isolation {
            Isolation::Unsandboxed => &["PATH", "LANG", "LC_ALL", "TZ", "HOME", "USER"],
            _ => &["PATH", "LANG", "LC_ALL", "TZ"],
        };
        let mut env: Vec<(String, String)> = inherited
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
            .collect();
        env.push(("TERM".to_owned(), "dumb".to_owned()));
        // The workspace may belong to another user than the one that git runs as.
        let trust = [("COUNT", "1"), ("KEY_0", "safe.directory"), ("VALUE_0", "*")];
        env.extend(trust.map(|(name, value)| (format!("GIT_CONFIG_{name}"), value.to_owned())));
        env.extend(self.options.env.iter().chain(&request.env).cloned());
        env
    }

    /// Starts the helper. The command lives until the second value is dropped.
    async fn start_helper(&self, spec: &HelperSpec) -> std::io::Result<(Child, ChildStdin)> {
        let mut command = Command::new(&self.options.helper.path);
        command.arg(HELPER_ARGUMENT).env_clear().env(HELPER_VARIABLE, "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.current_dir("/").spawn()?;
        let mut line = serde_json::to_vec(spec)?;
        line.push(b'\n');
        let mut stdin = child.stdin.take().ok_or_else(|| std::io::Error::other("no input"))?;
        stdin.write_all(&line).await?;
        stdin.flush().await?;
        Ok((child, stdin))
    }
}
