//! Council: several specialists are asked the same, and enough of them answer.

#![allow(clippy::unwrap_used, reason = "an example stops at the first thing that goes wrong")]

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{Envelope, MessageBus};
use ostler_runtime::queue::{AgentRuntime, Council, Reply, Spec, agent_fn};
use serde_json::json;

/// Asks three reviewers, of whom one never answers.
pub(crate) async fn run(bus: Arc<dyn MessageBus>) {
    let runtime = AgentRuntime::builder(bus).start().await.unwrap();
    let mut reviewers = Vec::new();
    for (name, opinion) in [("security", Some("no")), ("style", Some("yes")), ("late", None)] {
        let reviewer = agent_fn(move |_, _| async move {
            Ok(opinion.map(|opinion| Reply::new("opinion", json!({ "merge": opinion }))))
        });
        let spec = Spec::named(name).unwrap().able_to("review");
        reviewers.push(runtime.start(spec, reviewer).await.unwrap());
    }

    let code = runtime.new_code().await.unwrap();
    let question = Envelope::new("review", json!({ "change": 42 }), code);
    let council = Council { quorum: 2, patience: Duration::from_secs(3) };
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
#[allow(dead_code, reason = "the tests call what it calls")]
async fn main() {
    let address = std::env::var("OSTLER_BUS_URL").unwrap_or_else(|_| "memory:".into());
    run(ostler_bus::open(&address, ostler_bus::RabbitOptions::default()).await.unwrap()).await;
}
