use ostler_store::SCHEMA_VERSION;

use crate::{ostler, stderr, stdout};

#[test]
fn migrate_prints_the_schema_versions() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = format!("sqlite:{}", folder.path().join("ostler.db").display());
    let first = stdout(&["migrate", "--database", &url]);
    assert_eq!(first, format!("migrated the database from schema version 0 to {SCHEMA_VERSION}\n"));
    let again = stdout(&["migrate", "--database", &url]);
    assert_eq!(again, format!("the database is already at schema version {SCHEMA_VERSION}\n"));
}

#[test]
fn an_unreachable_database_is_an_error_without_secrets() {
    let nowhere = stderr(&["migrate", "--database", "sqlite:/nowhere/at/all.db"]);
    assert!(nowhere.starts_with("error: the database cannot be reached: "), "{nowhere}");
    let secret = stderr(&["migrate", "--database", "mysql://root:hunter2@host/db"]);
    assert!(secret.contains("use sqlite:PATH"), "{secret}");
    assert!(!secret.contains("hunter2"), "{secret}");
}

/// The fixture is a database of schema version 4 from before the first release.
#[test]
fn a_database_from_before_the_first_release_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("ostler.db");
    let before = include_bytes!("fixtures/version4.db");
    std::fs::write(&path, before).expect("the file is written");
    let url = format!("sqlite:{}", path.display());
    for command in ["migrate", "prune"] {
        let refused = stderr(&[command, "--database", &url]);
        assert!(refused.contains("made by a version before 0.1"), "{command}: {refused}");
        assert!(refused.contains("create a new one"), "{command}: {refused}");
    }
    let doctor = ostler(&["doctor", "--database", &url]);
    let checks = String::from_utf8(doctor.stdout).expect("text");
    assert!(checks.contains("made by a version before 0.1"), "{checks}");
}
