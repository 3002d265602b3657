//! The schema and its migrations: repeatable, refused when newer or unsupported,
//! the same in both dialects.

use std::collections::BTreeSet;

use ostler_store::{Migration, SCHEMA_VERSION, Store, StoreError};
use tokio_postgres::NoTls;

use crate::on_every_backend;
use crate::support::{TestDatabase, org};

on_every_backend!(migrating_twice_changes_nothing);
async fn migrating_twice_changes_nothing(store: &Store) {
    store.create_org(org(1)).await.unwrap();
    assert_eq!(store.migrate().await.unwrap(), SCHEMA_VERSION);
    assert_eq!(store.schema_version().await.unwrap(), SCHEMA_VERSION);
    assert_eq!(store.orgs().await.unwrap(), [org(1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn opening_an_empty_database_says_to_run_migrate() {
    for backend in TestDatabase::both().await {
        if let Some(path) = backend.url.strip_prefix("sqlite:") {
            let missing = Store::open(&backend.url).await.expect_err("there is no file");
            assert!(missing.to_string().contains(path), "{missing}");
            assert!(!std::path::Path::new(path).exists(), "opening creates no file");
        }
        Store::connect(&backend.url).unwrap().schema_version().await.unwrap();
        let error = Store::open(&backend.url).await.expect_err("there is no schema");
        assert!(matches!(error, StoreError::NotMigrated { found: 0, .. }), "{error}");
        assert!(error.to_string().contains("run `ostler migrate`"), "{error}");
        backend.migrated().await;
        Store::open(&backend.url).await.expect("the schema is there");
    }
}

const FIRST: Migration = Migration::new(
    "0001_first",
    "CREATE TABLE pets (org BLOB NOT NULL, name TEXT NOT NULL)",
    "CREATE TABLE pets (org BYTEA NOT NULL, name TEXT NOT NULL)",
);
const SECOND: Migration = Migration::new(
    "0002_second",
    "ALTER TABLE pets ADD COLUMN size BIGINT NOT NULL DEFAULT 0;
     UPDATE pets SET size = length(name)",
    "ALTER TABLE pets ADD COLUMN size BIGINT NOT NULL DEFAULT 0;
     UPDATE pets SET size = length(name)",
);
const BROKEN: Migration = Migration::new(
    "0003_broken",
    "INSERT INTO nowhere VALUES (1)",
    "INSERT INTO nowhere VALUES (1)",
);

static VERSION_1: [Migration; 1] = [FIRST];
static VERSION_2: [Migration; 2] = [FIRST, SECOND];
static VERSION_3: [Migration; 3] = [FIRST, SECOND, BROKEN];

/// Runs the missing migrations only, with the rows that are there.
#[tokio::test(flavor = "multi_thread")]
async fn a_migration_transforms_existing_rows_once() {
    for backend in TestDatabase::both().await {
        let store = Store::connect(&backend.url).unwrap();
        assert_eq!(store.migrate_with(&VERSION_1).await.unwrap(), 0);
        let insert =
            format!("INSERT INTO pets (org, name) VALUES ({}, 'rex')", backend.id_literal(1));
        backend.execute(&insert).await;
        assert_eq!(store.migrate_with(&VERSION_2).await.unwrap(), 1);
        assert_eq!(store.migrate_with(&VERSION_2).await.unwrap(), 2);
        assert_eq!(store.schema_version().await.unwrap(), 2);
        assert_eq!(backend.count("pets WHERE name = 'rex' AND size = 3").await, 1);
        let recorded = "schema_migrations WHERE name IN ('0001_first', '0002_second')";
        assert_eq!(backend.count(recorded).await, 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_migration_leaves_the_database_at_its_old_version() {
    for backend in TestDatabase::both().await {
        let store = Store::connect(&backend.url).unwrap();
        store.migrate_with(&VERSION_1).await.unwrap();
        store.migrate_with(&VERSION_3).await.expect_err("the third migration fails");
        assert_eq!(store.schema_version().await.unwrap(), 1);
        assert_eq!(store.migrate_with(&VERSION_2).await.unwrap(), 1, "the second can run again");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_with_a_newer_schema_is_refused() {
    for backend in TestDatabase::both().await {
        drop(backend.migrated().await);
        let newer = "INSERT INTO schema_migrations (version, name) VALUES (999, 'newer')";
        backend.execute(newer).await;
        let store = Store::connect(&backend.url).unwrap();
        for error in [Store::open(&backend.url).await.err(), store.migrate().await.err()] {
            assert!(matches!(error, Some(StoreError::NewerSchema { found: 999, .. })), "{error:?}");
        }
    }
}

/// Versions before 0.1 recorded their schema in another table; whatever version is
/// in it, the database stays as it is.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_from_before_the_first_release_is_refused() {
    for backend in TestDatabase::both().await {
        backend.execute("CREATE TABLE schema_version (version BIGINT NOT NULL)").await;
        let store = Store::connect(&backend.url).unwrap();
        for error in [Store::open(&backend.url).await.err(), store.migrate().await.err()] {
            let error = error.expect("the database is too old");
            assert!(matches!(error, StoreError::UnsupportedSchema), "{error}");
            assert!(error.to_string().contains("create a new one"), "{error}");
        }
        let tables = match backend.url.starts_with("sqlite") {
            true => "sqlite_master WHERE name = 'schema_migrations'",
            false => "pg_tables WHERE tablename = 'schema_migrations'",
        };
        assert_eq!(backend.count(tables).await, 0);
    }
}

#[test]
fn an_invalid_address_is_refused_with_the_valid_forms() {
    for url in ["", "mysql://x", "sqlite:", "ostler.db"] {
        let error = Store::connect(url).expect_err(url);
        assert!(error.to_string().contains("use sqlite:PATH"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn options_of_the_database_address_are_applied() {
    let backend = TestDatabase::postgres().await;
    backend.execute("CREATE SCHEMA apart").await;
    let url = format!("{}?options=-c%20search_path%3Dapart", backend.url);
    let store = Store::connect(&url).unwrap();
    store.migrate().await.unwrap();
    store.create_org(org(1)).await.unwrap();
    let tables = "pg_tables WHERE schemaname = 'apart' AND tablename = 'orgs'";
    assert_eq!(backend.count(tables).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn both_dialects_have_the_same_tables_and_columns() {
    let sqlite = TestDatabase::sqlite_file();
    drop(sqlite.migrated().await);
    let file = rusqlite::Connection::open(sqlite.url.strip_prefix("sqlite:").unwrap()).unwrap();
    let mut columns = file
        .prepare(
            "SELECT t.name || '.' || c.name FROM sqlite_master t, pragma_table_info(t.name) c
             WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'",
        )
        .unwrap();
    let in_sqlite: BTreeSet<String> =
        columns.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();

    let postgres = TestDatabase::postgres().await;
    drop(postgres.migrated().await);
    let (client, connection) = tokio_postgres::connect(&postgres.url, NoTls).await.unwrap();
    tokio::spawn(connection);
    let rows = client
        .query(
            "SELECT table_name || '.' || column_name FROM information_schema.columns
             WHERE table_schema = 'public'",
            &[],
        )
        .await
        .unwrap();
    let in_postgres: BTreeSet<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(in_sqlite, in_postgres);
    assert!(in_sqlite.len() > 30, "{in_sqlite:?}");
}
