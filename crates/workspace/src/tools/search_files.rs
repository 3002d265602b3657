//! The `search_files` tool.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::WorkspaceError;
use crate::files::SearchQuery;
use crate::tools::file_tool::{FileAccess, FileOperation};
use crate::workspace::Workspace;

const MAX_MATCHES: usize = 200;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    pattern: String,
    #[serde(default)]
    path: String,
    #[serde(default)]
    files: Option<String>,
    #[serde(default)]
    ignore_case: bool,
}

/// Searches files.
pub(super) struct SearchFiles;

impl FileOperation for SearchFiles {
    const NAME: &'static str = "search_files";
    const DESCRIPTION: &'static str = "Searches the text files of the workspace with a regular \
        expression, line by line, and returns path, line number and line.";
    const ACCESS: FileAccess = FileAccess::Read;
    type Arguments = Arguments;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "minLength": 1, "description": "A regular expression in the syntax of ripgrep."},
                "path": {"type": "string", "description": "The directory or file; the whole workspace if left out."},
                "files": {"type": "string", "description": "A glob of the files to search, such as *.rs."},
                "ignore_case": {"type": "boolean"}
            },
            "required": ["pattern"],
            "additionalProperties": false
        })
    }

    fn run(workspace: &Workspace, arguments: Arguments) -> Result<String, WorkspaceError> {
        let Arguments { pattern, path, files, ignore_case } = arguments;
        let query = SearchQuery { pattern, path, files, ignore_case, max_matches: MAX_MATCHES };
        let found = workspace.files().search(&query)?;
        let mut lines: Vec<String> = found
            .matches
            .iter()
            .map(|found| format!("{}:{}: {}", found.path, found.line, found.text))
            .collect();
        if lines.is_empty() {
            lines.push("Nothing was found.".to_owned());
        }
        if found.is_partial {
            lines.push("[The search stopped at its limit: narrow it down]".to_owned());
        }
        if found.skipped > 0 {
            lines.push(format!("[{} files are too large to be searched]", found.skipped));
        }
        Ok(lines.join("\n"))
    }
}
