//! The turn suite: whole turns through state machine, gate and driver with an
//! instant model and no store, and the parsing of a model's stream.

pub(crate) mod setup;
mod sse;

use std::time::{Duration, Instant};

use crate::report::{Measurement, cpu_time};
use crate::{BenchError, Options};
use setup::{Task, TurnSetup};

/// Turns between two reads of the CPU clock, which is coarse.
const BATCH: usize = 64;
/// Earlier turns of the conversation.
const HISTORIES: [usize; 3] = [10, 100, 1000];

pub(crate) async fn run(
    options: &Options,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Measurement>, BenchError> {
    let share = options.time / 7;
    let mut results = Vec::new();
    for (name, task) in [("plain", Task::Plain), ("tool", Task::Tool), ("subagent", Task::Subagent)]
    {
        let name = format!("turn.{name}");
        progress(&name);
        let setup = TurnSetup::new()?;
        results.push(measure(name, share, || setup.turn(task, &[])).await);
    }
    for turns in HISTORIES {
        let name = format!("turn.history.{turns}");
        progress(&name);
        let setup = TurnSetup::new()?;
        let conversation = setup::conversation(turns);
        results.push(measure(name, share, || setup.turn(Task::Plain, &conversation)).await);
    }
    progress(sse::NAME);
    results.push(sse::run(share));
    Ok(results)
}

/// Runs turns until the time is over.
async fn measure<F: Future<Output = ()>>(
    name: String,
    time: Duration,
    mut turn: impl FnMut() -> F,
) -> Measurement {
    let (start, cpu, mut each) = (Instant::now(), cpu_time(), Vec::new());
    while start.elapsed() < time {
        for _ in 0..BATCH {
            let began = Instant::now();
            turn().await;
            each.push(began.elapsed());
        }
        tokio::task::yield_now().await;
    }
    let (all, cpu) = (start.elapsed(), cpu_time().saturating_sub(cpu));
    Measurement::new(name, each, all, None).with_cpu(all, cpu)
}
