//! Walking through the directories below the root, confined like every other access.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, FileType, MetadataExt as _};
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::error::WorkspaceError;
use crate::files::Files;

/// Directories deeper than this are not visited.
const MAX_DEPTH: usize = 64;
/// The most bytes of an ignore file that are read.
const MAX_IGNORE_BYTES: u64 = 256 * 1024;
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// What a directory entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Directory,
    /// A symbolic link; it is not followed.
    Link,
    /// A device, socket or pipe.
    Other,
}

/// An entry that was found by a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// The path relative to the root.
    pub path: PathBuf,
    pub kind: EntryKind,
    pub size: u64,
    /// What changes when the content changes.
    pub(crate) stamp: FileStamp,
}

/// The facts by which a changed file is recognized without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct FileStamp {
    pub(crate) inode: u64,
    pub(crate) size: u64,
    /// The times of the last change of content and of the file itself, in nanoseconds. A
    /// program can set the first and cannot set the second.
    pub(crate) modified: i128,
    pub(crate) changed: i128,
    pub(crate) mode: u32,
}

impl FileStamp {
    pub(crate) fn of(metadata: &cap_std::fs::Metadata) -> Self {
        let nanoseconds =
            |secs: i64, nanos: i64| i128::from(secs) * 1_000_000_000 + i128::from(nanos);
        Self {
            inode: metadata.ino(),
            size: metadata.len(),
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
            mode: metadata.mode() & 0o7777,
        }
    }
}

impl Files {
    /// Visits everything below `start` that no ignore file excludes, sorted by name in each
    /// directory, until `visit` breaks. `.git` is left out. Entries that vanish meanwhile or
    /// cannot be read are skipped.
    pub(crate) fn walk(
        &self,
        start: &Path,
        visit: &mut dyn FnMut(FileEntry) -> ControlFlow<()>,
    ) -> Result<(), WorkspaceError> {
        let failed = |error| WorkspaceError::from_io(start, error);
        let start = if start == Path::new(".") { Path::new("") } else { start };
        let mut ignores = Vec::new();
        let mut above = PathBuf::new();
        for component in start.components() {
            if let Ok(dir) = self.open_directory(&above) {
                ignores.push(ignores_of(&dir, &above));
            }
            above.push(component);
        }
        let dir = self.open_directory(start).map_err(failed)?;
        let _ = visit_directory(&dir, start, &mut ignores, visit);
        Ok(())
    }

    fn open_directory(&self, path: &Path) -> std::io::Result<Dir> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        self.dir().open_dir(path)
    }
}

fn visit_directory(
    dir: &Dir,
    path: &Path,
    ignores: &mut Vec<Gitignore>,
    visit: &mut dyn FnMut(FileEntry) -> ControlFlow<()>,
) -> ControlFlow<()> {
    if path.components().count() >= MAX_DEPTH {
        return ControlFlow::Continue(());
    }
    let Ok(entries) = dir.entries() else { return ControlFlow::Continue(()) };
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort_unstable();
    ignores.push(ignores_of(dir, path));
    let mut flow = ControlFlow::Continue(());
    for name in names {
        let Ok(metadata) = dir.symlink_metadata(&name) else { continue };
        let (entry_path, kind) = (path.join(&name), kind_of(metadata.file_type()));
        let is_directory = kind == EntryKind::Directory;
        if name == ".git" || is_ignored(ignores, &entry_path, is_directory) {
            continue;
        }
        let stamp = FileStamp::of(&metadata);
        flow = visit(FileEntry { path: entry_path.clone(), kind, size: metadata.len(), stamp });
        if flow.is_continue()
            && is_directory
            && let Ok(inner) = dir.open_dir(&name)
        {
            flow = visit_directory(&inner, &entry_path, ignores, visit);
        }
        if flow.is_break() {
            break;
        }
    }
    ignores.pop();
    flow
}

fn kind_of(file_type: FileType) -> EntryKind {
    if file_type.is_file() {
        EntryKind::File
    } else if file_type.is_dir() {
        EntryKind::Directory
    } else if file_type.is_symlink() {
        EntryKind::Link
    } else {
        EntryKind::Other
    }
}

/// Returns the rules of the ignore files in a directory.
fn ignores_of(dir: &Dir, path: &Path) -> Gitignore {
    use std::io::Read as _;
    let mut builder = GitignoreBuilder::new(path);
    for name in IGNORE_FILES {
        let is_file = dir.symlink_metadata(name).is_ok_and(|metadata| metadata.is_file());
        let mut text = String::new();
        if is_file
            && let Ok(file) = dir.open(name)
            && file.take(MAX_IGNORE_BYTES).read_to_string(&mut text).is_ok()
        {
            for line in text.lines() {
                // A rule that cannot be read hides nothing.
                let _ = builder.add_line(None, line);
            }
        }
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Asks the innermost directory first: its rules override those above.
fn is_ignored(ignores: &[Gitignore], path: &Path, is_directory: bool) -> bool {
    ignores
        .iter()
        .rev()
        .map(|rules| rules.matched(path, is_directory))
        .find(|found| !found.is_none())
        .is_some_and(|found| found.is_ignore())
}
