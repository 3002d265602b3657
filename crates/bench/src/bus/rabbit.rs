//! The same questions through RabbitMQ, beside the bare client doing what the
//! bus does: durable queues of the same kind, confirmed publishing both ways, an
//! ack after the answer was confirmed, and as many messages handed out ahead.

mod client;

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{RabbitBus, RabbitOptions, next_id};
use ostler_runtime::queue::{Hosting, RuntimeOptions};

use super::agents::Agents;
use super::load::load;
use super::{IN_FLIGHT, MANY, TO_MANY};
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
        results.push(measure(url, name, Who::One { at_once: in_flight }, in_flight, share).await?);
    }
    // A thousand agents have no queues of their own on a broker.
    let name = format!("bus.rabbitmq.ask_{MANY}_agents");
    progress(&name);
    results.push(measure(url, name, Who::Many, TO_MANY, share).await?);
    Ok(results)
}

/// Who is asked.
#[derive(Clone, Copy)]
enum Who {
    /// One agent with its own queue.
    One { at_once: usize },
    /// Many agents that share queues.
    Many,
}

async fn measure(
    url: &str,
    name: String,
    who: Who,
    in_flight: usize,
    time: Duration,
) -> Result<Measurement, BenchError> {
    let prefix = format!("ostler-bench-{}.", next_id());
    let options = RabbitOptions { prefix: prefix.clone(), ..RabbitOptions::default() };
    let bus = Arc::new(RabbitBus::connect(url, options).await?);
    let hosting = Hosting::default();
    let (agents, shape) = match who {
        Who::One { at_once } => {
            let at_once = u16::try_from(at_once).unwrap_or(u16::MAX);
            (Agents::pinned(bus.clone(), 1, at_once).await?, Shape { queues: 1, at_once })
        }
        Who::Many => {
            let queues = usize::from(RuntimeOptions::default().shards);
            let shape = Shape { queues, at_once: hosting.at_once };
            (Agents::hosted(bus.clone(), MANY, hosting).await?, shape)
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
