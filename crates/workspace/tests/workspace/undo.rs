//! Undo: going back to the state before a turn.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use ostler_workspace::error::WorkspaceError;
use ostler_workspace::files::TextEdit;
use ostler_workspace::sandbox::{CommandRequest, DiscardOutput};
use ostler_workspace::undo::SavedState;
use ostler_workspace::workspace::{Workspace, WorkspaceOptions};

use crate::support::{TestWorkspace, sandbox_options, unsandboxed};

/// Everything in a directory: permissions and content, or the target of a link.
fn picture(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(root).expect("inside").display().to_string();
            let metadata = path.symlink_metadata().expect("metadata");
            let mode = metadata.permissions().mode() & 0o777;
            let content = if metadata.is_symlink() {
                format!("-> {}", path.read_link().expect("a target").display())
            } else if metadata.is_dir() {
                directories.push(path.clone());
                "directory".to_owned()
            } else {
                format!("{mode:o} {}", std::fs::read_to_string(&path).expect("a text"))
            };
            found.insert(name, content);
        }
    }
    found
}

/// Runs a line, in the sandbox if there is one.
async fn shell(test: &TestWorkspace, line: &str) {
    let request = CommandRequest { unsandboxed: unsandboxed(), ..CommandRequest::shell(line) };
    let result = test.run(&request).await;
    assert_eq!(result.output.text(), "", "{line}");
}

fn prepared() -> TestWorkspace {
    let test = TestWorkspace::new();
    test.put("a.txt", "a\n");
    test.put("dir/b.sh", "b\n");
    test.put("dir/deep/c.txt", "c\n");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(test.root().join("dir/b.sh"), mode).expect("permissions");
    std::os::unix::fs::symlink("a.txt", test.root().join("link")).expect("a link");
    test
}

#[tokio::test]
async fn m36_restore_undoes_changes_of_tools_and_commands() {
    let test = prepared();
    let before = picture(&test.root());
    test.workspace.begin_turn("1").expect("a turn");
    test.workspace.write("a.txt", "changed").expect("a write");
    test.workspace.write("new/x/y.txt", "new").expect("a write");
    shell(
        &test,
        "echo more >> a.txt; rm dir/b.sh; mv dir/deep dir/moved; chmod 600 dir/moved/c.txt; \
         mkdir made; echo m > made/m; ln -sfn dir link; ln -s nowhere dangling",
    )
    .await;
    let edit = TextEdit { old: "m".into(), new: "n".into(), all: false };
    test.workspace.edit("made/m", &edit).expect("an edit");
    let changed = picture(&test.root());
    let report = test.workspace.restore("1").expect("a restore");
    assert_eq!(picture(&test.root()), before);
    assert_eq!(report.not_restored, []);
    assert!(report.restored.contains(&"dir/b.sh".to_owned()), "{report:?}");
    assert!(report.removed.contains(&"made/m".to_owned()), "{report:?}");
    // The restore itself can be undone.
    test.workspace.restore(&report.turn).expect("a restore");
    assert_eq!(picture(&test.root()), changed);
}

#[tokio::test]
async fn m36_restoring_an_earlier_turn_undoes_later_ones() {
    let test = prepared();
    let before = picture(&test.root());
    let mut states = Vec::new();
    for turn in ["1", "2", "3"] {
        states.push(picture(&test.root()));
        test.workspace.begin_turn(turn).expect("a turn");
        test.workspace.write("a.txt", turn).expect("a write");
        shell(&test, &format!("echo {turn} > by_command")).await;
    }
    assert_eq!(test.workspace.undo().expect("undo").turns(), ["1", "2", "3"]);
    test.workspace.restore("3").expect("a restore");
    assert_eq!(picture(&test.root()), states[2]);
    test.workspace.restore("1").expect("a restore");
    assert_eq!(picture(&test.root()), before);
    let gone = test.workspace.restore("2").expect_err("it is undone");
    assert!(matches!(gone, WorkspaceError::UnknownTurn(_)));
}

/// M36: another process can undo what one that was killed in the middle of a command did.
#[tokio::test]
async fn m36_a_command_that_was_interrupted_can_be_undone_later() {
    let test = prepared();
    let before = picture(&test.root());
    test.workspace.begin_turn("1").expect("a turn");
    let request = CommandRequest {
        unsandboxed: unsandboxed(),
        ..CommandRequest::shell("echo x > a.txt; echo y > new; sleep 60")
    };
    let data = test.root().parent().expect("a parent").join("data");
    let copy = tempfile::tempdir().expect("a directory");
    {
        let running = test.workspace.run(&request, &DiscardOutput);
        tokio::pin!(running);
        let written = async {
            while test.get("new").as_deref() != Some("y\n") {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
            // What is on the disk at this moment is all that a killed process leaves.
            copy_directory(&data, copy.path());
        };
        tokio::select! {
            result = &mut running => panic!("it ended: {result:?}"),
            () = written => {}
        }
    }
    let mut options = WorkspaceOptions::new(test.root(), sandbox_options());
    options.data = Some(copy.path().to_owned());
    let other = Arc::new(Workspace::open(options).expect("a workspace"));
    let report = other.restore("1").expect("a restore");
    assert_eq!(report.not_restored, []);
    assert_eq!(picture(&test.root()), before);
}

fn copy_directory(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("a directory").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            std::fs::create_dir(&target).expect("a directory");
            copy_directory(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("a copy");
        }
    }
}

#[tokio::test]
async fn m36_what_is_too_large_to_be_saved_is_said() {
    let test = TestWorkspace::with(|options| options.undo.file_bytes = 10);
    test.put("small", "1\n");
    test.put("large", "12345678901\n");
    test.workspace.begin_turn("1").expect("a turn");
    shell(&test, "echo x > small; echo x > large").await;
    let changes = test.workspace.undo().expect("undo").changes("1").expect("changes");
    assert!(matches!(changes["large"], SavedState::NotSaved { .. }), "{changes:?}");
    let report = test.workspace.restore("1").expect("a restore");
    assert_eq!(report.restored, ["small"]);
    let reason = "it is larger than 10 bytes".to_owned();
    assert_eq!(report.not_restored, [("large".to_owned(), reason)]);
    let crowded = TestWorkspace::with(|options| options.undo.files = 2);
    for name in ["a", "b", "c"] {
        crowded.put(name, "x");
    }
    crowded.workspace.begin_turn("1").expect("a turn");
    let request = CommandRequest { unsandboxed: unsandboxed(), ..CommandRequest::shell("true") };
    let run = crowded.workspace.run(&request, &DiscardOutput).await.expect("a command");
    let why = run.not_undoable.expect("a reason");
    assert_eq!(why, "the workspace has more than 2 files");
}

#[tokio::test]
async fn m36_old_turns_are_forgotten_with_their_contents() {
    let test = TestWorkspace::with(|options| options.undo.turns = 3);
    for turn in 0..10 {
        test.workspace.begin_turn(&turn.to_string()).expect("a turn");
        test.workspace.write("a.txt", &format!("content {turn}")).expect("a write");
    }
    assert_eq!(test.workspace.undo().expect("undo").turns(), ["7", "8", "9"]);
    let data = test.root().parent().expect("a parent").join("data");
    let count = |name: &str| std::fs::read_dir(data.join(name)).expect("a directory").count();
    assert_eq!((count("turns"), count("objects")), (3, 3));
    test.workspace.restore("7").expect("a restore");
    assert_eq!(test.get("a.txt").as_deref(), Some("content 6"));
}

/// M36: files that ignore files exclude are neither saved nor removed.
#[tokio::test]
async fn m36_ignored_files_survive_a_restore() {
    let test = prepared();
    test.put(".gitignore", "target/\n");
    test.put("target/out", "built");
    test.workspace.begin_turn("1").expect("a turn");
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    shell(&test, "rm .gitignore; echo x > a.txt").await;
    test.workspace.restore("1").expect("a restore");
    assert_eq!(test.get("target/out").as_deref(), Some("built"));
    assert_eq!(test.get(".gitignore").as_deref(), Some("target/\n"));
    assert_eq!(test.get("a.txt").as_deref(), Some("a\n"));
}

#[test]
fn m36_the_data_must_be_outside_the_root() {
    let test = TestWorkspace::new();
    let mut options = WorkspaceOptions::new(test.root(), sandbox_options());
    options.data = Some(test.root().join(".data"));
    let error = Workspace::open(options).expect_err("a refusal");
    assert!(matches!(error, WorkspaceError::InvalidPath { .. }), "{error}");
}
