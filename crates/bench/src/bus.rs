//! The bus suite: questions to agents through their harnesses, broadcasts, and
//! what an idle agent costs. Beside each speed is that of the bare part: tokio's
//! channels in memory, and the client of the broker on RabbitMQ.

mod agents;
mod bare;
mod broadcast;
mod idle;
mod load;
mod rabbit;

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::MemoryBus;

use crate::report::Measurement;
use crate::{BenchError, Options};
use agents::Agents;
use bare::Channels;
use load::load;

/// Questions that one agent is asked at the same time.
const IN_FLIGHT: [usize; 2] = [1, 64];
/// Agents that are asked in turn, and that a broadcast reaches.
const MANY: usize = 1000;
/// Questions on their way to many agents.
const TO_MANY: usize = 64;

pub(crate) async fn run(
    options: &Options,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Measurement>, BenchError> {
    let speeds = if options.amqp.is_some() { 7 } else { 4 };
    // Each is measured bare and through harnesses; what is idle and what has to
    // be started take some shares too.
    let share = options.time / (2 * speeds + 4);
    // Memory first, while nothing was used and given back.
    let mut results = idle::run(options.time, &mut progress).await?;
    for in_flight in IN_FLIGHT {
        let name = format!("bus.memory.ask.{in_flight}");
        progress(&name);
        results.push(ask(name, 1, in_flight, share).await?);
    }
    let name = format!("bus.memory.ask_{MANY}_agents");
    progress(&name);
    results.push(ask(name, MANY, TO_MANY, share).await?);
    let name = format!("bus.memory.broadcast_{MANY}");
    progress(&name);
    results.push(broadcast::run(name, MANY, share).await?);
    if let Some(url) = &options.amqp {
        results.extend(rabbit::run(url, share, progress).await?);
    }
    Ok(results)
}

/// Asks so many agents in turn until the time is over.
async fn ask(
    name: String,
    agents: usize,
    in_flight: usize,
    time: Duration,
) -> Result<Measurement, BenchError> {
    let bare = load(Arc::new(Channels::open(agents)), in_flight, time).await?;
    let asked = Arc::new(Agents::pinned(Arc::new(MemoryBus::default()), agents, 1).await?);
    let through = load(Arc::clone(&asked), in_flight, time).await?;
    asked.shutdown().await?;
    Ok(through.measurement(name, bare.per_sec()))
}
