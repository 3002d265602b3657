//! What the memory of a thread adds to its turns while the thread is below the threshold.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ostler_engine::model::Model;
use ostler_engine::turn::Models;
use ostler_harness::{Harness, HarnessOMConfig, Store};

use super::builder;
use crate::BenchError;
use crate::report::{Measurement, cpu_time};
use crate::turn::setup::instant;

/// The name of the observer's model.
const OBSERVER: &str = "observer";
/// Turns of a thread: few enough to stay below the threshold.
const TURNS: usize = 50;

/// Measures turns of threads with a memory, beside those of threads without. The first value
/// is the CPU time in microseconds that the memory adds to a turn, the median over pairs of
/// threads; the second is the number of calls of models that it made.
pub(super) async fn run(store: &Store, time: Duration) -> Result<[Measurement; 2], BenchError> {
    let models = Arc::new(CountingModels { models: instant(), observer_calls: AtomicU64::new(0) });
    let (mut with, mut without) = (Side::default(), Side::default());
    let (start, mut added) = (Instant::now(), Vec::new());
    // In turns, so that both meet the same machine.
    while with.each.is_empty() || start.elapsed() < time {
        let bare = without.run(&builder(store).build()?).await?;
        let memory = HarnessOMConfig {
            default_observer_model_id: Some(OBSERVER.to_owned()),
            default_reflector_model_id: Some(OBSERVER.to_owned()),
            ..HarnessOMConfig::default()
        };
        let harness = builder(store).models(models.clone()).memory(memory).build()?;
        added.push(with.run(&harness).await? - bare);
    }
    added.sort_by(f64::total_cmp);
    let added = added.get(added.len() / 2).copied().unwrap_or_default();
    let calls = models.observer_calls.load(Ordering::Relaxed);
    let measurement = |name: &str, value| {
        let bare = without.each.len() as f64 / without.wall.as_secs_f64();
        Measurement::new(name.to_owned(), with.each.clone(), with.wall, Some(bare))
            .with_cpu(with.wall, with.cpu)
            .with_value(value)
    };
    Ok([
        measurement("harness.memory_added_us", added),
        measurement("harness.memory_calls", calls as f64),
    ])
}

/// The turns of one kind of threads.
#[derive(Default)]
struct Side {
    each: Vec<Duration>,
    wall: Duration,
    cpu: Duration,
}

impl Side {
    /// Runs the turns of a thread. Returns the CPU time of one in microseconds.
    async fn run(&mut self, harness: &Harness) -> Result<f64, BenchError> {
        harness.init().await?;
        harness.create_thread(None).await?;
        let (start, cpu) = (Instant::now(), cpu_time());
        for _ in 0..TURNS {
            let began = Instant::now();
            harness.send_message("answer").await?;
            self.each.push(began.elapsed());
        }
        self.wall += start.elapsed();
        let cpu = cpu_time().saturating_sub(cpu);
        self.cpu += cpu;
        Ok(cpu.as_secs_f64() * 1e6 / TURNS as f64)
    }
}

/// Counts how often the observer is asked for.
struct CountingModels {
    models: Arc<dyn Models>,
    observer_calls: AtomicU64,
}

impl Models for CountingModels {
    fn model(&self, name: Option<&str>) -> Option<Arc<dyn Model>> {
        if name == Some(OBSERVER) {
            self.observer_calls.fetch_add(1, Ordering::Relaxed);
        }
        self.models.model(name)
    }
}
