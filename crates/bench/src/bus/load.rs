//! Concurrent clients that send requests until the time is over.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::BenchError;
use crate::report::{Measurement, cpu_time};

/// One request of this many is timed: reading the clock for each would distort the
/// result.
const SAMPLE_EVERY: usize = 16;

/// A target of requests.
pub(super) trait LoadTarget: Send + Sync + 'static {
    /// Sends request `number` and waits for the reply.
    fn ask(&self, number: usize) -> impl Future<Output = Result<(), BenchError>> + Send;
}

/// The result of a load.
pub(super) struct LoadResult {
    pub(super) count: usize,
    pub(super) each: Vec<Duration>,
    pub(super) all: Duration,
    pub(super) cpu: Duration,
}

impl LoadResult {
    pub(super) fn per_sec(&self) -> f64 {
        self.count as f64 / self.all.as_secs_f64()
    }

    pub(super) fn measurement(self, name: String, limit: f64) -> Measurement {
        let result = Measurement::sampled(name, self.count, self.each, self.all, Some(limit));
        result.with_cpu(self.all, self.cpu)
    }
}

/// Runs `clients` that send one request after the other.
pub(super) async fn load(
    target: Arc<impl LoadTarget>,
    clients: usize,
    time: Duration,
) -> Result<LoadResult, BenchError> {
    let (start, cpu) = (Instant::now(), cpu_time());
    let run_client = |client: usize| {
        let target = Arc::clone(&target);
        tokio::spawn(async move {
            let mut numbers = (client..).step_by(clients);
            let mut each = Vec::new();
            while start.elapsed() < time {
                let start_of_request = Instant::now();
                target.ask(numbers.next().unwrap_or_default()).await?;
                each.push(start_of_request.elapsed());
                for number in numbers.by_ref().take(SAMPLE_EVERY - 1) {
                    target.ask(number).await?;
                }
            }
            Ok::<_, BenchError>(each)
        })
    };
    let tasks: Vec<_> = (0..clients).map(run_client).collect();
    let mut each = Vec::new();
    for task in tasks {
        each.extend(task.await??);
    }
    let (all, cpu) = (start.elapsed(), cpu_time().saturating_sub(cpu));
    Ok(LoadResult { count: each.len() * SAMPLE_EVERY, each, all, cpu })
}
