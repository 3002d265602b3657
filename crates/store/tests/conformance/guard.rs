//! Row-level security: PostgreSQL restricts every statement to one org.

use std::collections::BTreeSet;

use tokio_postgres::{Client, NoTls};

use crate::support::{TestDatabase, accept, agent, with_org};

async fn connect(backend: &TestDatabase) -> Client {
    let (client, connection) = tokio_postgres::connect(&backend.url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn count(client: &Client, table: &str) -> i64 {
    client.query_one(&format!("SELECT count(*) FROM {table}"), &[]).await.unwrap().get(0)
}

/// A05: without a scope a statement sees nothing; with one it reads and writes rows of
/// that org only.
#[tokio::test(flavor = "multi_thread")]
async fn a05_a_statement_without_an_org_sees_nothing() {
    let backend = TestDatabase::postgres().await;
    let store = backend.migrated().await;
    let (here, there) = (with_org(&store, 1).await, with_org(&store, 2).await);
    for org in [here, there] {
        store.org(org).save_agent(agent(org, "gia")).await.unwrap();
        accept(&store, org, "rosa", "m1").await;
    }
    let client = connect(&backend).await;
    for table in ["orgs", "agents", "inbox", "conversations"] {
        assert_eq!(count(&client, table).await, 0, "{table}");
    }
    client.batch_execute(&format!("SET ostler.scope = '{:032x}'", here.as_u128())).await.unwrap();
    for table in ["orgs", "agents", "inbox", "conversations"] {
        assert_eq!(count(&client, table).await, 1, "{table}");
    }
    let theirs = there.as_u128().to_be_bytes();
    let sql = "INSERT INTO agents (org, id, slug, data) VALUES ($1, $1, 'spy', '{}')";
    let refused = client.execute(sql, &[&theirs.as_slice()]).await.unwrap_err();
    assert!(refused.to_string().contains("db error"), "{refused}");
    assert_eq!(
        client.execute("DELETE FROM inbox WHERE org = $1", &[&theirs.as_slice()]).await.unwrap(),
        0
    );
    client.batch_execute("SET ostler.scope = 'all'").await.unwrap();
    assert_eq!(count(&client, "agents").await, 2);
}

/// A05: a transaction sees its own org and the orgs it names; migrating replaces an older
/// policy.
#[tokio::test(flavor = "multi_thread")]
async fn a05_a_paying_org_is_visible_only_if_named() {
    let backend = TestDatabase::postgres().await;
    let store = backend.migrated().await;
    let orgs = [1, 2, 3, 4];
    for org in orgs {
        with_org(&store, org).await;
    }
    let client = connect(&backend).await;
    let older = "CREATE FUNCTION older_scope() RETURNS BYTEA LANGUAGE sql STABLE
                   AS $$ SELECT decode(nullif(current_setting('ostler.other_orgs', true), ''), 'hex') $$;
                 DROP POLICY tenant ON orgs;
                 CREATE POLICY tenant ON orgs USING (id = (SELECT older_scope()))";
    client.batch_execute(older).await.unwrap();
    store.migrate().await.unwrap();
    let [scope, payer, other, _] = orgs.map(|org| format!("{org:032x}"));
    let set = format!("SET ostler.scope = '{scope}'; SET ostler.other_orgs = '{payer},{other}'");
    client.batch_execute(&set).await.unwrap();
    for table in ["orgs", "credit_accounts"] {
        assert_eq!(count(&client, table).await, 3, "{table}");
    }
    client.batch_execute("SET ostler.other_orgs = ''").await.unwrap();
    assert_eq!(count(&client, "orgs").await, 1);
}

/// Covers tables of later migrations; the tables without tenants are listed here.
#[tokio::test(flavor = "multi_thread")]
async fn every_tenant_table_has_row_level_security() {
    let backend = TestDatabase::postgres().await;
    backend.migrated().await;
    let client = connect(&backend).await;
    let open = client
        .query(
            "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = 'public' AND c.relkind = 'r'
               AND NOT (c.relrowsecurity AND c.relforcerowsecurity)",
            &[],
        )
        .await
        .unwrap();
    let open: BTreeSet<String> = open.iter().map(|row| row.get(0)).collect();
    // What is not of an org: versions, numbers and uses that all orgs share.
    let without_tenant = ["config_versions", "model_uses", "reference_codes", "schema_migrations"];
    assert_eq!(open, without_tenant.map(String::from).into());
}
