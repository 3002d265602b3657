//! Errors of file operations.

use std::io;

use crate::patch::PatchProblem;

/// The reason why a file operation failed. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    #[error("`{path}` leads out of the workspace")]
    Outside { path: String },
    #[error("`{path}` is not a valid path: {why}")]
    InvalidPath { path: String, why: &'static str },
    #[error("`{path}` does not exist")]
    NotFound { path: String },
    #[error("`{path}` is a directory")]
    IsDirectory { path: String },
    #[error("`{path}` is not a directory")]
    NotADirectory { path: String },
    /// A device, socket or pipe.
    #[error("`{path}` is not a regular file")]
    NotAFile { path: String },
    /// Programs outside trust this path.
    #[error("`{path}` cannot be changed here: it decides what runs outside the workspace")]
    Protected { path: String },
    #[error("`{path}` is a binary file of {size} bytes")]
    Binary { path: String, size: u64 },
    #[error("`{path}` has {size} bytes; the limit is {limit}")]
    TooLarge { path: String, size: u64, limit: u64 },
    /// The text to replace is not in the file.
    #[error("the text to replace is not in `{path}`{}", hint.as_deref().unwrap_or_default())]
    NoMatch {
        path: String,
        /// Where a similar text is, as the end of the sentence.
        hint: Option<String>,
    },
    #[error(
        "the text to replace is {count} times in `{path}`; add lines around it until it is unique"
    )]
    AmbiguousMatch { path: String, count: usize },
    #[error("the text to replace and its replacement are the same")]
    NoChange,
    #[error("the text to replace is empty")]
    EmptyMatch,
    #[error("the pattern is not valid: {0}")]
    Pattern(String),
    #[error("the patch does not apply, and nothing was changed:\n{}", list(problems))]
    Patch { problems: Vec<PatchProblem> },
    #[error("there is no saved state of turn `{0}`")]
    UnknownTurn(String),
    #[error("no turn has been started")]
    NoTurn,
    #[error("a command is running; stop it first")]
    CommandRunning,
    #[error("the workspace has more than {limit} files")]
    TooManyFiles { limit: usize },
    #[error("the saved states cannot be written: {0}")]
    UndoData(String),
    #[error("`{path}`: {source}")]
    Io { path: String, source: io::Error },
}

fn list(problems: &[PatchProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

impl WorkspaceError {
    /// Converts an error of an operation on `path`.
    pub(crate) fn from_io(path: impl AsRef<std::path::Path>, error: io::Error) -> Self {
        let path = path.as_ref().display().to_string();
        let is_escape = error.raw_os_error().is_none()
            || error.raw_os_error() == Some(rustix::io::Errno::XDEV.raw_os_error());
        match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::CrossesDevices if is_escape => {
                Self::Outside { path }
            }
            io::ErrorKind::NotFound => Self::NotFound { path },
            io::ErrorKind::IsADirectory => Self::IsDirectory { path },
            io::ErrorKind::NotADirectory => Self::NotADirectory { path },
            _ => Self::Io { path, source: error },
        }
    }
}
