//! No path leads out of the root, whatever it looks like and whatever changes meanwhile.

use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ostler_workspace::error::WorkspaceError;
use ostler_workspace::files::{LineRange, ListQuery, SearchQuery, TextEdit};
use ostler_workspace::workspace::Workspace;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::support::{SECRET, TestWorkspace};

/// Links that lead outside in different ways.
fn prepare(test: &TestWorkspace) {
    test.put("a/b/c.txt", "inside");
    let (root, outside) = (test.root(), test.outside());
    for (name, target) in [
        ("link", "../outside".to_owned()),
        ("file_link", "../outside/secret.txt".to_owned()),
        ("absolute_link", outside.display().to_string()),
        ("absolute_file", outside.join("secret.txt").display().to_string()),
        ("chain", "link2".to_owned()),
        ("link2", "link".to_owned()),
        ("up", "..".to_owned()),
        ("deep", "a/b/../../../outside".to_owned()),
        ("loop", "loop".to_owned()),
        ("proc", "/proc/self/root".to_owned()),
        ("dangling", "../outside/new.txt".to_owned()),
        ("a/b/far", "../../../outside".to_owned()),
        ("git", ".git".to_owned()),
    ] {
        symlink(target, root.join(name)).expect("a link");
    }
    test.put(".git/hooks/sample", "x");
}

/// Paths that lead to `secret.txt` outside, or to a new file there.
fn paths(test: &TestWorkspace) -> Vec<String> {
    let outside = test.outside().display().to_string();
    let mut paths: Vec<String> = [
        "../outside/secret.txt",
        "./../outside/secret.txt",
        "a/../../outside/secret.txt",
        "a/b/../../../outside/secret.txt",
        "link/secret.txt",
        "./link/./secret.txt",
        "file_link",
        "absolute_link/secret.txt",
        "absolute_file",
        "chain/secret.txt",
        "link2/secret.txt",
        "up/outside/secret.txt",
        "deep/secret.txt",
        "a/b/far/secret.txt",
        "loop/secret.txt",
        "link/../outside/secret.txt",
        "up/up/secret.txt",
        "dangling",
        "link/new.txt",
        "nothing/../../outside/secret.txt",
        "a/b/c.txt/../../../../outside/secret.txt",
        "\0",
        "a\0/../..",
    ]
    .map(str::to_owned)
    .to_vec();
    paths.push(format!("{outside}/secret.txt"));
    paths.push(format!("/{outside}/secret.txt"));
    paths.push(format!("proc{outside}/secret.txt"));
    paths.push(format!("{}/../outside/secret.txt", test.root().display()));
    paths.push("x/".repeat(3000));
    paths
}

const OPERATIONS: [&str; 7] = ["read", "bytes", "write", "edit", "list", "search", "patch"];

/// Does something with a path and returns what could be learned from it.
fn attempt(workspace: &Workspace, operation: &str, path: &str) -> Result<String, WorkspaceError> {
    let files = workspace.files();
    let range = LineRange { first: 1, max_lines: 10, max_bytes: 1000 };
    let text = |path: &str| path.to_owned();
    match operation {
        "read" => files.read_lines(path, range).map(|read| read.text),
        "bytes" => files.read_bytes(path, 1000).map(|bytes| String::from_utf8_lossy(&bytes).into()),
        "write" => workspace.write(path, "overwritten").map(|diff| diff.unified),
        "edit" => {
            let edit = TextEdit { old: "read".into(), new: "changed".into(), all: false };
            workspace.edit(path, &edit).map(|diff| diff.unified)
        }
        "list" => {
            let query = ListQuery { path: text(path), pattern: None, max_entries: 100 };
            files.list(&query).map(|list| format!("{list:?}"))
        }
        "search" => {
            let query = SearchQuery {
                pattern: "do not".into(),
                path: text(path),
                files: None,
                ignore_case: false,
                max_matches: 10,
            };
            files.search(&query).map(|found| format!("{found:?}"))
        }
        _ => {
            let patch = format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{SECRET}\n+changed\n");
            workspace.apply_patch(&patch).map(|diffs| format!("{diffs:?}"))
        }
    }
}

#[test]
fn m36_no_path_leads_out_of_the_root() {
    let test = TestWorkspace::new();
    prepare(&test);
    let mut attempts = 0;
    for path in paths(&test) {
        for operation in OPERATIONS {
            attempts += 1;
            let found = attempt(&test.workspace, operation, &path);
            assert!(found.is_err(), "{operation} {path:?}: {found:?}");
            test.assert_outside_is_untouched(&format!("{operation} {path:?}"));
        }
    }
    assert!(attempts >= 100, "only {attempts} attempts");
}

#[test]
fn m36_an_escape_is_named_as_one() {
    let test = TestWorkspace::new();
    prepare(&test);
    for path in ["../outside/secret.txt", "link/secret.txt", "file_link", "/etc/passwd"] {
        let error = attempt(&test.workspace, "read", path).expect_err("a refusal");
        assert_eq!(error.to_string(), format!("`{path}` leads out of the workspace"));
    }
}

#[test]
fn m36_a_walk_follows_no_link() {
    let test = TestWorkspace::new();
    prepare(&test);
    let list = attempt(&test.workspace, "list", ".").expect("a list");
    assert!(!list.contains("secret") && list.contains("c.txt"), "{list}");
    let found = attempt(&test.workspace, "search", ".").expect("a result");
    assert!(!found.contains("secret"), "{found}");
}

/// M36: git and Ostler run or trust what these files say, outside the sandbox.
#[test]
fn m36_files_that_programs_outside_trust_cannot_be_written() {
    let test = TestWorkspace::new();
    prepare(&test);
    for path in [
        ".git/hooks/pre-commit",
        ".git/config",
        "git/config",
        ".ostler/permissions.toml",
        "a/.git/config",
    ] {
        let error = test.workspace.write(path, "x").expect_err(path);
        assert!(matches!(error, WorkspaceError::Protected { .. }), "{path}: {error}");
    }
}

/// How many random workspaces are tried by default; `OSTLER_CASES` overrides it.
const CASES: u32 = 10;
const COMPONENTS: [&str; 18] = [
    "..",
    ".",
    "",
    "a",
    "b",
    "c.txt",
    "link",
    "up",
    "deep",
    "chain",
    "far",
    "outside",
    "secret.txt",
    "absolute_link",
    "proc",
    "self",
    "root",
    "file_link",
];

/// M36: paths made of anything, in any order.
#[test]
fn m36_property_random_paths_stay_inside() {
    let cases = std::env::var("OSTLER_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES);
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let path = prop::collection::vec(prop::sample::select(COMPONENTS.to_vec()), 1..7);
    let attempts = prop::collection::vec((prop::sample::select(OPERATIONS.to_vec()), path), 40);
    let run = TestRunner::new(config).run(&attempts, |attempts| {
        let test = TestWorkspace::new();
        prepare(&test);
        for (operation, components) in attempts {
            let path = components.join("/");
            if let Ok(found) = attempt(&test.workspace, operation, &path) {
                prop_assert!(!found.contains(SECRET), "{operation} {path}");
            }
            test.assert_outside_is_untouched(&format!("{operation} {path}"));
        }
        Ok(())
    });
    run.expect("no path leads out");
}

/// M36: a directory that becomes a link to the outside, and back, while it is used.
#[test]
fn m36_races_with_links_do_not_lead_out() {
    let seconds = std::env::var("OSTLER_RACES").map_or(0.5, |_| 10.0);
    let test = TestWorkspace::new();
    test.put("dir/secret.txt", "inside");
    symlink("../outside", test.root().join("evil")).expect("a link");
    let stop = Arc::new(AtomicBool::new(false));
    let (root, stopped) = (test.root(), stop.clone());
    let swapper = std::thread::spawn(move || {
        let from = |name: &str| root.join(name);
        let exchange = rustix::fs::RenameFlags::EXCHANGE;
        while !stopped.load(Ordering::Relaxed) {
            let (cwd, a, b) = (rustix::fs::CWD, from("dir"), from("evil"));
            rustix::fs::renameat_with(cwd, a, cwd, b, exchange).expect("an exchange");
        }
    });
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut successes = 0;
    while Instant::now() < end {
        for operation in ["read", "bytes", "write", "list", "search"] {
            let path = if operation == "list" { "dir" } else { "dir/secret.txt" };
            if let Ok(found) = attempt(&test.workspace, operation, path) {
                successes += 1;
                assert!(!found.contains(SECRET), "{operation}: {found}");
            }
        }
    }
    stop.store(true, Ordering::Relaxed);
    swapper.join().expect("the other thread");
    assert!(successes > 0, "nothing was ever inside");
    test.assert_outside_is_untouched("after the race");
}
