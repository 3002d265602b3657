//! Unified diffs: parsing and applying them.
//!
//! A patch applies as a whole or not at all. Line numbers are hints, because models count
//! badly; the lines themselves must match exactly.

mod apply;
mod parse;
mod workspace;

use std::fmt;

pub use apply::apply_to_text;
pub use parse::parse_patch;
pub(crate) use workspace::apply_to_workspace;

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch {
    /// The path before the change; `None` if the file is created.
    pub old_path: Option<String>,
    /// The path after the change; `None` if the file is deleted.
    pub new_path: Option<String>,
    pub hunks: Vec<Hunk>,
}

impl FilePatch {
    /// Returns the path by which a problem is reported.
    pub fn path(&self) -> &str {
        self.new_path.as_deref().or(self.old_path.as_deref()).unwrap_or_default()
    }
}

/// Lines that are changed together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// The number of the first old line, from 1; `None` if the patch does not say.
    pub old_start: Option<usize>,
    pub lines: Vec<HunkLine>,
    /// Whether the new file ends with a line break, if the patch says.
    pub final_newline: Option<bool>,
}

/// A line of a hunk, without its line break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HunkLine {
    Context(String),
    Removed(String),
    Added(String),
}

/// The reason why a part of a patch does not apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchProblem {
    /// The file; empty if the patch itself cannot be read.
    pub path: String,
    /// The number of the change in this file, from 1.
    pub hunk: Option<usize>,
    pub why: String,
}

impl fmt::Display for PatchProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.path.as_str(), self.hunk) {
            ("", _) => f.write_str(&self.why),
            (path, None) => write!(f, "{path}: {}", self.why),
            (path, Some(hunk)) => write!(f, "{path}, change {hunk}: {}", self.why),
        }
    }
}
