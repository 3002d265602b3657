//! The `edit_file` tool.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::WorkspaceError;
use crate::files::TextEdit;
use crate::tools::file_tool::{FileAccess, FileOperation};
use crate::workspace::Workspace;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    path: String,
    old_text: String,
    new_text: String,
    #[serde(default)]
    replace_all: bool,
}

/// Replaces a text in a file.
pub(super) struct EditFile;

impl FileOperation for EditFile {
    const NAME: &'static str = "edit_file";
    const DESCRIPTION: &'static str = "Replaces a text in a file of the workspace. The old text \
        must be in the file exactly once, with its white space; add lines around it until it is \
        unique. Returns the difference.";
    const ACCESS: FileAccess = FileAccess::Edit;
    type Arguments = Arguments;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1, "description": "Path relative to the workspace."},
                "old_text": {"type": "string", "minLength": 1, "description": "The exact text to replace."},
                "new_text": {"type": "string", "description": "The text to put in its place."},
                "replace_all": {"type": "boolean", "description": "Whether to replace every occurrence."}
            },
            "required": ["path", "old_text", "new_text"],
            "additionalProperties": false
        })
    }

    fn run(workspace: &Workspace, arguments: Arguments) -> Result<String, WorkspaceError> {
        let Arguments { path, old_text, new_text, replace_all } = arguments;
        let edit = TextEdit { old: old_text, new: new_text, all: replace_all };
        Ok(workspace.edit(&path, &edit)?.unified)
    }
}
