//! Databases of a test's own, which it can also reach beside the store.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ostler_store::Store;
use tokio_postgres::NoTls;

/// A database of a test's own.
pub(crate) struct Database {
    /// Where the program finds it.
    pub(crate) url: String,
    beside: Beside,
    _folder: Option<tempfile::TempDir>,
}

/// Where a test looks at it, whomever it belongs to.
enum Beside {
    File(String),
    Server(tokio_postgres::Client),
}

impl Database {
    /// A file.
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("ostler.db").display().to_string();
        Self { url: format!("sqlite:{path}"), beside: Beside::File(path), _folder: Some(folder) }
    }

    /// A new database on the server that `make test` started, owned by a role of
    /// its own, so that row-level security holds it; none without a server.
    pub(crate) async fn postgres() -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let server = std::env::var("OSTLER_TEST_POSTGRES_URL").ok()?;
        let client = client(&server).await;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("talk{}_{number}", std::process::id());
        let role = format!("CREATE ROLE {name} LOGIN PASSWORD '{name}'");
        client.batch_execute(&role).await.expect("a new role");
        let database = format!("CREATE DATABASE {name} OWNER {name}");
        client.batch_execute(&database).await.expect("a new database");
        let (server, _) = server.rsplit_once('/').expect("the address names a database");
        let (_, place) = server.rsplit_once('@').expect("the address names a server");
        let url = format!("postgres://{name}:{name}@{place}/{name}");
        let beside = Beside::Server(self::client(&format!("{server}/{name}")).await);
        Some(Self { url, beside, _folder: None })
    }

    /// A store on it, with its tables.
    pub(crate) async fn migrated(&self) -> Store {
        let store = Store::connect(&self.url).unwrap();
        store.migrate().await.unwrap();
        store
    }

    /// Changes it behind the store's back.
    pub(crate) async fn execute(&self, sql: &str) {
        match &self.beside {
            Beside::File(path) => file(path).execute_batch(sql).unwrap(),
            Beside::Server(client) => client.batch_execute(sql).await.unwrap(),
        }
    }

    /// A number, seen from beside the store.
    pub(crate) async fn number(&self, sql: &str) -> i64 {
        match &self.beside {
            Beside::File(path) => file(path).query_row(sql, [], |row| row.get(0)).unwrap(),
            Beside::Server(client) => client.query_one(sql, &[]).await.unwrap().get(0),
        }
    }

    /// Texts, seen from beside the store.
    pub(crate) async fn texts(&self, sql: &str) -> Vec<String> {
        match &self.beside {
            Beside::File(path) => {
                let file = file(path);
                let mut query = file.prepare(sql).unwrap();
                let rows = query.query_map([], |row| row.get(0)).unwrap();
                rows.collect::<Result<_, _>>().unwrap()
            }
            Beside::Server(client) => {
                let rows = client.query(sql, &[]).await.unwrap();
                rows.iter().map(|row| row.get(0)).collect()
            }
        }
    }
}

async fn client(url: &str) -> tokio_postgres::Client {
    let (client, connection) =
        tokio_postgres::connect(url, NoTls).await.expect("the server answers");
    tokio::spawn(connection);
    client
}

fn file(path: &str) -> rusqlite::Connection {
    let file = rusqlite::Connection::open(path).expect("the file opens");
    file.busy_timeout(Duration::from_secs(30)).unwrap();
    file
}

/// Runs a test on a SQLite file and, where there is a server, on PostgreSQL.
macro_rules! on_every_database {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        mod $name {
            #[tokio::test(flavor = "multi_thread")]
            async fn sqlite() {
                let database = $crate::database::Database::sqlite();
                super::$name(database.migrated().await).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn postgres() {
                if let Some(database) = $crate::database::Database::postgres().await {
                    super::$name(database.migrated().await).await;
                }
            }
        }
    };
}
pub(crate) use on_every_database;
