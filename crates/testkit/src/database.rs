//! A database per test, which the test can also query without the store.

use std::time::Duration;

use ostler_store::Store;
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

use crate::{postgres_url, unique_name};

/// A database of one test. A file is deleted when this is dropped.
pub struct TestDatabase {
    pub url: String,
    _folder: Option<TempDir>,
}

impl TestDatabase {
    /// Returns a new SQLite file. It is created by the first connection.
    pub fn sqlite_file() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let url = format!("sqlite:{}", folder.path().join("ostler.db").display());
        Self { url, _folder: Some(folder) }
    }

    /// Returns an SQLite database in memory; each connected store has its own.
    pub fn sqlite_memory() -> Self {
        Self { url: "sqlite::memory:".into(), _folder: None }
    }

    /// Creates a database on the server of `make test`, owned by a new role that is no
    /// superuser, so that row-level security applies.
    pub async fn postgres() -> Self {
        Self::postgres_on(&postgres_url()).await
    }

    /// Creates such a database on a server, as the superuser of its URL.
    pub async fn postgres_on(server: &str) -> Self {
        let client = connect(server).await;
        let name = unique_name();
        let role = format!("CREATE ROLE {name} LOGIN PASSWORD '{name}'");
        client.batch_execute(&role).await.expect("a new role");
        let database = format!("CREATE DATABASE {name} OWNER {name}");
        client.batch_execute(&database).await.expect("a new database");
        let (_, address) = server.rsplit_once('@').expect("the URL has a server");
        let (address, _) = address.rsplit_once('/').expect("the URL has a database");
        Self { url: format!("postgres://{name}:{name}@{address}/{name}"), _folder: None }
    }

    /// Returns an SQLite file and a PostgreSQL database.
    pub async fn both() -> [Self; 2] {
        [Self::sqlite_file(), Self::postgres().await]
    }

    /// Connects a store and creates the tables.
    pub async fn migrated(&self) -> Store {
        let store = Store::connect(&self.url).expect("the database opens");
        store.migrate().await.expect("the schema is created");
        store
    }

    /// Runs statements without the store, on the rows of all orgs.
    pub async fn execute(&self, sql: &str) {
        match self.path() {
            Some(path) => open(path).execute_batch(sql).unwrap(),
            None => self.client().await.batch_execute(sql).await.unwrap(),
        }
    }

    /// Returns the number that a query selects.
    pub async fn number(&self, sql: &str) -> i64 {
        match self.path() {
            Some(path) => open(path).query_row(sql, [], |row| row.get(0)).unwrap(),
            None => self.client().await.query_one(sql, &[]).await.unwrap().get(0),
        }
    }

    /// Returns the texts that a query selects.
    pub async fn texts(&self, sql: &str) -> Vec<String> {
        if let Some(path) = self.path() {
            let file = open(path);
            let mut query = file.prepare(sql).unwrap();
            let rows = query.query_map([], |row| row.get(0)).unwrap();
            return rows.collect::<Result<_, _>>().unwrap();
        }
        let rows = self.client().await.query(sql, &[]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// Counts rows; `rows` is a table with an optional WHERE.
    pub async fn count(&self, rows: &str) -> i64 {
        self.number(&format!("SELECT count(*) FROM {rows}")).await
    }

    /// Returns an id as an SQL literal.
    pub fn id_literal(&self, bits: u128) -> String {
        match self.path() {
            Some(_) => format!("x'{bits:032x}'"),
            None => format!("decode('{bits:032x}', 'hex')"),
        }
    }

    pub(crate) fn path(&self) -> Option<&str> {
        self.url.strip_prefix("sqlite:")
    }

    pub(crate) async fn client(&self) -> Client {
        let client = connect(&self.url).await;
        client.batch_execute("SET ostler.scope = 'all'").await.expect("a scope");
        client
    }
}

async fn connect(url: &str) -> Client {
    let (client, connection) =
        tokio_postgres::connect(url, NoTls).await.expect("the server answers");
    tokio::spawn(connection);
    client
}

pub(crate) fn open(path: &str) -> rusqlite::Connection {
    let file = rusqlite::Connection::open(path).expect("the file opens");
    file.busy_timeout(Duration::from_secs(30)).unwrap();
    file
}
