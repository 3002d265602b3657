//! Listing files.

use std::ops::ControlFlow;
use std::path::PathBuf;

use ignore::overrides::{Override, OverrideBuilder};

use crate::error::WorkspaceError;
use crate::files::Files;
use crate::files::walk::{EntryKind, FileEntry};

/// What to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListQuery {
    /// The directory.
    pub path: String,
    /// A glob such as `*.rs` or `src/**/*.ts`; files that do not match are left out.
    pub pattern: Option<String>,
    pub max_entries: usize,
}

/// The files below a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileList {
    pub entries: Vec<FileEntry>,
    /// Whether there are more than were asked for.
    pub has_more: bool,
}

impl Files {
    /// Lists what is below a directory and not excluded by `.gitignore`. With a pattern,
    /// directories are left out.
    pub fn list(&self, query: &ListQuery) -> Result<FileList, WorkspaceError> {
        let start = self.relative(&query.path)?;
        let glob = query.pattern.as_deref().map(compile_glob).transpose()?;
        let (mut entries, mut has_more) = (Vec::new(), false);
        self.walk(&start, &mut |entry| {
            let is_directory = entry.kind == EntryKind::Directory;
            let matches = glob.as_ref().is_none_or(|glob| {
                !is_directory && glob.matched(&entry.path, false).is_whitelist()
            });
            if !matches {
                return ControlFlow::Continue(());
            }
            if entries.len() == query.max_entries {
                has_more = true;
                return ControlFlow::Break(());
            }
            entries.push(entry);
            ControlFlow::Continue(())
        })?;
        Ok(FileList { entries, has_more })
    }
}

/// Compiles a glob on paths relative to the root.
pub(super) fn compile_glob(pattern: &str) -> Result<Override, WorkspaceError> {
    let invalid = |error: ignore::Error| WorkspaceError::Pattern(error.to_string());
    let mut builder = OverrideBuilder::new(PathBuf::new());
    builder.add(pattern).map_err(invalid)?;
    builder.build().map_err(invalid)
}
