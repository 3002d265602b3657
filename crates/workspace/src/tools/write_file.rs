//! The `write_file` tool.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::WorkspaceError;
use crate::tools::file_tool::{FileAccess, FileOperation};
use crate::workspace::Workspace;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    path: String,
    content: String,
}

/// Writes a whole file.
pub(super) struct WriteFile;

impl FileOperation for WriteFile {
    const NAME: &'static str = "write_file";
    const DESCRIPTION: &'static str = "Writes a whole file of the workspace, and creates it and \
        its directories if they do not exist. To change a part of a file, use edit_file.";
    const ACCESS: FileAccess = FileAccess::IdempotentEdit;
    type Arguments = Arguments;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1, "description": "Path relative to the workspace."},
                "content": {"type": "string", "description": "The whole new content."}
            },
            "required": ["path", "content"],
            "additionalProperties": false
        })
    }

    fn run(workspace: &Workspace, arguments: Arguments) -> Result<String, WorkspaceError> {
        let diff = workspace.write(&arguments.path, &arguments.content)?;
        let (added, removed) = (diff.added, diff.removed);
        Ok(format!("Wrote {}: {added} lines added, {removed} removed.", diff.path))
    }
}
