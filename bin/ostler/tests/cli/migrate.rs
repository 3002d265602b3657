use ostler_store::SCHEMA_VERSION;

use crate::{stderr, stdout};

#[test]
fn migrating_says_what_it_did() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = format!("sqlite:{}", folder.path().join("ostler.db").display());
    let first = stdout(&["migrate", "--database", &url]);
    assert_eq!(first, format!("migrated the database from schema version 0 to {SCHEMA_VERSION}\n"));
    let again = stdout(&["migrate", "--database", &url]);
    assert_eq!(again, format!("the database is at schema version {SCHEMA_VERSION} already\n"));
}

#[test]
fn a_database_that_cannot_be_had_is_explained() {
    let nowhere = stderr(&["migrate", "--database", "sqlite:/nowhere/at/all.db"]);
    assert!(nowhere.starts_with("error: the database cannot be reached: "), "{nowhere}");
    let secret = stderr(&["migrate", "--database", "mysql://root:hunter2@host/db"]);
    assert!(secret.contains("use sqlite:PATH"), "{secret}");
    assert!(!secret.contains("hunter2"), "{secret}");
}
