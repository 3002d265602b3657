use std::path::Path;

use serde_json::Value;

use crate::{stderr, stdout};

/// A database as a program at schema version 4 left it: two orgs, each with an
/// old message that was answered and an old one that is dead. One of them keeps
/// things for 30 days.
const VERSION_4: &[u8] = include_bytes!("fixtures/version4.db");

fn database(folder: &Path) -> String {
    let path = folder.join("ostler.db");
    std::fs::write(&path, VERSION_4).expect("the file is written");
    format!("sqlite:{}", path.display())
}

fn pruned(url: &str) -> Value {
    let json = stdout(&["prune", "--database", url, "--json"]);
    serde_json::from_str(&json).expect("JSON")
}

#[test]
fn pruning_counts_first_and_then_deletes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = database(folder.path());
    let early = stderr(&["prune", "--database", &url]);
    assert!(early.contains("run `ostler migrate`"), "{early}");
    stdout(&["migrate", "--database", &url]);
    let dry = stdout(&["prune", "--database", &url, "--dry-run"]);
    assert_eq!(
        dry,
        "org    days  inbox  outbox  calls  sessions  messages  runs  events  workflows  signals\n\
         bella  30    1      0       0      0         0         0     0       0          0\n\n\
         nothing was deleted; without --dry-run it is\n"
    );
    assert_eq!(pruned(&url)[0]["inbox"], 1);
    let second = pruned(&url);
    assert_eq!(second[0]["inbox"], 0, "it is gone");
    assert_eq!(second[0]["slug"], "bella");
    assert_eq!(second.as_array().map(Vec::len), Some(1), "the other org keeps everything");
    let doctor = stdout(&["doctor", "--database", &url]);
    assert!(doctor.contains("Messages are not tried any more: 2;"), "the dead stay: {doctor}");
}

#[test]
fn everything_is_kept_unless_an_org_says_otherwise() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = format!("sqlite:{}", folder.path().join("ostler.db").display());
    stdout(&["migrate", "--database", &url]);
    let said = stdout(&["prune", "--database", &url]);
    assert_eq!(said, "no org has retention days, so everything is kept\n");
    assert_eq!(pruned(&url), Value::Array(vec![]));
}
