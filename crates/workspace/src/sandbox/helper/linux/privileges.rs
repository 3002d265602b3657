//! Users and capabilities.

use std::io;
use std::os::unix::fs::MetadataExt as _;

use rustix::process::{Gid, Uid};
use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::sandbox::spec::CommandUser;

/// Becomes `user`, if there is one to become, and gives up all capabilities, for good. If the
/// workspace belongs to root, the right to access files of others is kept: Landlock or the
/// mounts limit it to the workspace. Permissions, which Landlock does not protect, can be
/// changed only where read-only mounts protect those outside.
pub(super) fn drop_to(user: Option<&CommandUser>, read_only_mounts: bool) -> io::Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    let kept = match user {
        Some(user) if user.override_permissions && read_only_mounts => {
            CapabilitySet::DAC_OVERRIDE | CapabilitySet::FOWNER
        }
        Some(user) if user.override_permissions => CapabilitySet::DAC_OVERRIDE,
        _ => CapabilitySet::empty(),
    };
    drop_bounding_set(kept);
    if let Some(user) = user {
        rustix::thread::set_keep_capabilities(true)?;
        let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
        rustix::thread::set_thread_groups(&[])?;
        rustix::thread::set_thread_res_gid(gid, gid, gid)?;
        rustix::thread::set_thread_res_uid(uid, uid, uid)?;
    }
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: kept };
    rustix::thread::set_capabilities(None, sets)?;
    rustix::thread::clear_ambient_capability_set()?;
    for capability in kept.iter() {
        rustix::thread::configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}

/// Makes sure that no program can regain a capability. A process without the right to do so
/// has none to regain, because of `no_new_privs`.
fn drop_bounding_set(kept: CapabilitySet) {
    for number in 0..=63 {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        if !kept.contains(capability) {
            let _ = rustix::thread::remove_capability_from_bounding_set(capability);
        }
    }
}

/// Keeps the right to mount in the next program, inside a user namespace.
pub(super) fn pass_on_mounting() -> io::Result<()> {
    let mut sets = rustix::thread::capabilities(None)?;
    sets.inheritable |= CapabilitySet::SYS_ADMIN;
    rustix::thread::set_capabilities(None, sets)?;
    Ok(rustix::thread::configure_capability_in_ambient_set(CapabilitySet::SYS_ADMIN, true)?)
}

/// Counts the threads of a user, which the limit of processes includes.
pub(super) fn threads_of_user(uid: u32) -> u64 {
    let Ok(entries) = std::fs::read_dir("/proc") else { return 0 };
    let processes = entries.flatten().filter(|entry| {
        let is_process = entry.file_name().to_string_lossy().parse::<u32>().is_ok();
        is_process && entry.metadata().is_ok_and(|metadata| metadata.uid() == uid)
    });
    processes
        .map(|entry| {
            std::fs::read_dir(entry.path().join("task")).map_or(1, |threads| threads.count() as u64)
        })
        .sum()
}
