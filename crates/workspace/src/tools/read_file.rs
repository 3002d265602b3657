//! The `read_file` tool.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::WorkspaceError;
use crate::files::LineRange;
use crate::tools::file_tool::{FileAccess, FileOperation};
use crate::workspace::Workspace;

const DEFAULT_LINES: u64 = 2000;
/// The most bytes of one answer, with room for line numbers within the limit of the tool.
const MAX_BYTES: usize = 24 * 1024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    path: String,
    #[serde(default)]
    first_line: Option<u64>,
    #[serde(default)]
    lines: Option<u64>,
}

/// Reads a text file.
pub(super) struct ReadFile;

impl FileOperation for ReadFile {
    const NAME: &'static str = "read_file";
    const DESCRIPTION: &'static str = "Reads a text file of the workspace, with line numbers. \
        Long files come in parts: continue with first_line.";
    const ACCESS: FileAccess = FileAccess::Read;
    type Arguments = Arguments;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Path relative to the workspace."},
                "first_line": {"type": "integer", "minimum": 1, "description": "The first line to read; 1 if left out."},
                "lines": {"type": "integer", "minimum": 1, "maximum": 10000, "description": "How many lines to read."}
            },
            "required": ["path"],
            "additionalProperties": false
        })
    }

    fn run(workspace: &Workspace, arguments: Arguments) -> Result<String, WorkspaceError> {
        let range = LineRange {
            first: arguments.first_line.unwrap_or(1).max(1),
            max_lines: arguments.lines.unwrap_or(DEFAULT_LINES),
            max_bytes: MAX_BYTES,
        };
        let read = workspace.files().read_lines(&arguments.path, range)?;
        if read.lines == 0 {
            return Ok(match (read.size, read.first_line) {
                (0, _) => "The file is empty.".to_owned(),
                (_, first) => format!("The file has fewer than {first} lines."),
            });
        }
        let numbered: String = read
            .text
            .lines()
            .zip(read.first_line..)
            .map(|(line, number)| format!("{number:>5}  {line}\n"))
            .collect();
        let next = read.first_line + read.lines;
        let rest = if read.has_more {
            format!("[There is more: continue with first_line {next}]")
        } else {
            String::new()
        };
        Ok(numbered + &rest)
    }
}
