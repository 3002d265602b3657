//! Patches apply completely or not at all.

use ostler_workspace::files::unified_diff;
use ostler_workspace::patch::{apply_to_text, parse_patch};
use proptest::prelude::*;

use crate::support::TestWorkspace;

const PATCH: &str = "Some words before.\n\
    diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n\
    diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+x\n+y\n\
    diff --git a/old.txt b/old.txt\n--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n\
    diff --git a/from.txt b/to.txt\nrename from from.txt\nrename to to.txt\n";

fn prepared() -> TestWorkspace {
    let test = TestWorkspace::new();
    test.put("a.txt", "one\ntwo\nthree\n");
    test.put("old.txt", "bye\n");
    test.put("from.txt", "moved\n");
    test
}

#[test]
fn m36_a_patch_changes_creates_deletes_and_renames() {
    let test = prepared();
    let diffs = test.workspace.apply_patch(PATCH).expect("a patch");
    let paths: Vec<&str> = diffs.iter().map(|diff| diff.path.as_str()).collect();
    assert_eq!(paths, ["a.txt", "new.txt", "old.txt", "from.txt", "to.txt"]);
    let files = ["a.txt", "new.txt", "old.txt", "from.txt", "to.txt"].map(|path| test.get(path));
    let expected = [Some("one\nTWO\nthree\n"), Some("x\ny\n"), None, None, Some("moved\n")];
    assert_eq!(files.each_ref().map(Option::as_deref), expected);
}

#[test]
fn m36_a_patch_that_does_not_apply_changes_nothing_and_says_why() {
    let test = prepared();
    let bad = PATCH.replace("-two", "-zwei");
    let error = test.workspace.apply_patch(&bad).expect_err("a refusal");
    assert_eq!(
        error.to_string(),
        "the patch does not apply, and nothing was changed:\n\
         a.txt, change 1: line 2 should be \"zwei\" and is \"two\""
    );
    assert_eq!(test.get("a.txt").as_deref(), Some("one\ntwo\nthree\n"));
    assert_eq!((test.get("new.txt"), test.get("old.txt").is_some()), (None, true));
    for (patch, why) in [
        ("nothing", "the patch has no `---` and `+++` lines"),
        ("@@ -1 +1 @@\n-a\n+b", "line 1 of the patch: a change comes before the `---`"),
        ("--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b", "none: `none` does not exist"),
        ("--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x", "a.txt: the file exists already"),
        ("--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b", "../x: `../x` leads out of the workspace"),
        (
            "--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one",
            "a.txt: the file is deleted, but it has other lines",
        ),
        (
            "--- a/.git/config\n+++ b/.git/config\n@@ -1 +1 @@\n-a\n+b",
            ".git/config: `.git/config` cannot be changed",
        ),
        ("GIT binary patch\n", "line 1 of the patch: binary files cannot be patched"),
    ] {
        let error = test.workspace.apply_patch(patch).expect_err(patch).to_string();
        assert!(error.contains(why), "{patch}: {error}");
    }
}

#[test]
fn m36_hunks_are_found_where_their_lines_are() {
    let check = |text: &str, hunks: &str, expected: Result<&str, &str>| {
        let patch = parse_patch(&format!("--- a/f\n+++ b/f\n{hunks}")).expect("a patch");
        let applied = apply_to_text(&patch[0], text);
        let applied = applied.map_err(|problems| problems[0].why.clone());
        assert_eq!(applied.as_deref().map_err(String::as_str), expected, "{hunks}");
    };
    check("a\nb\nc\n", "@@ -9,1 +9,1 @@\n-b\n+B\n", Ok("a\nB\nc\n"));
    check("a\nb\nc\n", "@@\n-b\n+B\n", Ok("a\nB\nc\n"));
    check("x\ny\nx\n", "@@ -3 +3 @@\n-x\n+z\n", Ok("x\ny\nz\n"));
    check("x\ny\nx\n", "@@\n-x\n+z\n", Err("its lines are at 2 places; add more context lines"));
    check("a\r\nb\r\n", "@@ -1 +1 @@\n-a\n+A\n", Ok("A\r\nb\r\n"));
    check("a\nb\n", "@@ -1,0 +2 @@\n+i\n", Ok("a\ni\nb\n"));
    check("a", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n", Ok("b\n"));
    check("a\n", "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n", Ok("b"));
    check("a\n\nb\n", "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n\nSome words after.", Ok("a\n\nc\n"));
    check("a\nb\n", "@@ -1 +1 @@\n-x\n+y\n", Err("these lines are not in the file: \"x\""));
}

proptest! {
    /// Applying the difference between two texts to the first gives the second.
    #[test]
    fn m36_property_a_difference_applies_to_what_it_was_made_from(
        before in prop::collection::vec("[a-d]{0,2}", 0..30),
        after in prop::collection::vec("[a-d]{0,2}", 1..30),
        newline in any::<bool>(),
    ) {
        let join = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let (before, mut after) = (join(&before), join(&after));
        if !newline && after.len() > 1 && !after.ends_with("\n\n") {
            after.pop();
        }
        let diff = unified_diff("f", Some(&before), Some(&after));
        if before != after {
            let patch = parse_patch(&diff.unified).expect("a patch");
            let applied = apply_to_text(&patch[0], &before).expect("it applies");
            prop_assert_eq!(applied, after, "{}", diff.unified);
        }
    }

    /// Any text is parsed or refused.
    #[test]
    fn m36_property_any_text_can_be_parsed(text in "(--- a\n|\\+\\+\\+ b\n|@@ -1 \\+1 @@\n|[ +\\\\-]?[a-c]?\n|.{0,9}\n){0,12}") {
        if let Ok(patches) = parse_patch(&text) {
            for patch in patches {
                let _ = apply_to_text(&patch, "a\nb\nc\n");
            }
        }
    }
}
