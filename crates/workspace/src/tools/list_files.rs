//! The `list_files` tool.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::WorkspaceError;
use crate::files::{EntryKind, ListQuery};
use crate::tools::file_tool::{FileAccess, FileOperation};
use crate::workspace::Workspace;

const MAX_ENTRIES: usize = 500;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    #[serde(default)]
    path: String,
    #[serde(default)]
    pattern: Option<String>,
}

/// Lists files.
pub(super) struct ListFiles;

impl FileOperation for ListFiles {
    const NAME: &'static str = "list_files";
    const DESCRIPTION: &'static str = "Lists the files below a directory of the workspace. Files \
        that .gitignore excludes are left out.";
    const ACCESS: FileAccess = FileAccess::Read;
    type Arguments = Arguments;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The directory; the whole workspace if left out."},
                "pattern": {"type": "string", "description": "A glob such as *.rs or src/**/*.ts."}
            },
            "additionalProperties": false
        })
    }

    fn run(workspace: &Workspace, arguments: Arguments) -> Result<String, WorkspaceError> {
        let Arguments { path, pattern } = arguments;
        let list =
            workspace.files().list(&ListQuery { path, pattern, max_entries: MAX_ENTRIES })?;
        if list.entries.is_empty() {
            return Ok("There are no files.".to_owned());
        }
        let mut lines: Vec<String> = list
            .entries
            .iter()
            .map(|entry| {
                let mark = match entry.kind {
                    EntryKind::Directory => "/",
                    EntryKind::Link => "@",
                    EntryKind::File | EntryKind::Other => "",
                };
                format!("{}{mark}", entry.path.display())
            })
            .collect();
        if list.has_more {
            lines.push("[There are more: ask for a directory or a pattern]".to_owned());
        }
        Ok(lines.join("\n"))
    }
}
