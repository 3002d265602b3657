//! Direct: ask one agent and get its reply.

#![allow(clippy::unwrap_used, reason = "examples stop at the first error")]

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{Envelope, MessageBus};
use ostler_runtime::agents::{AgentReply, AgentRuntime, AgentSpec, agent_fn};
use serde_json::json;

/// Asks an agent for a greeting.
pub(crate) async fn run(bus: Arc<dyn MessageBus>) {
    let greeter = agent_fn(|_, envelope| async move {
        let who = envelope.message.payload["who"].as_str().unwrap_or("stranger").to_owned();
        Ok(Some(AgentReply::new("greeting", json!({ "text": format!("Good day, {who}!") }))))
    });
    let spec = AgentSpec::named("greeter").unwrap();
    let name = spec.name.clone();
    let runtime = AgentRuntime::builder(bus).agent(spec, greeter).start().await.unwrap();

    let code = runtime.new_reference_code().await.unwrap();
    let hello = Envelope::new("greet", json!({ "who": "Rosa" }), code);
    let reply = runtime.ask(&name, hello, Duration::from_secs(30)).await.unwrap();
    println!("{}: {}", reply.reference, reply.message.payload["text"]);
    assert_eq!(reply.message.payload["text"], "Good day, Rosa!");
    assert_eq!((reply.reference, &reply.context.from_agent), (code, &Some(name)));
    runtime.shutdown().await.unwrap();
}

/// Runs in memory, or on the broker at OSTLER_BUS_URL.
#[tokio::main]
#[allow(dead_code, reason = "the tests call `run`")]
async fn main() {
    let address = std::env::var("OSTLER_BUS_URL").unwrap_or_else(|_| "memory:".into());
    run(ostler_bus::open(&address, ostler_bus::RabbitOptions::default()).await.unwrap()).await;
}
