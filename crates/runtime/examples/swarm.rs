//! Swarm: whichever member of a team is free takes the next message.

#![allow(clippy::unwrap_used, reason = "examples stop at the first error")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use ostler_bus::{Envelope, MessageBus};
use ostler_domain::queue_agent::name::TeamName;
use ostler_runtime::agents::{AgentReply, AgentRuntime, AgentSpec, agent_fn};
use serde_json::json;

/// Four workers square a hundred numbers.
pub(crate) async fn run(bus: Arc<dyn MessageBus>) {
    let swarm: TeamName = "swarm".parse().unwrap();
    let runtime = AgentRuntime::builder(bus).start().await.unwrap();
    for number in 0..4 {
        let square = agent_fn(|_, envelope| async move {
            let n = envelope.message.payload["n"].as_u64().unwrap_or_default();
            tokio::time::sleep(Duration::from_millis(2)).await;
            Ok(Some(AgentReply::new("square", json!({ "n": n * n }))))
        });
        let worker = AgentSpec::named(&format!("worker-{number}")).unwrap().share_team_work();
        runtime.start_in_team(&swarm, worker, square).await.unwrap();
    }

    let code = runtime.new_reference_code().await.unwrap();
    let asking = (0..100).map(|n| {
        let work = Envelope::new("square", json!({ "n": n }), code);
        runtime.ask_team(&swarm, work, Duration::from_secs(30))
    });
    let (mut sum, mut shares) = (0, BTreeMap::new());
    for reply in join_all(asking).await {
        let reply = reply.unwrap();
        sum += reply.message.payload["n"].as_u64().unwrap();
        *shares.entry(reply.context.from_agent.clone()).or_insert(0) += 1;
    }
    println!("sum {sum}, shares {shares:?}");
    assert_eq!((sum, shares.len()), (328_350, 4));
    runtime.shutdown().await.unwrap();
}

/// Runs in memory, or on the broker at OSTLER_BUS_URL.
#[tokio::main]
#[allow(dead_code, reason = "the tests call `run`")]
async fn main() {
    let address = std::env::var("OSTLER_BUS_URL").unwrap_or_else(|_| "memory:".into());
    run(ostler_bus::open(&address, ostler_bus::RabbitOptions::default()).await.unwrap()).await;
}
