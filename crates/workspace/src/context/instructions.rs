//! `AGENTS.md`: what people tell agents about a directory.

use std::path::{Component, Path, PathBuf};

use crate::error::WorkspaceError;
use crate::files::{Files, LineRange, ListQuery};

const FILE_NAME: &str = "AGENTS.md";
/// The most bytes of one file; the rest is left out.
const MAX_BYTES: usize = 64 * 1024;
/// The most paths of directories' own instructions.
const MAX_NESTED: usize = 100;

/// The instructions of one directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionFile {
    /// The path relative to the root.
    pub path: String,
    pub text: String,
    /// Whether the file is too long and only its beginning is here.
    pub is_truncated: bool,
}

/// Reads `AGENTS.md` of the root and of each directory down to `working_directory`, the root
/// first: what is nearer to the work comes later and has precedence.
pub fn find_instructions(
    files: &Files,
    working_directory: &str,
) -> Result<Vec<InstructionFile>, WorkspaceError> {
    let working = files.relative(working_directory)?;
    let mut directories = vec![PathBuf::new()];
    for component in working.components() {
        if let Component::Normal(name) = component {
            let next = directories.last().map(|last| last.join(name)).unwrap_or_default();
            directories.push(next);
        }
    }
    let mut found = Vec::new();
    for directory in directories {
        let path = directory.join(FILE_NAME);
        match read(files, &path) {
            Ok(file) => found.push(file),
            Err(WorkspaceError::NotFound { .. } | WorkspaceError::NotADirectory { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Returns the paths of `AGENTS.md` below the root, in order, without those that `.gitignore`
/// excludes.
pub fn find_nested_instructions(files: &Files) -> Result<Vec<String>, WorkspaceError> {
    let pattern = Some(format!("/**/{FILE_NAME}"));
    let query = ListQuery { path: ".".to_owned(), pattern, max_entries: MAX_NESTED };
    let paths = files.list(&query)?.entries.into_iter().map(|entry| entry.path);
    let mut nested: Vec<String> = paths
        .filter(|path| path.parent().is_some_and(|parent| !parent.as_os_str().is_empty()))
        .map(|path| path.display().to_string())
        .collect();
    nested.sort();
    Ok(nested)
}

fn read(files: &Files, path: &Path) -> Result<InstructionFile, WorkspaceError> {
    let path = path.display().to_string();
    let range = LineRange { first: 1, max_lines: u64::MAX, max_bytes: MAX_BYTES };
    let read = files.read_lines(&path, range)?;
    Ok(InstructionFile { path, text: read.text, is_truncated: read.has_more })
}
