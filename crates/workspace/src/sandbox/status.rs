//! What the sandbox enforces on this machine.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The oldest version of Landlock that can refuse to shorten a file.
const LANDLOCK_FOR_FILES: u32 = 3;
/// The oldest version of Landlock that can refuse signals to other processes.
const LANDLOCK_FOR_SIGNALS: u32 = 6;

/// Whether commands can run in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxStatus {
    Active(Enforcement),
    /// Commands are refused unless a person accepts a run without a sandbox.
    Unavailable {
        reasons: Vec<String>,
    },
}

impl SandboxStatus {
    /// Returns what is enforced, if there is a sandbox.
    pub const fn enforcement(&self) -> Option<&Enforcement> {
        match self {
            Self::Active(enforcement) => Some(enforcement),
            Self::Unavailable { .. } => None,
        }
    }
}

impl fmt::Display for SandboxStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Active(enforcement) => enforcement.fmt(f),
            Self::Unavailable { reasons } => {
                write!(f, "no sandbox is available ({})", reasons.join("; "))
            }
        }
    }
}

/// The mechanism that confines the files of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxKind {
    Bubblewrap,
    Landlock,
    /// A person has accepted that there is none.
    None,
}

/// How a limit is enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitMechanism {
    /// For all processes of the command together.
    ControlGroup,
    /// For each process; the number of processes is counted per user.
    ResourceLimit,
}

impl fmt::Display for LimitMechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ControlGroup => "control group",
            Self::ResourceLimit => "rlimit",
        })
    }
}

/// What is in force for a command, as reported by the process that started it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enforcement {
    pub kind: SandboxKind,
    /// The version of Landlock's interface; 0 if it is not in force.
    pub landlock_version: u32,
    pub seccomp: bool,
    pub process_namespace: bool,
    pub mount_namespace: bool,
    pub network_namespace: bool,
    pub ipc_namespace: bool,
    /// Whether everything outside is mounted read-only.
    pub read_only_mounts: bool,
    pub uid: u32,
    pub memory: LimitMechanism,
    pub processes: LimitMechanism,
}

impl Enforcement {
    /// Returns why this is not enough for a sandbox, or `None` if it is.
    pub(crate) fn insufficiency(&self) -> Option<&'static str> {
        let bubblewrap = self.kind == SandboxKind::Bubblewrap;
        if self.kind == SandboxKind::None {
            None
        } else if !self.seccomp {
            Some("system calls cannot be filtered (seccomp)")
        } else if !bubblewrap && self.landlock_version < LANDLOCK_FOR_FILES {
            Some("files cannot be confined: the kernel has no Landlock, or an old one")
        } else if !self.process_namespace && self.landlock_version < LANDLOCK_FOR_SIGNALS {
            Some("other processes cannot be protected from signals")
        } else {
            None
        }
    }

    /// Returns what a command could do that a complete sandbox would prevent.
    pub fn gaps(&self) -> Vec<&'static str> {
        let mut gaps = Vec::new();
        if self.kind == SandboxKind::None {
            gaps.push("commands have all rights of this program");
            return gaps;
        }
        if !self.read_only_mounts {
            gaps.push("commands can change permissions and times of other files of the same user");
            gaps.push("commands can change .git/hooks and .git/config of the workspace");
        }
        if !self.process_namespace {
            gaps.push("commands can change the scheduling of the user's other processes");
            gaps.push("programs that need /proc may fail");
        }
        if self.memory == LimitMechanism::ResourceLimit {
            gaps.push("the memory limit holds for each process, not for all together");
        }
        gaps
    }
}

impl fmt::Display for Enforcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        match self.kind {
            SandboxKind::Bubblewrap => parts.push("bubblewrap".to_owned()),
            SandboxKind::Landlock => {}
            SandboxKind::None => return f.write_str("no sandbox, accepted by a person"),
        }
        if self.landlock_version > 0 {
            parts.push(format!("Landlock {}", self.landlock_version));
        }
        if self.seccomp {
            parts.push("seccomp".to_owned());
        }
        let namespaces = [
            (self.process_namespace, "process"),
            (self.mount_namespace, "mount"),
            (self.network_namespace, "network"),
        ];
        let own: Vec<&str> =
            namespaces.iter().filter(|(own, _)| *own).map(|(_, name)| *name).collect();
        if !own.is_empty() {
            parts.push(format!("{} namespaces", own.join(", ")));
        }
        parts.push(format!("user {}", self.uid));
        parts.push(format!("memory by {}", self.memory));
        parts.push(format!("processes by {}", self.processes));
        f.write_str(&parts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::{Enforcement, LimitMechanism, SandboxKind};

    fn enforcement(
        kind: SandboxKind,
        landlock: u32,
        seccomp: bool,
        processes: bool,
    ) -> Enforcement {
        Enforcement {
            kind,
            landlock_version: landlock,
            seccomp,
            process_namespace: processes,
            mount_namespace: false,
            network_namespace: false,
            ipc_namespace: false,
            read_only_mounts: false,
            uid: 1000,
            memory: LimitMechanism::ControlGroup,
            processes: LimitMechanism::ResourceLimit,
        }
    }

    /// M36: the sandbox fails closed.
    #[test]
    fn m36_a_sandbox_needs_files_signals_and_system_calls_confined() {
        use SandboxKind::{Bubblewrap, Landlock, None};
        for (kind, landlock, seccomp, processes, is_enough) in [
            (Landlock, 7, true, true, true),
            (Landlock, 6, true, false, true),
            (Landlock, 5, true, false, false),
            (Landlock, 3, true, true, true),
            (Landlock, 2, true, true, false),
            (Landlock, 0, true, true, false),
            (Landlock, 7, false, true, false),
            (Bubblewrap, 0, true, true, true),
            (Bubblewrap, 0, true, false, false),
            (Bubblewrap, 7, false, true, false),
            (None, 0, false, false, true),
        ] {
            let enforcement = enforcement(kind, landlock, seccomp, processes);
            assert_eq!(enforcement.insufficiency().is_none(), is_enough, "{enforcement:?}");
        }
    }

    #[test]
    fn the_status_is_readable() {
        let text = enforcement(SandboxKind::Landlock, 7, true, true).to_string();
        assert_eq!(
            text,
            "Landlock 7; seccomp; process namespaces; user 1000; memory by control group; \
             processes by rlimit"
        );
    }
}
