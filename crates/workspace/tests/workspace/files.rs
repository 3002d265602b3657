//! Reading, writing, editing, listing and searching files.

use std::os::unix::fs::PermissionsExt as _;

use ostler_workspace::error::WorkspaceError;
use ostler_workspace::files::{LineRange, ListQuery, SearchQuery, TextEdit};

use crate::support::TestWorkspace;

#[test]
fn m36_lines_are_read_within_limits() {
    let test = TestWorkspace::new();
    test.put("a.txt", "one\ntwo\nthree\nfour");
    let read = |first, max_lines, max_bytes| {
        let range = LineRange { first, max_lines, max_bytes };
        let read = test.workspace.files().read_lines("a.txt", range).expect("a text");
        (read.text, read.lines, read.has_more)
    };
    assert_eq!(read(1, 9, 99), ("one\ntwo\nthree\nfour".to_owned(), 4, false));
    assert_eq!(read(2, 2, 99), ("two\nthree\n".to_owned(), 2, true));
    assert_eq!(read(4, 2, 99), ("four".to_owned(), 1, false));
    assert_eq!(read(5, 2, 99), (String::new(), 0, false));
    assert_eq!(read(1, 9, 5), ("one\nt".to_owned(), 2, true));
}

#[test]
fn m36_what_is_not_a_text_file_is_refused() {
    let test = TestWorkspace::new();
    test.put("binary", "a\0b");
    test.put("dir/x", "");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        test.root().join("pipe"),
        rustix::fs::FileType::Fifo,
        0o666.into(),
        0,
    )
    .expect("a pipe");
    let range = LineRange { first: 1, max_lines: 9, max_bytes: 99 };
    for (path, expected) in [
        ("binary", "`binary` is a binary file of 3 bytes"),
        ("dir", "`dir` is a directory"),
        ("pipe", "`pipe` is not a regular file"),
        ("none", "`none` does not exist"),
        ("binary/x", "`binary/x` is not a directory"),
    ] {
        let error = test.workspace.files().read_lines(path, range).expect_err(path);
        assert_eq!(error.to_string(), expected);
    }
    let error = test.workspace.files().read_bytes("binary", 2).expect_err("a limit");
    assert!(matches!(error, WorkspaceError::TooLarge { size: 3, limit: 2, .. }), "{error}");
}

#[test]
fn m36_writing_keeps_permissions_and_leaves_no_temporary_file() {
    let test = TestWorkspace::new();
    test.put("run.sh", "old\n");
    let path = test.root().join("run.sh");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).expect("permissions");
    std::os::unix::fs::symlink("run.sh", test.root().join("link")).expect("a link");
    let diff = test.workspace.write("link", "new\n").expect("a write");
    assert_eq!((diff.added, diff.removed), (1, 1));
    assert_eq!(test.get("run.sh").as_deref(), Some("new\n"));
    assert_eq!(std::fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o750);
    assert!(test.root().join("link").is_symlink());
    let diff = test.workspace.write("new/deep/file.txt", "x").expect("a write");
    assert!(
        diff.unified.starts_with("--- /dev/null\n+++ b/new/deep/file.txt\n"),
        "{}",
        diff.unified
    );
    let names = std::fs::read_dir(test.root()).expect("a directory").count();
    assert_eq!(names, 3);
}

#[test]
fn m36_an_edit_returns_its_difference() {
    let test = TestWorkspace::new();
    test.put("a.rs", "fn a() {}\nfn b() {}\n");
    let edit = |old: &str, new: &str| {
        let edit = TextEdit { old: old.into(), new: new.into(), all: false };
        test.workspace.edit("a.rs", &edit)
    };
    let diff = edit("fn b() {}", "fn c() {}").expect("an edit");
    assert_eq!(
        diff.unified,
        "--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,2 @@\n fn a() {}\n-fn b() {}\n+fn c() {}\n"
    );
    assert!(matches!(edit("fn", "x"), Err(WorkspaceError::AmbiguousMatch { count: 2, .. })));
    assert!(matches!(edit("zzz", "x"), Err(WorkspaceError::NoMatch { .. })));
    assert_eq!(test.get("a.rs").as_deref(), Some("fn a() {}\nfn c() {}\n"));
}

/// M36: two edits at the same time are both there.
#[test]
fn m36_parallel_edits_are_not_lost() {
    let test = TestWorkspace::new();
    let lines: String = (0..40).map(|n| format!("line {n};\n")).collect();
    test.put("a.txt", &lines);
    std::thread::scope(|scope| {
        for n in 0..40 {
            let workspace = &test.workspace;
            scope.spawn(move || {
                let (old, new) = (format!("line {n};"), format!("edited {n};"));
                workspace.edit("a.txt", &TextEdit { old, new, all: false }).expect("an edit");
            });
        }
    });
    assert_eq!(test.get("a.txt").expect("a file").matches("edited").count(), 40);
}

fn list(
    test: &TestWorkspace,
    path: &str,
    pattern: Option<&str>,
    max_entries: usize,
) -> (Vec<String>, bool) {
    let query = ListQuery { path: path.into(), pattern: pattern.map(Into::into), max_entries };
    let list = test.workspace.files().list(&query).expect("a list");
    let paths = list.entries.iter().map(|entry| entry.path.display().to_string());
    (paths.collect(), list.has_more)
}

#[test]
fn m36_listing_respects_ignore_files() {
    let test = TestWorkspace::new();
    test.put(".gitignore", "target/\n*.log\n");
    test.put("src/.gitignore", "!keep.log\n/gen.rs\n");
    for path in ["target/x", "a.log", "src/keep.log", "src/gen.rs", "src/main.rs", ".git/config"] {
        test.put(path, "x");
    }
    let (all, more) = list(&test, "", None, 100);
    assert_eq!(all, [".gitignore", "src", "src/.gitignore", "src/keep.log", "src/main.rs"]);
    assert!(!more);
    assert_eq!(list(&test, "src", None, 100).0, ["src/.gitignore", "src/keep.log", "src/main.rs"]);
    assert_eq!(list(&test, ".", Some("*.rs"), 100).0, ["src/main.rs"]);
    assert_eq!(list(&test, ".", Some("src/*.log"), 100).0, ["src/keep.log"]);
    assert_eq!(list(&test, ".", None, 2), (vec![".gitignore".into(), "src".into()], true));
}

#[test]
fn m36_searching_finds_lines_within_limits() {
    let test = TestWorkspace::new();
    test.put(".gitignore", "out/\n");
    test.put("a.rs", "let x = 1;\nlet Y = 2;\n");
    test.put("b.txt", "let z = 3;\n");
    test.put("out/c.rs", "let no = 0;\n");
    test.put("binary", "let\0x");
    let search = |pattern: &str, files: Option<&str>, ignore_case, max_matches| {
        let query = SearchQuery {
            pattern: pattern.into(),
            path: ".".into(),
            files: files.map(Into::into),
            ignore_case,
            max_matches,
        };
        test.workspace.files().search(&query)
    };
    let lines = |pattern: &str, files, ignore_case| -> Vec<String> {
        let found = search(pattern, files, ignore_case, 10).expect("a result");
        found.matches.iter().map(|m| format!("{}:{}: {}", m.path, m.line, m.text)).collect()
    };
    assert_eq!(
        lines(r"let \w", None, false),
        ["a.rs:1: let x = 1;", "a.rs:2: let Y = 2;", "b.txt:1: let z = 3;"]
    );
    assert_eq!(lines("LET X", Some("*.rs"), true), ["a.rs:1: let x = 1;"]);
    let limited = search("let", None, false, 1).expect("a result");
    assert_eq!((limited.matches.len(), limited.is_partial), (1, true));
    assert!(matches!(search("(", None, false, 1), Err(WorkspaceError::Pattern(_))));
}
