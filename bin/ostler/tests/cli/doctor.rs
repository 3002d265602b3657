use std::path::Path;
use std::process::Output;

use ostler_store::{SCHEMA_VERSION, Store};
use serde_json::Value;

use crate::{ostler, stdout};

fn doctor(url: &str) -> Output {
    ostler(&["doctor", "--database", url])
}

/// Returns what a failing check prints.
fn failed(url: &str) -> String {
    let output = doctor(url);
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8(output.stderr).expect("text");
    assert!(errors.starts_with("error: a check failed"), "{errors}");
    String::from_utf8(output.stdout).expect("text")
}

fn in_folder(folder: &Path) -> String {
    format!("sqlite:{}", folder.join("ostler.db").display())
}

#[test]
fn a_healthy_database_passes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = in_folder(folder.path());
    stdout(&["migrate", "--database", &url]);
    let shown = stdout(&["doctor", "--database", &url]);
    assert!(shown.starts_with("ok  database          SQLite is reachable and holds "), "{shown}");
    assert_eq!(shown.lines().count(), 10, "{shown}");
    assert!(shown.lines().all(|line| line.starts_with("ok  ")), "{shown}");
    let json = stdout(&["doctor", "--database", &url, "--json"]);
    let checks: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(checks[1]["check"], "schema");
    assert_eq!(checks[1]["verdict"], "ok");
    assert_eq!(checks[1]["says"], format!("The schema is at version {SCHEMA_VERSION}."));
}

#[test]
fn a_missing_broken_or_unreachable_database_fails() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = in_folder(folder.path());
    let missing = failed(&url);
    assert!(missing.contains("`ostler migrate` creates it"), "{missing}");
    assert!(!folder.path().join("ostler.db").exists(), "looking makes no file");
    std::fs::write(folder.path().join("ostler.db"), "a letter, not a database, for once")
        .expect("written");
    let broken = failed(&url);
    assert!(broken.starts_with("failed  database  "), "{broken}");
    assert!(broken.contains("not a database"), "{broken}");
    let away = failed("postgres://nobody:hunter2@127.0.0.1:1/nothing");
    assert!(away.contains("the database cannot be reached"), "{away}");
    assert!(!away.contains("hunter2"), "{away}");
}

#[tokio::test]
async fn a_schema_of_another_version_fails_and_says_what_to_do() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = in_folder(folder.path());
    drop(Store::connect(&url).expect("the file opens"));
    assert!(failed(&url).contains("There are no tables yet; run `ostler migrate`."));
    let older = folder.path().join("older.db");
    std::fs::write(&older, include_bytes!("fixtures/version1.db")).expect("the file is written");
    let older = format!("sqlite:{}", older.display());
    assert!(failed(&older).contains("at version 1"), "{}", failed(&older));
    stdout(&["migrate", "--database", &older]);
    assert!(doctor(&older).status.success(), "an older database can be migrated");
    let newer = folder.path().join("newer.db");
    std::fs::write(&newer, include_bytes!("fixtures/newer.db")).expect("the file is written");
    let newer = failed(&format!("sqlite:{}", newer.display()));
    assert!(newer.contains("at version 999, newer than this program's"), "{newer}");
    assert!(newer.contains("use a newer ostler."), "{newer}");
}
