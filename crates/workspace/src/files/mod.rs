//! Files below the root.
//!
//! Every path is opened relative to a handle of the root with `openat2`, which the kernel
//! keeps inside: `..`, absolute paths, symbolic links and changes made meanwhile by others
//! cannot lead out. Nothing here opens a path by its full name.

mod diff;
mod edit;
mod list;
mod read;
mod search;
pub(crate) mod walk;
mod write;

use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt as _};

use crate::error::WorkspaceError;

pub use diff::{FileDiff, unified_diff};
pub use edit::TextEdit;
pub use list::{FileList, ListQuery};
pub use read::{FileText, LineRange};
pub use search::{SearchMatch, SearchQuery, SearchResult};
pub use walk::{EntryKind, FileEntry};
pub(crate) use write::WriteAccess;

/// The largest file that is read, written or edited as a whole, in bytes.
pub const MAX_FILE_BYTES: u64 = 16 << 20;

/// The files below a root. Clones share the handle.
#[derive(Debug)]
pub struct Files {
    root: PathBuf,
    dir: Dir,
}

impl Files {
    /// Opens the directory. Fails if there is none.
    pub fn open(root: &Path) -> Result<Self, WorkspaceError> {
        let absolute = root.canonicalize().map_err(|error| WorkspaceError::from_io(root, error))?;
        let dir = Dir::open_ambient_dir(&absolute, ambient_authority())
            .map_err(|error| WorkspaceError::from_io(root, error))?;
        Ok(Self { root: absolute, dir })
    }

    /// Returns the path of the root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the handle of the root, below which every access stays.
    pub(crate) const fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Returns a path relative to the root.
    pub(crate) fn relative(&self, path: &str) -> Result<PathBuf, WorkspaceError> {
        crate::path::relative(&self.root, path)
    }

    /// Opens a regular file for reading. A pipe does not block.
    pub(crate) fn open_file(&self, path: &Path) -> Result<(File, u64), WorkspaceError> {
        let failed = |error| WorkspaceError::from_io(path, error);
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(nonblocking);
        let file = self.dir.open_with(path, &options).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let name = || path.display().to_string();
        if metadata.is_dir() {
            return Err(WorkspaceError::IsDirectory { path: name() });
        }
        if !metadata.is_file() {
            return Err(WorkspaceError::NotAFile { path: name() });
        }
        Ok((file, metadata.len()))
    }
}
