//! What the helper is told, as one line of JSON on its standard input.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::sandbox::limits::ResourceLimits;
use crate::sandbox::status::Enforcement;

/// How a command is isolated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Isolation {
    Bubblewrap {
        program: PathBuf,
    },
    Landlock {
        namespaces: bool,
    },
    /// A person has accepted it.
    Unsandboxed,
}

impl Isolation {
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Bubblewrap { .. } => "bubblewrap",
            Self::Landlock { .. } => "Landlock",
            Self::Unsandboxed => "no sandbox",
        }
    }
}

/// A user to run as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CommandUser {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// Whether files of others in the workspace must be made accessible to this user.
    pub(crate) override_permissions: bool,
}

/// Everything the helper needs to start a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HelperSpec {
    pub(crate) isolation: Isolation,
    /// The program of the helper.
    pub(crate) helper: PathBuf,
    pub(crate) root: PathBuf,
    /// The working directory of the command.
    pub(crate) directory: PathBuf,
    /// The private temporary directory.
    pub(crate) temporary: PathBuf,
    pub(crate) readable: Vec<PathBuf>,
    /// Paths relative to the root that the command cannot change.
    pub(crate) protected: Vec<String>,
    pub(crate) network: bool,
    /// `None` if this process is not root.
    pub(crate) user: Option<CommandUser>,
    pub(crate) limits: ResourceLimits,
    /// The `cgroup.procs` files to join.
    pub(crate) cgroups: Vec<PathBuf>,
    pub(crate) memory_by_cgroup: bool,
    pub(crate) processes_by_cgroup: bool,
    /// Threads of the same user outside, which the resource limit counts as well. Set by the
    /// first stage, which can see them.
    pub(crate) other_threads: u64,
    /// Where to write the [`HelperReport`].
    pub(crate) report: PathBuf,
    /// What the first stage has set up, for the second.
    pub(crate) namespaces: Namespaces,
    pub(crate) command: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
}

/// The namespaces that the command has for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Namespaces {
    pub(crate) processes: bool,
    pub(crate) mounts: bool,
    pub(crate) network: bool,
    /// Communication between processes: shared memory, semaphores.
    pub(crate) ipc: bool,
}

/// What the helper reports before the command starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum HelperReport {
    Started(Enforcement),
    Refused(String),
}
