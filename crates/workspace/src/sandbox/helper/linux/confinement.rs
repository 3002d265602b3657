//! The steps that take rights away, in order.

use std::io;

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::sandbox::helper::linux::mounts::PreparedMounts;
use crate::sandbox::helper::linux::{landlock_rules, mounts, privileges, seccomp_filter};
use crate::sandbox::spec::{HelperSpec, Isolation};
use crate::sandbox::status::{Enforcement, LimitMechanism, SandboxKind};

/// Changes the mounts, if this process has its own.
pub(super) fn prepare(spec: &HelperSpec) -> Result<PreparedMounts, String> {
    let is_native = matches!(spec.isolation, Isolation::Landlock { .. });
    let mounts = if is_native && spec.namespaces.mounts {
        mounts::isolate(spec)
    } else {
        mounts::keep(spec)
    };
    mounts.map_err(|error| format!("mounts cannot be isolated: {error}"))
}

/// Confines this process and returns what is in force.
pub(super) fn apply(spec: &HelperSpec, mounts: &PreparedMounts) -> Result<Enforcement, String> {
    let kind = match spec.isolation {
        Isolation::Bubblewrap { .. } => SandboxKind::Bubblewrap,
        Isolation::Landlock { .. } => SandboxKind::Landlock,
        Isolation::Unsandboxed => SandboxKind::None,
    };
    let by =
        |cgroup| if cgroup { LimitMechanism::ControlGroup } else { LimitMechanism::ResourceLimit };
    let failed = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
    let namespaces = spec.namespaces;
    let mut enforcement = Enforcement {
        kind,
        landlock_version: 0,
        seccomp: false,
        process_namespace: namespaces.processes,
        mount_namespace: namespaces.mounts,
        network_namespace: namespaces.network,
        ipc_namespace: namespaces.ipc,
        read_only_mounts: kind == SandboxKind::Bubblewrap || mounts.is_read_only,
        uid: rustix::process::geteuid().as_raw(),
        memory: by(spec.memory_by_cgroup),
        processes: by(spec.processes_by_cgroup),
    };
    set_resource_limits(spec).map_err(failed("resource limits cannot be set"))?;
    let directory = std::env::set_current_dir(&spec.directory);
    directory.map_err(|error| format!("{}: {error}", spec.directory.display()))?;
    if kind == SandboxKind::None {
        return Ok(enforcement);
    }
    let rules = landlock_rules::prepare(spec, &mounts.temporary)
        .map_err(|error| format!("Landlock rules cannot be made: {error}"))?;
    privileges::drop_to(spec.user.as_ref(), enforcement.read_only_mounts)
        .map_err(failed("privileges cannot be dropped"))?;
    enforcement.uid = rustix::process::geteuid().as_raw();
    enforcement.landlock_version = landlock_rules::enforce(rules)
        .map_err(|error| format!("Landlock cannot be enforced: {error}"))?;
    seccomp_filter::enforce(spec.network, namespaces, enforcement.read_only_mounts)
        .map_err(|error| format!("system calls cannot be filtered: {error}"))?;
    enforcement.seccomp = true;
    Ok(enforcement)
}

fn set_resource_limits(spec: &HelperSpec) -> io::Result<()> {
    let set = |resource, amount: u64| {
        // A limit that is lower already stays.
        let hard = rustix::process::getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let amount = Some(amount.min(hard));
        setrlimit(resource, Rlimit { current: amount, maximum: amount })
    };
    let limits = &spec.limits;
    set(Resource::Core, 0)?;
    set(Resource::Fsize, limits.file_bytes)?;
    set(Resource::Nofile, limits.open_files.into())?;
    if !spec.memory_by_cgroup {
        set(Resource::Data, limits.memory_bytes)?;
    }
    if !spec.processes_by_cgroup {
        set(Resource::Nproc, spec.other_threads + u64::from(limits.processes))?;
    }
    Ok(())
}
