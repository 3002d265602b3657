//! Writing files: a temporary file beside the target, then a rename, so that readers see the
//! old content or the new one.

use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{Dir, MetadataExt as _, OpenOptions, OpenOptionsExt as _, PermissionsExt as _};
use rustix::fs::{AtFlags, Gid, Uid};

use crate::error::WorkspaceError;
use crate::files::{Files, MAX_FILE_BYTES};

/// Permissions of a new file.
const NEW_FILE_MODE: u32 = 0o644;

/// For whom a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteAccess {
    /// Everything but what programs outside trust.
    Agent,
    /// Everything, to bring back what was there.
    Restore,
}

static NEXT_TEMPORARY: AtomicU64 = AtomicU64::new(0);

impl Files {
    /// Writes a whole file and creates the directories above it. An existing file keeps its
    /// permissions, but not the right to run as its owner, and a link inside the workspace
    /// stays a link.
    pub(crate) fn replace(
        &self,
        path: &Path,
        bytes: &[u8],
        access: WriteAccess,
    ) -> Result<(), WorkspaceError> {
        let failed = |error| WorkspaceError::from_io(path, error);
        let name = || path.display().to_string();
        let size = bytes.len() as u64;
        if size > MAX_FILE_BYTES {
            return Err(WorkspaceError::TooLarge { path: name(), size, limit: MAX_FILE_BYTES });
        }
        let target = self.link_target(path)?;
        let Some(file_name) = target.file_name() else {
            return Err(WorkspaceError::IsDirectory { path: name() });
        };
        let parent = self.create_parent(&target).map_err(failed)?;
        if access == WriteAccess::Agent && self.is_protected(&parent) {
            return Err(WorkspaceError::Protected { path: name() });
        }
        let old = match parent.symlink_metadata(file_name) {
            Ok(metadata) if metadata.is_dir() => {
                return Err(WorkspaceError::IsDirectory { path: name() });
            }
            Ok(metadata) if metadata.is_symlink() => {
                return Err(WorkspaceError::Outside { path: name() });
            }
            Ok(metadata) if !metadata.is_file() => {
                return Err(WorkspaceError::NotAFile { path: name() });
            }
            found => found.ok(),
        };
        let mode = old.as_ref().map_or(NEW_FILE_MODE, |old| old.permissions().mode() & 0o777);
        let owner = match old {
            Some(old) => (old.uid(), old.gid()),
            None => owner_of(&parent).map_err(failed)?,
        };
        let temporary = create_temporary(&parent, mode, owner, bytes).map_err(failed)?;
        parent.rename(&temporary, &parent, file_name).map_err(|error| {
            let _ = parent.remove_file(&temporary);
            failed(error)
        })
    }

    /// Returns whether an open directory is one that programs outside trust, under whatever
    /// name it was opened. One whose name cannot be found out counts as such; on other systems
    /// than Linux only the name that was given is checked.
    fn is_protected(&self, directory: &Dir) -> bool {
        if !cfg!(target_os = "linux") {
            return false;
        }
        let link = format!("/proc/self/fd/{}", directory.as_raw_fd());
        let path = std::fs::read_link(link).ok();
        let inside = path.as_ref().and_then(|path| path.strip_prefix(self.root()).ok());
        inside.is_none_or(crate::path::is_protected)
    }

    /// Returns the file that a link leads to, or the path itself.
    fn link_target(&self, path: &Path) -> Result<PathBuf, WorkspaceError> {
        match self.dir().symlink_metadata(path) {
            Ok(metadata) if metadata.is_symlink() => {
                self.dir().canonicalize(path).map_err(|error| WorkspaceError::from_io(path, error))
            }
            _ => Ok(path.to_owned()),
        }
    }

    /// Opens the directory of a path, creating what is missing.
    fn create_parent(&self, path: &Path) -> std::io::Result<Dir> {
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => return self.dir().try_clone(),
        };
        let mut created = PathBuf::new();
        for component in parent.components() {
            created.push(component);
            match self.dir().create_dir(&created) {
                Ok(()) => self.keep_owner(&created)?,
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        self.dir().open_dir(parent)
    }

    /// Gives a directory that root has created to the owner of the one above, who could not
    /// change it otherwise.
    fn keep_owner(&self, created: &Path) -> std::io::Result<()> {
        if let Some(name) = created.file_name().filter(|_| rustix::process::geteuid().is_root()) {
            let above = created.parent().filter(|parent| !parent.as_os_str().is_empty());
            let parent = self.dir().open_dir(above.unwrap_or(Path::new(".")))?;
            let (uid, gid) = owner_of(&parent)?;
            let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
            rustix::fs::chownat(&parent, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW)?;
        }
        Ok(())
    }
}

/// Creates a file with content under a name that is not used.
fn create_temporary(
    parent: &Dir,
    mode: u32,
    (uid, gid): (u32, u32),
    bytes: &[u8],
) -> std::io::Result<String> {
    let number = NEXT_TEMPORARY.fetch_add(1, Ordering::Relaxed);
    let name = format!(".ostler-{}-{number}.tmp", std::process::id());
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = match parent.open_with(&name, &options) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            // Left by a process that was killed and had the same id.
            parent.remove_file(&name)?;
            parent.open_with(&name, &options)?
        }
        opened => opened?,
    };
    let written = (|| {
        file.write_all(bytes)?;
        if rustix::process::geteuid().is_root() {
            rustix::fs::fchown(&file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?;
        }
        file.set_permissions(cap_std::fs::Permissions::from_mode(mode))
    })();
    match written {
        Ok(()) => Ok(name),
        Err(error) => {
            let _ = parent.remove_file(&name);
            Err(error)
        }
    }
}

fn owner_of(dir: &Dir) -> std::io::Result<(u32, u32)> {
    let metadata = dir.dir_metadata()?;
    Ok((metadata.uid(), metadata.gid()))
}
