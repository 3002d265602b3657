//! The same requests through RabbitMQ, beside the bare client doing what the bus
//! does: quorum queues, confirmed publishing both ways, an ack after the reply was
//! confirmed, and the same prefetch.

mod client;

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{RabbitBus, RabbitOptions, next_id};
use ostler_runtime::agents::{HostingOptions, RuntimeOptions};

use super::agents::Agents;
use super::load::load;
use super::{AGENTS, CONCURRENT_REQUESTS, IN_FLIGHT};
use crate::BenchError;
use crate::report::Measurement;
use client::{Client, Shape};

pub(super) async fn run(
    url: &str,
    share: Duration,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Measurement>, BenchError> {
    let mut results = Vec::new();
    for in_flight in IN_FLIGHT {
        let name = format!("bus.rabbitmq.ask.{in_flight}");
        progress(&name);
        results.push(
            measure(url, name, Target::One { concurrency: in_flight }, in_flight, share).await?,
        );
    }
    // A thousand agents are hosted: they share queues.
    let name = format!("bus.rabbitmq.ask_{AGENTS}_agents");
    progress(&name);
    results.push(measure(url, name, Target::Many, CONCURRENT_REQUESTS, share).await?);
    Ok(results)
}

/// The agents that are asked.
#[derive(Clone, Copy)]
enum Target {
    One { concurrency: usize },
    Many,
}

async fn measure(
    url: &str,
    name: String,
    who: Target,
    in_flight: usize,
    time: Duration,
) -> Result<Measurement, BenchError> {
    let prefix = format!("ostler-bench-{}.", next_id());
    let options = RabbitOptions { prefix: prefix.clone(), ..RabbitOptions::default() };
    let bus = Arc::new(RabbitBus::connect(url, options).await?);
    let hosting = HostingOptions::default();
    let (agents, shape) = match who {
        Target::One { concurrency } => {
            let concurrency = u16::try_from(concurrency).unwrap_or(u16::MAX);
            (Agents::pinned(bus.clone(), 1, concurrency).await?, Shape { queues: 1, concurrency })
        }
        Target::Many => {
            let queues = usize::from(RuntimeOptions::default().shards);
            let shape = Shape { queues, concurrency: hosting.concurrency };
            (Agents::hosted(bus.clone(), AGENTS, hosting).await?, shape)
        }
    };
    let agents = Arc::new(agents);
    let client = Arc::new(Client::open(url, &prefix, shape, agents.body()?).await?);
    let bare = load(Arc::clone(&client), in_flight, time).await?;
    let through = load(Arc::clone(&agents), in_flight, time).await?;
    agents.shutdown().await?;
    ostler_bus::MessageBus::close(&*bus).await;
    client.clean(shape).await?;
    Ok(through.measurement(name, bare.per_sec()))
}
