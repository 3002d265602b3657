//! Commands in a sandbox.
//!
//! A command is started by a helper process (this program, started again), which gives up
//! rights step by step before the command begins: control groups, namespaces or bubblewrap,
//! an unprivileged user, Landlock, seccomp. [`helper`] is that process, [`command`] starts and
//! watches it. The sandbox fails closed: if a part that is needed cannot be set up, the
//! command does not start.

mod capture;
pub(crate) mod cgroup;
pub mod command;
pub mod helper;
pub mod limits;
mod run_scope;
mod spec;
pub mod status;
mod watch;

pub use capture::{CapturedOutput, CommandOutput, DiscardOutput, OutputStream};
pub use command::{CommandEnd, CommandError, CommandRequest, CommandResult};
pub use helper::{HelperProgram, run_helper_if_requested};
pub use limits::{CommandLimits, ResourceLimits};
pub use status::{Enforcement, LimitMechanism, SandboxKind, SandboxStatus};

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::OnceCell;

use spec::Isolation;

/// Where bubblewrap is looked for.
const BUBBLEWRAP_PATHS: [&str; 2] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap"];

/// A person's acceptance that commands run without a sandbox: with all rights of this
/// process, and with its network.
///
/// It must only be created when a person has been told what that means and has agreed; it
/// has no effect where a sandbox is available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsandboxed {
    accepted_by: String,
}

impl Unsandboxed {
    /// Records who agreed.
    pub fn accepted_by(person: impl Into<String>) -> Self {
        Self { accepted_by: person.into() }
    }

    /// Returns who agreed.
    pub fn person(&self) -> &str {
        &self.accepted_by
    }
}

/// How commands are isolated on this machine.
#[derive(Debug, Clone)]
pub struct SandboxOptions {
    pub helper: HelperProgram,
    /// The bubblewrap program; `None` if there is none.
    pub bubblewrap: Option<PathBuf>,
    /// Whether Landlock and seccomp may be used where bubblewrap is not available.
    pub landlock: bool,
    /// Whether namespaces are used in addition to Landlock where the system permits them.
    pub namespaces: bool,
    /// Whether control groups limit memory and processes where the system permits them.
    pub control_groups: bool,
    /// Files and directories that commands may read in addition to the system's programs and
    /// libraries, for example a tool chain in a home directory.
    pub readable: Vec<PathBuf>,
    /// The environment of every command, in addition to a minimal one. Nothing is inherited.
    pub env: Vec<(String, String)>,
    /// The user that commands run as if this process is root. By default the owner of the
    /// workspace; if that is root, the user `nobody`.
    pub user: Option<(u32, u32)>,
}

impl SandboxOptions {
    /// Creates options that use everything this machine offers.
    pub fn new(helper: HelperProgram) -> Self {
        let bubblewrap = BUBBLEWRAP_PATHS.iter().map(PathBuf::from).find(|path| path.is_file());
        Self {
            helper,
            bubblewrap,
            landlock: true,
            namespaces: true,
            control_groups: true,
            readable: Vec::new(),
            env: Vec::new(),
            user: None,
        }
    }
}

/// Starts commands for one workspace.
#[derive(Debug)]
pub(crate) struct Sandbox {
    options: SandboxOptions,
    root: PathBuf,
    detected: OnceCell<DetectedSandbox>,
}

/// What this machine offers.
#[derive(Debug, Clone)]
pub(crate) struct DetectedSandbox {
    status: Arc<SandboxStatus>,
    /// What works; `None` if nothing does.
    isolation: Option<Isolation>,
}

impl Sandbox {
    pub(crate) fn new(options: SandboxOptions, root: &Path) -> Self {
        Self { options, root: root.to_owned(), detected: OnceCell::new() }
    }

    /// Returns what is enforced for commands, determined by starting one.
    pub(crate) async fn status(&self) -> Arc<SandboxStatus> {
        self.detected().await.status.clone()
    }

    pub(crate) async fn detected(&self) -> &DetectedSandbox {
        self.detected.get_or_init(|| self.detect()).await
    }

    async fn detect(&self) -> DetectedSandbox {
        run_scope::remove_abandoned();
        let mut reasons = Vec::new();
        let mut isolations = self.isolations();
        if helper::is_helper_process() {
            reasons.push("this program does not call run_helper_if_requested in main".to_owned());
            isolations.clear();
        }
        for isolation in isolations {
            match self.probe(&isolation).await {
                Ok(enforcement) => {
                    let status = Arc::new(SandboxStatus::Active(enforcement));
                    return DetectedSandbox { status, isolation: Some(isolation) };
                }
                Err(reason) => reasons.push(format!("{}: {reason}", isolation.name())),
            }
        }
        if reasons.is_empty() {
            reasons.push("every kind of sandbox is switched off".to_owned());
        }
        let status = Arc::new(SandboxStatus::Unavailable { reasons });
        DetectedSandbox { status, isolation: None }
    }

    /// Returns the kinds of isolation to try, the preferred one first.
    fn isolations(&self) -> Vec<Isolation> {
        let bubblewrap = self.options.bubblewrap.clone();
        let mut isolations: Vec<Isolation> =
            bubblewrap.into_iter().map(|program| Isolation::Bubblewrap { program }).collect();
        if self.options.landlock {
            // A container may permit namespaces and refuse the mounts in them.
            let namespaces = if self.options.namespaces { &[true, false][..] } else { &[false] };
            let kinds = namespaces.iter().copied();
            isolations.extend(kinds.map(|namespaces| Isolation::Landlock { namespaces }));
        }
        isolations
    }
}
