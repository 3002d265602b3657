//! The pipeline suite: whole turns of customers' conversations, from the accepted
//! message to the commit, with an instant model.

pub(crate) mod setup;

use std::time::{Duration, Instant};

use crate::report::{Measurement, cpu_time};
use crate::store::fixture::PostgresDatabase;
use crate::turn::setup::Task;
use crate::{BenchError, Options};
use setup::PipelineSetup;

/// Concurrent conversations.
const SESSIONS: [usize; 3] = [1, 16, 256];
/// Earlier turns of a measured conversation.
const HISTORIES: [usize; 2] = [10, 1000];
/// Idle sessions whose memory is measured.
const IDLE_SESSIONS: usize = 10_000;
/// Sessions before those, enough to fill SQLite's page cache.
const WARM_UP_SESSIONS: usize = 12_000;

pub(crate) async fn run(
    options: &Options,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Measurement>, BenchError> {
    let places = 1 + u32::from(options.postgres.is_some());
    let share = options.time / (places * 2 * SESSIONS.len() as u32 + 6);
    let mut results = Vec::new();
    for (word, task) in [("plain", Task::Plain), ("tool", Task::Tool)] {
        for sessions in SESSIONS {
            let name = format!("pipeline.sqlite.{word}.{sessions}");
            progress(&name);
            let folder = tempfile::tempdir()?;
            let url = format!("sqlite:{}", folder.path().join("bench.db").display());
            let setup = PipelineSetup::new(&url).await?;
            results.push(turns(name, &setup, task, sessions, share).await?);
        }
    }
    if let Some(server) = &options.postgres {
        for (word, task) in [("plain", Task::Plain), ("tool", Task::Tool)] {
            for sessions in SESSIONS {
                let name = format!("pipeline.cluster.{word}.{sessions}");
                progress(&name);
                let database = PostgresDatabase::create(server).await?;
                let setup = PipelineSetup::new(&database.url).await?;
                results.push(turns(name, &setup, task, sessions, share).await?);
                drop(setup);
                database.drop().await?;
            }
        }
    }
    for turns in HISTORIES {
        let name = format!("pipeline.history.{turns}");
        progress(&name);
        results.push(history(name, turns, share).await?);
    }
    progress("pipeline.idle_session_bytes");
    results.push(idle_sessions().await?);
    Ok(results)
}

/// Answers `sessions` conversations until the time is over.
async fn turns(
    name: String,
    setup: &PipelineSetup,
    task: Task,
    sessions: usize,
    time: Duration,
) -> Result<Measurement, BenchError> {
    setup.turn("warm", task).await?;
    // A call that the harness refuses is other work.
    if matches!(task, Task::Tool) && setup.look.calls() == 0 {
        return Err(BenchError::ToolNotCalled);
    }
    let (start, cpu) = (Instant::now(), cpu_time());
    let customers: Vec<_> = (0..sessions)
        .map(|number| {
            let (setup, who) = (setup.clone(), format!("customer-{number}"));
            tokio::spawn(async move {
                let mut each = Vec::new();
                while start.elapsed() < time {
                    let began = Instant::now();
                    if setup.turn(&who, task).await? {
                        each.push(began.elapsed());
                    }
                }
                Ok::<_, BenchError>(each)
            })
        })
        .collect();
    let mut each = Vec::new();
    for customer in customers {
        each.extend(customer.await??);
    }
    let (all, cpu) = (start.elapsed(), cpu_time().saturating_sub(cpu));
    Ok(Measurement::new(name, each, all, None).with_cpu(all, cpu))
}

/// Continues a conversation after `turns` turns.
async fn history(name: String, turns: usize, time: Duration) -> Result<Measurement, BenchError> {
    let setup = PipelineSetup::new("sqlite::memory:").await?;
    for _ in 0..turns {
        setup.turn("rosa", Task::Plain).await?;
    }
    let (start, cpu, mut each) = (Instant::now(), cpu_time(), Vec::new());
    while start.elapsed() < time {
        let began = Instant::now();
        setup.turn("rosa", Task::Plain).await?;
        each.push(began.elapsed());
    }
    let (all, cpu) = (start.elapsed(), cpu_time().saturating_sub(cpu));
    Ok(Measurement::new(name, each, all, None).with_cpu(all, cpu))
}

/// Measures the memory of an idle session. SQLite's page cache is bounded and filled
/// before the measurement.
async fn idle_sessions() -> Result<Measurement, BenchError> {
    let folder = tempfile::tempdir()?;
    let url = format!("sqlite:{}", folder.path().join("bench.db").display());
    let setup = PipelineSetup::new(&url).await?;
    begin_sessions(&setup, "first", WARM_UP_SESSIONS).await?;
    let before = crate::report::resident_bytes();
    let start = Instant::now();
    let each = begin_sessions(&setup, "customer", IDLE_SESSIONS).await?;
    let grown = crate::report::resident_bytes().saturating_sub(before);
    let name = "pipeline.idle_session_bytes".to_owned();
    let measured = Measurement::new(name, each, start.elapsed(), None);
    Ok(measured.with_value(grown as f64 / IDLE_SESSIONS as f64))
}

/// Answers one message in each of `count` new sessions, many at a time.
async fn begin_sessions(
    setup: &PipelineSetup,
    who: &'static str,
    count: usize,
) -> Result<Vec<Duration>, BenchError> {
    let crowd = SESSIONS[SESSIONS.len() - 1];
    let places: Vec<_> = (0..crowd)
        .map(|place| {
            let setup = setup.clone();
            tokio::spawn(async move {
                let mut each = Vec::new();
                for number in (place..count).step_by(crowd) {
                    let began = Instant::now();
                    setup.turn(&format!("{who}-{number}"), Task::Plain).await?;
                    each.push(began.elapsed());
                }
                Ok::<_, BenchError>(each)
            })
        })
        .collect();
    let mut each = Vec::with_capacity(count);
    for place in places {
        each.extend(place.await??);
    }
    Ok(each)
}
