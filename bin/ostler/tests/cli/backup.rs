//! O27: `ostler backup` and `ostler restore`.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ostler_store::SCHEMA_VERSION;
use serde_json::Value;

use crate::{stderr, stdout};

/// A database at schema version 1, with two orgs.
const VERSION_1: &[u8] = include_bytes!("fixtures/version1.db");

fn url(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path that is text")
}

fn version_1(folder: &Path) -> String {
    let path = folder.join("old.db");
    std::fs::write(&path, VERSION_1).expect("the file is written");
    url(&path)
}

/// O27: a backup of an older schema is restored and brought up to date; the file is its
/// owner's alone.
#[test]
fn o27_an_old_database_is_backed_up_restored_and_migrated() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (old, file) = (version_1(folder.path()), folder.path().join("a.backup"));
    let said = stdout(&["backup", text(&file), "--database", &old]);
    assert!(said.contains("schema version 1\n") && said.contains("secrets/"), "{said}");
    let mode = file.metadata().expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    assert!(!folder.path().join("a.backup.part").exists());

    let new = url(&folder.path().join("new.db"));
    let said = stdout(&["restore", text(&file), "--database", &new]);
    let migrated = format!("migrated from schema version 1 to {SCHEMA_VERSION}");
    assert!(said.contains("restored and compared") && said.contains(&migrated), "{said}");
    stdout(&["migrate", "--database", &old]);
    for command in [&["org", "ls"][..], &["dead-letter", "ls", "--org", "bella"]] {
        let of = |database: &str| stdout(&[command, &["--database", database]].concat());
        assert_eq!(of(&new), of(&old));
    }
    let cut = folder.path().join("cut.backup");
    let bytes = std::fs::read(&file).expect("a file");
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).expect("the file is written");
    let other = folder.path().join("other.db");
    let refused = stderr(&["restore", text(&cut), "--database", &url(&other)]);
    assert!(refused.contains("the backup is cut short"), "{refused}");
    assert!(!other.exists(), "no empty database is left");

    let again = stderr(&["restore", text(&file), "--database", &new]);
    assert!(again.contains("the database is not empty"), "{again}");
    let there = stderr(&["backup", text(&file), "--database", &new]);
    assert!(there.contains("exists already"), "{there}");
    let none = stderr(&["backup", "x.backup", "--database", "sqlite:/nowhere/a.db"]);
    assert!(none.contains("there is no file /nowhere/a.db"), "{none}");
    let second = folder.path().join("b.backup");
    let json = stdout(&["backup", text(&second), "--database", &new, "--json"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["schema_version"], SCHEMA_VERSION);
}

/// O27: a backup that is killed leaves no file under the name that was asked for, unless it
/// was whole already.
#[test]
fn o27_a_killed_backup_leaves_no_file_that_looks_whole() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let old = version_1(folder.path());
    let mut killed = 0;
    for number in 0..6_u64 {
        let file = folder.path().join(format!("{number}.backup"));
        let mut child = Command::new(env!("CARGO_BIN_EXE_ostler"))
            .args(["backup", text(&file), "--database", &old])
            .stdout(Stdio::null())
            .spawn()
            .expect("ostler runs");
        std::thread::sleep(std::time::Duration::from_millis(8 * number));
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        if file.exists() {
            let new = url(&folder.path().join(format!("{number}.db")));
            stdout(&["restore", text(&file), "--database", &new]);
        } else {
            killed += 1;
        }
    }
    assert!(killed > 0, "at least the first is killed early");
    // What the killed ones left is overwritten by the next backup of the same name.
    let file: PathBuf = folder.path().join("0.backup");
    stdout(&["backup", text(&file), "--database", &old]);
}
