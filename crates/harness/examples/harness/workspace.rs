//! Workspace: a directory that agents work in, with undo.

use std::io;
use std::path::Path;

use ostler_harness::WorkspaceSource;
use ostler_workspace::sandbox::{HelperProgram, SandboxOptions};
use ostler_workspace::workspace::WorkspaceOptions;
use serde_json::json;

use super::{Printed, harness};

const SCRIPT: &str = "rules:\n  - when: { user: go }\n    answer:\n      - call: write_file\n        with: { path: note.txt, content: hello }\n      - done";

/// Returns a workspace in the directory `root` of a folder. What it needs for undo is kept in
/// `data`.
pub(super) fn in_folder(folder: &Path) -> io::Result<WorkspaceSource> {
    let root = folder.join("root");
    std::fs::create_dir(&root)?;
    let sandbox = SandboxOptions::new(HelperProgram::this_program()?);
    let mut options = WorkspaceOptions::new(root, sandbox);
    options.data = Some(folder.join("data"));
    Ok(WorkspaceSource::Config(options))
}

pub(super) async fn run() -> Printed {
    let folder = tempfile::tempdir()?;
    let builder = harness(SCRIPT).await?.workspace(in_folder(folder.path())?);
    let harness = builder.initial_state(json!({"yolo": true})).build()?;
    harness.init().await?;
    let outcome = harness.send_message("go").await?;
    let note = folder.path().join("root/note.txt");
    let written = std::fs::read_to_string(&note)?;
    harness.restore_files(outcome.turn).await?;
    Ok(format!("written: {written}, there after undo: {}", note.exists()))
}
