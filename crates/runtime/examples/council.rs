//! Council: several agents are asked the same question, and a quorum answers.

#![allow(clippy::unwrap_used, reason = "examples stop at the first error")]

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{Envelope, MessageBus};
use ostler_runtime::agents::{AgentReply, AgentRuntime, AgentSpec, CouncilOptions, agent_fn};
use serde_json::json;

/// Asks three reviewers, one of whom never answers.
pub(crate) async fn run(bus: Arc<dyn MessageBus>) {
    let runtime = AgentRuntime::builder(bus).start().await.unwrap();
    let mut reviewers = Vec::new();
    for (name, opinion) in [("security", Some("no")), ("style", Some("yes")), ("late", None)] {
        let reviewer = agent_fn(move |_, _| async move {
            Ok(opinion.map(|opinion| AgentReply::new("opinion", json!({ "merge": opinion }))))
        });
        let spec = AgentSpec::named(name).unwrap().with_capability("review");
        reviewers.push(runtime.start(spec, reviewer).await.unwrap());
    }

    let code = runtime.new_reference_code().await.unwrap();
    let question = Envelope::new("review", json!({ "change": 42 }), code);
    let council = CouncilOptions { quorum: 2, timeout: Duration::from_secs(3) };
    let opinions = runtime.council(&reviewers, &question, council).await.unwrap();
    for (who, opinion) in &opinions.answers {
        println!("{who}: {}", opinion.message.payload["merge"]);
    }
    for (who, why) in &opinions.missing {
        println!("{who} is missing: {why}");
    }
    assert_eq!((opinions.answers.len(), opinions.missing.len()), (2, 1));
    runtime.shutdown().await.unwrap();
}

/// Runs in memory, or on the broker at OSTLER_BUS_URL.
#[tokio::main]
#[allow(dead_code, reason = "the tests call `run`")]
async fn main() {
    let address = std::env::var("OSTLER_BUS_URL").unwrap_or_else(|_| "memory:".into());
    run(ostler_bus::open(&address, ostler_bus::RabbitOptions::default()).await.unwrap()).await;
}
