//! Broadcast: every member of a team receives the same message.

#![allow(clippy::unwrap_used, reason = "examples stop at the first error")]

use std::sync::Arc;

use ostler_bus::{Envelope, MessageBus};
use ostler_runtime::agents::{AgentRuntime, AgentSpec, TeamSpec, agent_fn};
use serde_json::json;
use tokio::sync::mpsc;

/// Announces dinner to a team of three.
pub(crate) async fn run(bus: Arc<dyn MessageBus>) {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let listener = || {
        let sender = sender.clone();
        agent_fn(move |context, envelope| {
            let sender = sender.clone();
            async move {
                if envelope.message.kind.as_str() == "dinner" {
                    sender.send(context.name().clone()).unwrap();
                }
                Ok(None)
            }
        })
    };
    let crew = "crew".parse().unwrap();
    let team = TeamSpec::led_by(crew, AgentSpec::named("lead").unwrap(), listener())
        .member(AgentSpec::named("cook").unwrap(), listener())
        .member(AgentSpec::named("waiter").unwrap(), listener());
    let runtime = AgentRuntime::builder(bus).start().await.unwrap();
    let crew = runtime.assemble_team(team).await.unwrap();

    let code = runtime.new_reference_code().await.unwrap();
    let dinner = Envelope::new("dinner", json!({ "is": "ready" }), code);
    runtime.broadcast(&crew, dinner).await.unwrap();
    let mut names = Vec::new();
    for _ in 0..3 {
        names.push(receiver.recv().await.unwrap().to_string());
    }
    names.sort_unstable();
    println!("received by {}", names.join(", "));
    assert_eq!(names, ["cook", "lead", "waiter"]);
    runtime.stop_team(&crew).await.unwrap();
    runtime.shutdown().await.unwrap();
}

/// Runs in memory, or on the broker at OSTLER_BUS_URL.
#[tokio::main]
#[allow(dead_code, reason = "the tests call `run`")]
async fn main() {
    let address = std::env::var("OSTLER_BUS_URL").unwrap_or_else(|_| "memory:".into());
    run(ostler_bus::open(&address, ostler_bus::RabbitOptions::default()).await.unwrap()).await;
}
