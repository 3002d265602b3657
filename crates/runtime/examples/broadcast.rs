//! Broadcast: every member of a team hears the same.

#![allow(clippy::unwrap_used, reason = "an example stops at the first thing that goes wrong")]

use std::sync::Arc;

use ostler_bus::{Envelope, MessageBus};
use ostler_runtime::queue::{AgentRuntime, Spec, TeamSpec, agent_fn};
use serde_json::json;
use tokio::sync::mpsc;

/// Tells a team of three that dinner is ready.
pub(crate) async fn run(bus: Arc<dyn MessageBus>) {
    let (heard, mut hearing) = mpsc::unbounded_channel();
    let listener = || {
        let heard = heard.clone();
        agent_fn(move |context, envelope| {
            let heard = heard.clone();
            async move {
                if envelope.message.kind.as_str() == "dinner" {
                    heard.send(context.name().clone()).unwrap();
                }
                Ok(None)
            }
        })
    };
    let crew = "crew".parse().unwrap();
    let team = TeamSpec::led_by(crew, Spec::named("lead").unwrap(), listener())
        .member(Spec::named("cook").unwrap(), listener())
        .member(Spec::named("waiter").unwrap(), listener());
    let runtime = AgentRuntime::builder(bus).start().await.unwrap();
    let crew = runtime.assemble(team).await.unwrap();

    let code = runtime.new_code().await.unwrap();
    let dinner = Envelope::new("dinner", json!({ "is": "ready" }), code);
    runtime.broadcast(&crew, dinner).await.unwrap();
    let mut names = Vec::new();
    for _ in 0..3 {
        names.push(hearing.recv().await.unwrap().to_string());
    }
    names.sort_unstable();
    println!("heard by {}", names.join(", "));
    assert_eq!(names, ["cook", "lead", "waiter"]);
    runtime.stop_team(&crew).await.unwrap();
    runtime.shutdown().await.unwrap();
}

/// Runs in memory, or on the broker at OSTLER_BUS_URL.
#[tokio::main]
#[allow(dead_code, reason = "the tests call what it calls")]
async fn main() {
    let address = std::env::var("OSTLER_BUS_URL").unwrap_or_else(|_| "memory:".into());
    run(ostler_bus::open(&address, ostler_bus::RabbitOptions::default()).await.unwrap()).await;
}
