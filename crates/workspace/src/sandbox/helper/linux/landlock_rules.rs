//! Landlock: which files the command may read and change, enforced by the kernel.

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, LandlockStatus,
    PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _,
    RulesetError, RulesetStatus, Scope,
};

use crate::sandbox::spec::{HelperSpec, Isolation};

/// The newest interface whose rights are used, where the kernel has them.
const NEWEST: ABI = ABI::V9;

/// Programs, libraries and settings of the system that hold no secrets.
pub(super) const READABLE: [&str; 46] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/etc/alternatives",
    "/etc/bash.bashrc",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/crypto-policies",
    "/etc/debian_version",
    "/etc/fonts",
    "/etc/gai.conf",
    "/etc/gitconfig",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/inputrc",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/perl",
    "/etc/pki",
    "/etc/profile",
    "/etc/profile.d",
    "/etc/protocols",
    "/etc/python3",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/shells",
    "/etc/ssl",
    "/etc/terminfo",
    "/etc/timezone",
    "/run/systemd/resolve",
    "/sys/devices/system/cpu",
];
/// Facts about the machine, for a `/proc` that shows processes of others.
const MACHINE_FACTS: [&str; 8] = [
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/uptime",
    "/proc/version",
    "/proc/sys/kernel/osrelease",
];
/// Devices without a state.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Opens the paths and makes the rules, while everything can still be opened. Paths that do
/// not exist are left out.
pub(super) fn prepare(spec: &HelperSpec, temporary: &Path) -> Result<RulesetCreated, RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?;
    if !spec.network {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let read = AccessFs::from_read(NEWEST);
    let all = AccessFs::from_all(NEWEST);
    let write = all & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::MakeSock);
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev | AccessFs::Truncate;
    let mut rules = ruleset.create()?;
    for path in READABLE {
        rules = allow(rules, path, read)?;
    }
    for path in &spec.readable {
        rules = allow(rules, path, read)?;
    }
    if spec.namespaces.processes && spec.namespaces.mounts {
        rules = allow(rules, "/proc", read)?;
        rules = allow(rules, "/dev/shm", write)?;
    } else {
        for path in MACHINE_FACTS {
            rules = allow(rules, path, read)?;
        }
    }
    for path in DEVICES {
        rules = allow(rules, path, device)?;
    }
    rules = allow(rules, &spec.root, write)?;
    if let Isolation::Bubblewrap { .. } = spec.isolation {
        rules = allow(rules, "/tmp", write)?;
    }
    allow(rules, temporary, write)
}

fn allow(
    rules: RulesetCreated,
    path: impl AsRef<Path>,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(fd) = PathFd::new(&path) else { return Ok(rules) };
    let is_file = std::fs::metadata(&path).is_ok_and(|metadata| !metadata.is_dir());
    let access = if is_file { access & AccessFs::from_file(NEWEST) } else { access };
    rules.add_rule(PathBeneath::new(fd, access))
}

/// Enforces the rules for this process and its children. Returns the version of the interface
/// that is in force, 0 if there is none.
pub(super) fn enforce(rules: RulesetCreated) -> Result<u32, RulesetError> {
    let status = rules.restrict_self()?;
    Ok(match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, _) => 0,
        (_, LandlockStatus::Available { effective_abi, .. }) => effective_abi as u32,
        _ => 0,
    })
}
