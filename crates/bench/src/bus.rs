//! The bus suite: requests to queue agents through their harnesses, broadcasts,
//! and the memory of idle agents. The limits are bare tokio channels in memory and
//! the bare AMQP client on RabbitMQ.

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

/// Concurrent requests to one agent.
const IN_FLIGHT: [usize; 2] = [1, 64];
/// Agents that are asked in turn, and members of a broadcast.
const AGENTS: usize = 1000;
/// Concurrent requests to many agents.
const CONCURRENT_REQUESTS: usize = 64;

pub(crate) async fn run(
    options: &Options,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Measurement>, BenchError> {
    let speeds = if options.amqp.is_some() { 7 } else { 4 };
    // Each is measured bare and through harnesses; idle agents and start-up take
    // some shares too.
    let share = options.time / (2 * speeds + 4);
    // Memory first, before the allocator has freed memory to reuse.
    let mut results = idle::run(options.time, &mut progress).await?;
    for in_flight in IN_FLIGHT {
        let name = format!("bus.memory.ask.{in_flight}");
        progress(&name);
        results.push(ask(name, 1, in_flight, share).await?);
    }
    let name = format!("bus.memory.ask_{AGENTS}_agents");
    progress(&name);
    results.push(ask(name, AGENTS, CONCURRENT_REQUESTS, share).await?);
    let name = format!("bus.memory.broadcast_{AGENTS}");
    progress(&name);
    results.push(broadcast::run(name, AGENTS, share).await?);
    if let Some(url) = &options.amqp {
        results.extend(rabbit::run(url, share, progress).await?);
    }
    Ok(results)
}

/// Asks `agents` agents in turn until the time is over.
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
