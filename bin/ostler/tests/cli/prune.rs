use std::path::Path;

use serde_json::Value;

use crate::{ostler, stderr, stdout};

/// A database at schema version 1: two orgs, each with an old message that was
/// answered and an old one that is dead. One of them has 30 retention days.
const VERSION_1: &[u8] = include_bytes!("fixtures/version1.db");

fn database(folder: &Path) -> String {
    let path = folder.join("ostler.db");
    std::fs::write(&path, VERSION_1).expect("the file is written");
    format!("sqlite:{}", path.display())
}

fn pruned(url: &str) -> Value {
    let json = stdout(&["prune", "--database", url, "--json"]);
    serde_json::from_str(&json).expect("JSON")
}

#[test]
fn o15_prune_counts_in_a_dry_run_and_then_deletes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let empty = format!("sqlite:{}", folder.path().join("empty.db").display());
    let early = stderr(&["prune", "--database", &empty]);
    assert!(early.contains("`ostler migrate` creates it"), "{early}");
    let url = database(folder.path());
    stdout(&["migrate", "--database", &url]);
    let dry = stdout(&["prune", "--database", &url, "--dry-run"]);
    assert_eq!(
        dry,
        "org    days  inbox  outbox  calls  sessions  messages  runs  events  workflows  signals  threads  files  records\n\
         bella  30    1      0       0      0         0         0     0       0          0        0        0      0\n\n\
         nothing was deleted; leave out --dry-run to delete it\n"
    );
    assert_eq!(pruned(&url)[0]["inbox"], 1);
    let second = pruned(&url);
    assert_eq!(second[0]["inbox"], 0, "it is gone");
    assert_eq!(second[0]["slug"], "bella");
    assert_eq!(second.as_array().map(Vec::len), Some(1), "the other org keeps everything");
    let audit = stdout(&["audit", "ls", "--action", "prune", "--database", &url, "--json"]);
    let audit: Value = serde_json::from_str(&audit).expect("JSON");
    assert_eq!(audit.as_array().map(Vec::len), Some(1), "O15: once, for what was deleted: {audit}");
    let doctor = ostler(&["doctor", "--database", &url]);
    let doctor = String::from_utf8(doctor.stdout).expect("text");
    assert!(doctor.contains("Dead letters: 2, the oldest for "), "dead letters stay: {doctor}");
}

#[test]
fn nothing_is_pruned_without_retention_days() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = format!("sqlite:{}", folder.path().join("ostler.db").display());
    stdout(&["migrate", "--database", &url]);
    let said = stdout(&["prune", "--database", &url]);
    assert_eq!(said, "no org has retention days; nothing is deleted\n");
    assert_eq!(pruned(&url), Value::Array(vec![]));
}
