//! The harness suite: whole turns of interactive harnesses with a model that answers at
//! once, in memory and on SQLite; their start, their memory, and the start of commands.

mod commands;
mod memory_share;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ostler_domain::gate::permission::{PermissionPolicy, PermissionRules};
use ostler_domain::tool::ToolCategory;
use ostler_harness::{
    Harness, HarnessAgent, HarnessBuilder, HarnessMode, NoState, Store, open_storage,
};

use crate::report::{Measurement, cpu_time, resident_bytes};
use crate::turn::setup::{instant, look};
use crate::{BenchError, Options};

const AT_ONCE: [usize; 2] = [1, 50];
/// Earlier turns of the thread.
const HISTORIES: [usize; 3] = [10, 100, 1000];
const COLD_STARTS: usize = 20;
/// Harnesses whose memory is measured.
const SESSIONS: usize = 500;
const PARTS: u32 = 14;

pub(crate) async fn run(
    options: &Options,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Measurement>, BenchError> {
    let share = options.time / PARTS;
    let folder = tempfile::tempdir()?;
    let file = |name: &str| format!("sqlite:{}", folder.path().join(name).display());
    // First, because memory that other suites gave back would hide what sessions take.
    progress("harness.session_bytes");
    let session_bytes = session_bytes().await?;
    let mut results = Vec::new();
    for (place, url) in [("memory", "sqlite::memory:".to_owned()), ("sqlite", file("turns.db"))] {
        for (kind, text) in [("plain", "answer"), ("tool", "look")] {
            for count in AT_ONCE {
                let name = format!("harness.{place}.{kind}.{count}");
                progress(&name);
                let store = open_storage(&url).await?;
                results.push(measure(name, &store, count, text, share).await?);
            }
        }
    }
    for turns in HISTORIES {
        let name = format!("harness.history.{turns}");
        progress(&name);
        let store = open_storage(&file(&format!("history{turns}.db"))).await?;
        results.push(history(name, &store, turns, share).await?);
    }
    progress("harness.memory_added_us");
    results.extend(memory_share::run(&open_storage(&file("memory.db")).await?, share).await?);
    progress(commands::NAME);
    results.push(commands::run(share).await?);
    progress("harness.cold_start_ms");
    results.push(cold_start(&file("cold.db")).await?);
    results.push(session_bytes);
    Ok(results)
}

fn builder(store: &Store) -> HarnessBuilder<NoState> {
    let rules = PermissionRules {
        categories: [(ToolCategory::Read, PermissionPolicy::Allow)].into(),
        ..PermissionRules::default()
    };
    let mode = HarnessMode::new("build", "Build", HarnessAgent::new("builder", "You build."));
    let builder = Harness::<NoState>::builder("bench", store.clone()).models(instant()).mode(mode);
    builder.tool(look()).permission_rules(rules)
}

async fn ready(store: &Store) -> Result<Harness, BenchError> {
    let harness = builder(store).build()?;
    harness.init().await?;
    harness.create_thread(None).await?;
    Ok(harness)
}

/// Runs turns on several harnesses at the same time until the time is over.
async fn measure(
    name: String,
    store: &Store,
    count: usize,
    text: &'static str,
    time: Duration,
) -> Result<Measurement, BenchError> {
    let mut harnesses = Vec::with_capacity(count);
    for _ in 0..count {
        harnesses.push(ready(store).await?);
    }
    let (start, cpu) = (Instant::now(), cpu_time());
    let tasks: Vec<_> =
        harnesses.into_iter().map(|one| tokio::spawn(turns(one, text, start, time))).collect();
    let mut each = Vec::new();
    for task in tasks {
        each.extend(task.await??);
    }
    let (all, cpu) = (start.elapsed(), cpu_time().saturating_sub(cpu));
    Ok(Measurement::new(name, each, all, None).with_cpu(all, cpu))
}

async fn turns(
    harness: Harness,
    text: &'static str,
    start: Instant,
    time: Duration,
) -> Result<Vec<Duration>, BenchError> {
    /// A thread is left before its history outweighs the turn.
    const TURNS_OF_A_THREAD: usize = 50;
    let mut each = Vec::new();
    while start.elapsed() < time {
        let began = Instant::now();
        harness.send_message(text).await?;
        each.push(began.elapsed());
        if each.len().is_multiple_of(TURNS_OF_A_THREAD) {
            harness.create_thread(None).await?;
        }
    }
    Ok(each)
}

/// Measures turns of a thread that has a history.
async fn history(
    name: String,
    store: &Store,
    turns: usize,
    time: Duration,
) -> Result<Measurement, BenchError> {
    let harness = ready(store).await?;
    for _ in 0..turns {
        harness.send_message("answer").await?;
    }
    let (start, cpu, mut each) = (Instant::now(), cpu_time(), Vec::new());
    while start.elapsed() < time {
        let began = Instant::now();
        harness.send_message("answer").await?;
        each.push(began.elapsed());
    }
    let (all, cpu) = (start.elapsed(), cpu_time().saturating_sub(cpu));
    Ok(Measurement::new(name, each, all, None).with_cpu(all, cpu))
}

/// Measures the time from nothing to the first answer, on a database that exists.
async fn cold_start(url: &str) -> Result<Measurement, BenchError> {
    drop(open_storage(url).await?);
    let mut each = Vec::new();
    let start = Instant::now();
    for _ in 0..COLD_STARTS {
        let began = Instant::now();
        let harness = ready(&open_storage(url).await?).await?;
        harness.send_message("answer").await?;
        each.push(began.elapsed());
    }
    let all = start.elapsed();
    let average = all.as_secs_f64() * 1000.0 / COLD_STARTS as f64;
    Ok(Measurement::new("harness.cold_start_ms".into(), each, all, None).with_value(average))
}

/// Measures the memory of a harness that has answered and is idle, with its rows: the
/// database is in memory.
async fn session_bytes() -> Result<Measurement, BenchError> {
    let store = open_storage("sqlite::memory:").await?;
    let mut harnesses: Vec<Arc<Harness>> = Vec::with_capacity(SESSIONS);
    // The first ones warm up what all share.
    for _ in 0..SESSIONS / 10 {
        ready(&store).await?.send_message("answer").await?;
    }
    let (before, start, mut each) = (resident_bytes(), Instant::now(), Vec::new());
    for _ in 0..SESSIONS {
        let began = Instant::now();
        let harness = ready(&store).await?;
        harness.send_message("answer").await?;
        harnesses.push(Arc::new(harness));
        each.push(began.elapsed());
    }
    let grown = resident_bytes().saturating_sub(before);
    let value = grown as f64 / SESSIONS as f64;
    let name = "harness.session_bytes".into();
    Ok(Measurement::new(name, each, start.elapsed(), None).with_value(value))
}
