//! Pipeline: the reply of each agent is the request to the next.

#![allow(clippy::unwrap_used, reason = "examples stop at the first error")]

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{Envelope, MessageBus};
use ostler_runtime::agents::{AgentReply, AgentRuntime, AgentSpec, agent_fn};
use serde_json::json;

/// Passes a text through the stages draft, check and sign.
pub(crate) async fn run(bus: Arc<dyn MessageBus>) {
    let runtime = AgentRuntime::builder(bus).start().await.unwrap();
    let mut stages = Vec::new();
    for stage in ["draft", "check", "sign"] {
        let agent = agent_fn(move |_, envelope| async move {
            let text = envelope.message.payload["text"].as_str().unwrap_or_default();
            Ok(Some(AgentReply::new("text", json!({ "text": format!("{text} > {stage}") }))))
        });
        stages.push(runtime.start(AgentSpec::named(stage).unwrap(), agent).await.unwrap());
    }

    let code = runtime.new_reference_code().await.unwrap();
    let letter = Envelope::new("text", json!({ "text": "letter" }), code);
    let last = runtime.pipeline(&stages, letter, Duration::from_secs(30)).await.unwrap();
    println!("{}", last.message.payload["text"]);
    assert_eq!(last.message.payload["text"], "letter > draft > check > sign");
    assert_eq!(last.reference, code);
    runtime.shutdown().await.unwrap();
}

/// Runs in memory, or on the broker at OSTLER_BUS_URL.
#[tokio::main]
#[allow(dead_code, reason = "the tests call `run`")]
async fn main() {
    let address = std::env::var("OSTLER_BUS_URL").unwrap_or_else(|_| "memory:".into());
    run(ostler_bus::open(&address, ostler_bus::RabbitOptions::default()).await.unwrap()).await;
}
