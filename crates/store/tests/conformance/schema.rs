//! Migrations: repeatable, refused when newer, the same in both dialects.

use std::collections::BTreeSet;

use ostler_store::{Accepted, SCHEMA_VERSION, Store, StoreError};
use tokio_postgres::NoTls;

use crate::on_every_backend;
use crate::world::{Backend, accept, claim, message, org};

on_every_backend!(migrating_twice_changes_nothing);
async fn migrating_twice_changes_nothing(store: &Store) {
    store.create_org(org(1)).await.unwrap();
    assert_eq!(store.migrate().await.unwrap(), SCHEMA_VERSION);
    assert_eq!(store.schema_version().await.unwrap(), SCHEMA_VERSION);
    assert_eq!(store.orgs().await.unwrap(), [org(1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_without_tables_says_what_to_do() {
    for backend in [Backend::sqlite_file(), Backend::postgres().await] {
        let error = Store::open(&backend.url).await.expect_err("there is nothing there");
        assert!(matches!(error, StoreError::NotMigrated { found: 0, .. }), "{error}");
        assert!(error.to_string().contains("run `ostler migrate`"), "{error}");
        backend.migrated().await;
        Store::open(&backend.url).await.expect("now it is there");
    }
}

/// A database that an older program has filled comes through every migration
/// with all that is in it.
#[tokio::test(flavor = "multi_thread")]
async fn an_older_database_is_brought_forward_without_loss() {
    for backend in [Backend::sqlite_file(), Backend::postgres().await] {
        let store = Store::connect(&backend.url).unwrap();
        store.migrate_to(1).await.unwrap();
        let id = backend.with_old_org(1).await;
        let (org_id, place) = (backend.id(1), backend.id(2));
        let key = message(id, "rosa", "m1").key.text();
        let (binding, inbox) = (backend.id(1), backend.id(3));
        backend
            .execute(&format!(
                "INSERT INTO conversations (org, id, key, in_seq, pending_at)
                 VALUES ({org_id}, {place}, '{key}', 1, 0);
                 INSERT INTO inbox (org, id, conversation, seq, binding, provider_id, payload,
                   received_at, due_at)
                 VALUES ({org_id}, {inbox}, {place}, 1, {binding}, 'm1', '{{}}', 0, 0)"
            ))
            .await;
        assert!(matches!(
            Store::open(&backend.url).await,
            Err(StoreError::NotMigrated { found: 1, .. })
        ));
        assert_eq!(store.migrate().await.unwrap(), 1);
        let store = Store::open(&backend.url).await.unwrap();
        assert_eq!(store.orgs().await.unwrap(), [org(1)]);
        assert_eq!(claim(&store).await.unwrap().messages.len(), 1);
        assert!(matches!(accept(&store, id, "rosa", "m1").await, Accepted::Repeat(_)));
        assert!(store.org(id).account().await.unwrap().available().is_some());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_database_is_left_alone() {
    let backend = Backend::sqlite_file();
    drop(backend.migrated().await);
    let path = backend.url.strip_prefix("sqlite:").unwrap().to_owned();
    let file = rusqlite::Connection::open(path).unwrap();
    file.execute("INSERT INTO schema_version (version) VALUES (999)", []).unwrap();
    let store = Store::connect(&backend.url).unwrap();
    for refused in [Store::open(&backend.url).await.err(), store.migrate().await.err()] {
        assert!(matches!(refused, Some(StoreError::NewerSchema { found: 999, .. })), "{refused:?}");
    }
}

#[test]
fn a_wrong_address_is_refused_with_the_right_ones() {
    for url in ["", "mysql://x", "sqlite:", "ostler.db"] {
        let error = Store::connect(url).expect_err(url);
        assert!(error.to_string().contains("use sqlite:PATH"), "{error}");
    }
}

/// What the address of a database asks for is kept: here, another schema.
#[tokio::test(flavor = "multi_thread")]
async fn options_in_the_address_count() {
    let backend = Backend::postgres().await;
    backend.execute("CREATE SCHEMA apart").await;
    let url = format!("{}?options=-c%20search_path%3Dapart", backend.url);
    let store = Store::connect(&url).unwrap();
    store.migrate().await.unwrap();
    store.create_org(org(1)).await.unwrap();
    let there = "pg_tables WHERE schemaname = 'apart' AND tablename = 'orgs'";
    assert_eq!(backend.count(there).await, 1);
}

/// Both schemas have the same tables and columns.
#[tokio::test(flavor = "multi_thread")]
async fn both_schemas_offer_the_same() {
    let sqlite = Backend::sqlite_file();
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

    let postgres = Backend::postgres().await;
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
