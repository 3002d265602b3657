//! Databases of a test's own, which it can also reach beside the store.

use std::sync::atomic::{AtomicU32, Ordering};

use ostler_store::Store;
use tokio_postgres::NoTls;

/// A database of a test's own.
pub(crate) struct Database {
    url: String,
    _folder: Option<tempfile::TempDir>,
}

impl Database {
    /// A file.
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let url = format!("sqlite:{}", folder.path().join("ostler.db").display());
        Self { url, _folder: Some(folder) }
    }

    /// A new database on the server that `make test` started, owned by a role of
    /// its own, so that row-level security holds it; none without a server.
    pub(crate) async fn postgres() -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let server = std::env::var("OSTLER_TEST_POSTGRES_URL").ok()?;
        let (client, connection) =
            tokio_postgres::connect(&server, NoTls).await.expect("the server answers");
        tokio::spawn(connection);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("talk{}_{number}", std::process::id());
        let role = format!("CREATE ROLE {name} LOGIN PASSWORD '{name}'");
        client.batch_execute(&role).await.expect("a new role");
        let database = format!("CREATE DATABASE {name} OWNER {name}");
        client.batch_execute(&database).await.expect("a new database");
        let (_, place) = server.rsplit_once('@').expect("the address names a server");
        let (place, _) = place.rsplit_once('/').expect("the address names a database");
        Some(Self { url: format!("postgres://{name}:{name}@{place}/{name}"), _folder: None })
    }

    /// A store on it, with its tables.
    pub(crate) async fn migrated(&self) -> Store {
        let store = Store::connect(&self.url).unwrap();
        store.migrate().await.unwrap();
        store
    }

    fn file(&self) -> rusqlite::Connection {
        let path = self.url.strip_prefix("sqlite:").expect("a file");
        rusqlite::Connection::open(path).expect("the file opens")
    }

    /// Changes the file behind the store's back.
    pub(crate) fn execute(&self, sql: &str) {
        self.file().execute_batch(sql).unwrap();
    }

    /// A number, seen from beside the store.
    pub(crate) fn number(&self, sql: &str) -> i64 {
        self.file().query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

impl Database {
    /// Texts, seen from beside the store.
    pub(crate) fn texts(&self, sql: &str) -> Vec<String> {
        let file = self.file();
        let mut query = file.prepare(sql).unwrap();
        let rows = query.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }
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
