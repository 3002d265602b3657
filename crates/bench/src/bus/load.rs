//! Askers that ask until the time is over.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::BenchError;
use crate::report::{Measurement, cpu_time};

/// Of so many questions, one is timed: a clock that is looked at for each would
/// be a good part of what is measured.
const TIMED: usize = 16;

/// Somebody who can be asked.
pub(super) trait Asked: Send + Sync + 'static {
    /// Asks the next in turn by this number, and waits for the answer.
    fn ask(&self, number: usize) -> impl Future<Output = Result<(), BenchError>> + Send;
}

/// What was done.
pub(super) struct Done {
    pub(super) count: usize,
    pub(super) each: Vec<Duration>,
    pub(super) all: Duration,
    pub(super) cpu: Duration,
}

impl Done {
    pub(super) fn per_sec(&self) -> f64 {
        self.count as f64 / self.all.as_secs_f64()
    }

    pub(super) fn measurement(self, name: String, limit: f64) -> Measurement {
        let result = Measurement::sampled(name, self.count, self.each, self.all, Some(limit));
        result.with_cpu(self.all, self.cpu)
    }
}

/// Has so many askers ask one question after the other.
pub(super) async fn load(
    asked: Arc<impl Asked>,
    askers: usize,
    time: Duration,
) -> Result<Done, BenchError> {
    let (start, cpu) = (Instant::now(), cpu_time());
    let asking = |asker: usize| {
        let asked = Arc::clone(&asked);
        tokio::spawn(async move {
            let mut numbers = (asker..).step_by(askers);
            let mut each = Vec::new();
            while start.elapsed() < time {
                let began = Instant::now();
                asked.ask(numbers.next().unwrap_or_default()).await?;
                each.push(began.elapsed());
                for number in numbers.by_ref().take(TIMED - 1) {
                    asked.ask(number).await?;
                }
            }
            Ok::<_, BenchError>(each)
        })
    };
    let tasks: Vec<_> = (0..askers).map(asking).collect();
    let mut each = Vec::new();
    for task in tasks {
        each.extend(task.await??);
    }
    let (all, cpu) = (start.elapsed(), cpu_time().saturating_sub(cpu));
    Ok(Done { count: each.len() * TIMED, each, all, cpu })
}
