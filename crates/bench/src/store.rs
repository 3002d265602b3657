//! The store suite: durable commits of turns, and reads of history.

mod bare;
pub(crate) mod fixture;

use std::time::{Duration, Instant};

use ostler_store::Store;

use crate::report::{Measurement, cpu_time};
use crate::{BenchError, Options};

/// Concurrent sessions.
const SESSIONS: [usize; 3] = [1, 16, 256];
/// Lengths of the threads whose end is read.
const HISTORIES: [usize; 2] = [10, 100_000];

pub(crate) async fn run(
    options: &Options,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Measurement>, BenchError> {
    let servers = 1 + u32::from(options.postgres.is_some());
    // Each commit is measured bare and through the store; history takes a share.
    let share = options.time / (servers * (2 * SESSIONS.len() as u32) + 4);
    let mut results = Vec::new();
    for sessions in SESSIONS {
        let name = format!("store.commit_turn.sqlite.{sessions}");
        progress(&name);
        let folder = tempfile::tempdir()?;
        let limit = bare::sqlite(&folder.path().join("bare.db"), sessions, share).await?;
        let url = format!("sqlite:{}", folder.path().join("store.db").display());
        results.push(commits(name, &url, sessions, share, limit).await?);
    }
    if let Some(server) = &options.postgres {
        for sessions in SESSIONS {
            let name = format!("store.commit_turn.postgres.{sessions}");
            progress(&name);
            let database = fixture::PostgresDatabase::create(server).await?;
            let limit = bare::postgres(&database.url, sessions, share).await?;
            database.drop().await?;
            let database = fixture::PostgresDatabase::create(server).await?;
            results.push(commits(name, &database.url, sessions, share, limit).await?);
            database.drop().await?;
        }
    }
    for messages in HISTORIES {
        let name = format!("store.history.{messages}");
        progress(&name);
        results.push(history(name, messages, share).await?);
    }
    Ok(results)
}

/// Commits turns of many sessions until the time is over.
async fn commits(
    name: String,
    url: &str,
    sessions: usize,
    time: Duration,
    limit: f64,
) -> Result<Measurement, BenchError> {
    let store = Store::connect(url)?;
    store.migrate().await?;
    let leases = fixture::conversations(&store, sessions).await?;
    let (start, cpu) = (Instant::now(), cpu_time());
    let workers: Vec<_> = leases
        .into_iter()
        .map(|lease| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut each = Vec::new();
                while start.elapsed() < time {
                    let turn = fixture::turn(lease);
                    let began = Instant::now();
                    store.commit_turn(&turn).await?;
                    each.push(began.elapsed());
                }
                Ok::<_, BenchError>(each)
            })
        })
        .collect();
    let mut each = Vec::new();
    for worker in workers {
        each.extend(worker.await??);
    }
    let (all, cpu) = (start.elapsed(), cpu_time().saturating_sub(cpu));
    Ok(Measurement::new(name, each, all, Some(limit)).with_cpu(all, cpu))
}

/// Reads the last messages of a thread until the time is over.
async fn history(name: String, messages: usize, time: Duration) -> Result<Measurement, BenchError> {
    let folder = tempfile::tempdir()?;
    let store = Store::connect(&format!("sqlite:{}", folder.path().join("store.db").display()))?;
    store.migrate().await?;
    let (org, thread) = fixture::thread(&store, messages).await?;
    let (start, mut each) = (Instant::now(), Vec::new());
    while start.elapsed() < time {
        let began = Instant::now();
        store.org(org).last_messages(thread, 20).await?;
        each.push(began.elapsed());
    }
    Ok(Measurement::new(name, each, start.elapsed(), None))
}
