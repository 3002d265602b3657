//! Mounts: everything outside the workspace is read-only, and `/proc` shows the processes of
//! the command only.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_bind_recursive, mount_change,
    mount_remount,
};

use crate::sandbox::helper::linux::landlock_rules::READABLE;
use crate::sandbox::spec::HelperSpec;

/// Shared memory of the command, in the form of a mount option.
const SHARED_MEMORY: &std::ffi::CStr = c"size=256m,mode=1777";

/// The places that are used after the mounts have been changed.
pub(super) struct PreparedMounts {
    /// Whether everything outside is read-only; the kernel refuses that for some mounts.
    pub(super) is_read_only: bool,
    /// Where the private temporary directory is now.
    pub(super) temporary: PathBuf,
    /// The report, which commands cannot reach.
    pub(super) report: File,
}

/// Leaves the mounts as they are.
pub(super) fn keep(spec: &HelperSpec) -> io::Result<PreparedMounts> {
    let (report, temporary) = (File::create(&spec.report)?, spec.temporary.clone());
    Ok(PreparedMounts { is_read_only: false, temporary, report })
}

/// Changes the mounts of this process's own namespace.
pub(super) fn isolate(spec: &HelperSpec) -> io::Result<PreparedMounts> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    mount_bind_recursive(&spec.root, &spec.root)?;
    let run_directory = spec.report.parent().unwrap_or(&spec.report);
    mount_bind(run_directory, run_directory)?;
    let protected = protect(spec);
    let mut is_read_only = true;
    for point in mount_points()? {
        let is_protected = protected.contains(&point.path);
        let is_inside = point.path.starts_with(&spec.root) && !is_protected;
        if !is_inside && point.path != run_directory {
            let flags = MountFlags::BIND | MountFlags::RDONLY | point.flags;
            is_read_only &= match mount_remount(&point.path, flags, "") {
                Ok(()) => true,
                Err(error) if is_protected => return Err(error.into()),
                // A mount that another one covers cannot be reached.
                Err(error) => matches!(error, Errno::NOENT | Errno::INVAL),
            };
        }
    }
    // A file that is open for writing would keep its mount from becoming read-only.
    let report = File::create(&spec.report)?;
    let plain = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", plain | MountFlags::RDONLY, None)?;
    if Path::new("/dev/shm").is_dir() {
        mount("tmpfs", "/dev/shm", "tmpfs", plain, SHARED_MEMORY)?;
    }
    let needs_tmp = spec.readable.iter().chain([&spec.root]).any(|path| path.starts_with("/tmp"));
    let temporary = if needs_tmp {
        spec.temporary.clone()
    } else {
        mount_bind(&spec.temporary, "/tmp")?;
        "/tmp".into()
    };
    Ok(PreparedMounts { is_read_only, temporary, report })
}

/// Makes mounts of the protected paths, so that they can be made read-only and not be moved.
/// Returns their paths. What is a link, or does not exist, is left out.
fn protect(spec: &HelperSpec) -> Vec<PathBuf> {
    let (mut protected, mut mounted) = (Vec::new(), BTreeSet::new());
    for path in &spec.protected {
        let mut parts: Vec<&Path> = Path::new(path).ancestors().collect();
        parts.retain(|part| !part.as_os_str().is_empty());
        // A second mount of a parent would cover the mounts below it.
        let all_mounted = parts.into_iter().rev().all(|part| {
            mounted.contains(part) || (bind_to_itself(&spec.root, part) && mounted.insert(part))
        });
        if all_mounted {
            protected.push(spec.root.join(path));
        }
    }
    protected
}

/// Mounts a path of the workspace onto itself, without following links.
fn bind_to_itself(root: &Path, path: &Path) -> bool {
    let open = || -> io::Result<OwnedFd> {
        let plain = OFlags::PATH | OFlags::CLOEXEC;
        let root = rustix::fs::open(root, plain | OFlags::DIRECTORY, Mode::empty())?;
        let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        Ok(rustix::fs::openat2(&root, path, plain | OFlags::NOFOLLOW, Mode::empty(), inside)?)
    };
    let Ok(fd) = open() else { return false };
    let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
    mount_bind(&link, &link).is_ok()
}

/// A mount of this process's namespace.
struct MountPoint {
    path: PathBuf,
    /// The flags that must be kept.
    flags: MountFlags,
}

fn mount_points() -> io::Result<Vec<MountPoint>> {
    let text = std::fs::read_to_string("/proc/self/mountinfo")?;
    Ok(text.lines().filter_map(parse_mount).collect())
}

fn parse_mount(line: &str) -> Option<MountPoint> {
    let mut fields = line.split(' ').skip(4);
    let path = unescape(fields.next()?);
    let flags = fields.next()?.split(',').map(|option| match option {
        "nosuid" => MountFlags::NOSUID,
        "nodev" => MountFlags::NODEV,
        "noexec" => MountFlags::NOEXEC,
        "noatime" => MountFlags::NOATIME,
        "nodiratime" => MountFlags::NODIRATIME,
        "relatime" => MountFlags::RELATIME,
        _ => MountFlags::empty(),
    });
    Some(MountPoint { path: path.into(), flags: flags.fold(MountFlags::empty(), |a, b| a | b) })
}

/// Decodes the octal codes of spaces and other characters.
fn unescape(text: &str) -> OsString {
    use std::os::unix::ffi::OsStringExt as _;
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let code = (*first == b'\\')
            .then(|| std::str::from_utf8(after.get(..3)?).ok())
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    OsString::from_vec(bytes)
}

/// Returns the arguments with which bubblewrap makes the same.
pub(super) fn bubblewrap_arguments(spec: &HelperSpec) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = Vec::new();
    let mut add =
        |parts: &[&std::ffi::OsStr]| arguments.extend(parts.iter().map(|part| (*part).to_owned()));
    let text = std::ffi::OsStr::new;
    add(&["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent"].map(text));
    if !spec.network {
        add(&[text("--unshare-net")]);
    }
    if spec.user.is_some() {
        // The second stage becomes the user and drops these.
        for capability in
            ["CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_DAC_OVERRIDE", "CAP_FOWNER"]
        {
            add(&[text("--cap-add"), text(capability)]);
        }
    }
    for path in READABLE {
        add(&[text("--ro-bind-try"), text(path), text(path)]);
    }
    add(&["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"].map(text));
    for path in spec.readable.iter().chain([&spec.helper]) {
        add(&[text("--ro-bind-try"), path.as_os_str(), path.as_os_str()]);
    }
    let report = spec.report.parent().unwrap_or(&spec.report);
    for path in [&spec.root, &spec.temporary, report] {
        add(&[text("--bind"), path.as_os_str(), path.as_os_str()]);
    }
    for path in &spec.protected {
        let path = spec.root.join(path);
        if std::fs::symlink_metadata(&path).is_ok_and(|metadata| !metadata.is_symlink()) {
            add(&[text("--ro-bind"), path.as_os_str(), path.as_os_str()]);
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::{parse_mount, unescape};
    use rustix::mount::MountFlags;
    use std::path::Path;

    #[test]
    fn mounts_are_parsed_with_their_flags() {
        let line = r"36 35 98:0 /mnt1 /a\040b\134c rw,nosuid,noatime shared:1 - ext3 /dev/root rw";
        let mount = parse_mount(line).expect("a mount");
        assert_eq!(mount.path, Path::new(r"/a b\c"));
        assert_eq!(mount.flags, MountFlags::NOSUID | MountFlags::NOATIME);
        assert!(parse_mount("36 35").is_none());
        assert_eq!(unescape(r"/x\04"), r"/x\04");
    }
}
