//! The `apply_patch` tool.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::WorkspaceError;
use crate::tools::file_tool::{FileAccess, FileOperation};
use crate::workspace::Workspace;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    patch: String,
}

/// Applies a unified diff.
pub(super) struct ApplyPatch;

impl FileOperation for ApplyPatch {
    const NAME: &'static str = "apply_patch";
    const DESCRIPTION: &'static str = "Applies a unified diff to files of the workspace, \
        completely or not at all. Files are created with --- /dev/null and deleted with \
        +++ /dev/null. Context lines must match exactly; line numbers are only hints.";
    const ACCESS: FileAccess = FileAccess::Edit;
    type Arguments = Arguments;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "patch": {"type": "string", "minLength": 1, "description": "A unified diff with ---, +++ and @@ lines."}
            },
            "required": ["patch"],
            "additionalProperties": false
        })
    }

    fn run(workspace: &Workspace, arguments: Arguments) -> Result<String, WorkspaceError> {
        let diffs = workspace.apply_patch(&arguments.patch)?;
        let lines: Vec<String> = diffs
            .iter()
            .map(|diff| {
                let (added, removed) = (diff.added, diff.removed);
                format!("{}: {added} lines added, {removed} removed", diff.path)
            })
            .collect();
        Ok(format!("The patch was applied.\n{}", lines.join("\n")))
    }
}
