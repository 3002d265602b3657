//! The limit: axum routes without anything around them.

use std::thread;

use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::routing::{get, post};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use crate::BenchError;

/// Bodies that wait for their commit.
const MAX_WAITING: usize = 1024;

/// A route that commits the body of each request, those that wait together.
pub(super) struct Committing {
    pub(super) address: String,
    task: AbortHandle,
    _folder: TempDir,
}

/// A route that sends the same bytes each time.
pub(super) struct Fixed {
    pub(super) address: String,
    task: AbortHandle,
}

type Waiting = (Bytes, oneshot::Sender<()>);

impl Committing {
    pub(super) async fn start() -> Result<Self, BenchError> {
        let folder = tempfile::tempdir()?;
        let connection = Connection::open(folder.path().join("bare.db"))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute("CREATE TABLE bodies (id INTEGER PRIMARY KEY, body BLOB)", [])?;
        let (sender, bodies) = mpsc::channel(MAX_WAITING);
        thread::spawn(move || commit_all(&connection, bodies));
        let accept = move |body: Bytes| {
            let sender = sender.clone();
            async move {
                let (done, committed) = oneshot::channel();
                let sent = sender.send((body, done)).await.is_ok();
                if sent && committed.await.is_ok() {
                    StatusCode::OK
                } else {
                    StatusCode::INTERNAL_SERVER_ERROR
                }
            }
        };
        let router = Router::new().route("/v1/webhooks/{binding}", post(accept));
        let (address, task) = serve(router).await?;
        Ok(Self { address, task, _folder: folder })
    }

    pub(super) fn stop(self) {
        self.task.abort();
    }
}

impl Fixed {
    pub(super) async fn start(answer: Vec<u8>) -> Result<Self, BenchError> {
        let answer = Bytes::from(answer);
        let send = move || {
            let answer = answer.clone();
            async move { ([(CONTENT_TYPE, "application/json")], answer) }
        };
        let router = Router::new().route("/v1/orgs/{org}/sessions", get(send));
        let (address, task) = serve(router).await?;
        Ok(Self { address, task })
    }

    pub(super) fn stop(self) {
        self.task.abort();
    }
}

async fn serve(router: Router) -> Result<(String, AbortHandle), BenchError> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    let serving = tokio::spawn(async move { axum::serve(listener, router).await });
    Ok((address, serving.abort_handle()))
}

/// Commits bodies until no sender is left.
fn commit_all(connection: &Connection, mut bodies: mpsc::Receiver<Waiting>) {
    let mut batch = Vec::new();
    while bodies.blocking_recv_many(&mut batch, MAX_WAITING) > 0 {
        let committed = commit(connection, &batch);
        for (_, done) in batch.drain(..) {
            // A request whose commit failed gets no answer, which ends the suite.
            if committed.is_ok() {
                let _gone = done.send(());
            }
        }
    }
}

fn commit(connection: &Connection, batch: &[Waiting]) -> rusqlite::Result<()> {
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    for (body, _) in batch {
        let body: &[u8] = body;
        connection.prepare_cached("INSERT INTO bodies (body) VALUES (?1)")?.execute([body])?;
    }
    connection.prepare_cached("COMMIT")?.execute([]).map(drop)
}
