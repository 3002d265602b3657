//! Row-level security: PostgreSQL itself holds every statement to one org.

use std::collections::BTreeSet;

use tokio_postgres::{Client, NoTls};

use crate::world::{Backend, accept, agent, with_org};

async fn connect(backend: &Backend) -> Client {
    let (client, connection) = tokio_postgres::connect(&backend.url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn count(client: &Client, table: &str) -> i64 {
    client.query_one(&format!("SELECT count(*) FROM {table}"), &[]).await.unwrap().get(0)
}

/// A05: a statement that forgets the org sees nothing, and one that names an org
/// sees and writes only what is its own, whatever its text says.
#[tokio::test(flavor = "multi_thread")]
async fn a05_a_statement_without_an_org_sees_nothing() {
    let backend = Backend::postgres().await;
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

/// A05: those who pay are seen where they are named, all of them and nobody
/// else; a database with an older guard gets this one.
#[tokio::test(flavor = "multi_thread")]
async fn a05_orgs_that_pay_are_named() {
    let backend = Backend::postgres().await;
    let store = backend.migrated().await;
    let orgs = [1, 2, 3, 4];
    for org in orgs {
        with_org(&store, org).await;
    }
    let client = connect(&backend).await;
    let older = "CREATE FUNCTION scope_also() RETURNS BYTEA LANGUAGE sql STABLE
                   AS $$ SELECT decode(nullif(current_setting('ostler.also', true), ''), 'hex') $$;
                 DROP POLICY tenant ON orgs;
                 CREATE POLICY tenant ON orgs USING (id = (SELECT scope_also()))";
    client.batch_execute(older).await.unwrap();
    store.migrate().await.unwrap();
    let [scope, also, more, _] = orgs.map(|org| format!("{org:032x}"));
    let set = format!("SET ostler.scope = '{scope}'; SET ostler.also = '{also},{more}'");
    client.batch_execute(&set).await.unwrap();
    for table in ["orgs", "credit_accounts"] {
        assert_eq!(count(&client, table).await, 3, "{table}");
    }
    client.batch_execute("SET ostler.also = ''").await.unwrap();
    assert_eq!(count(&client, "orgs").await, 1);
}

/// Every table that belongs to tenants is guarded, the ones of later migrations
/// included; the others are known by name.
#[tokio::test(flavor = "multi_thread")]
async fn every_table_of_tenants_is_guarded() {
    let backend = Backend::postgres().await;
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
    let of_nobody = ["config_stamp", "reference_codes", "schema_version"];
    assert_eq!(open, of_nobody.map(String::from).into());
}
