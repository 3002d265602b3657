//! Plan approval: an agent proposes a plan and acts only after approval.

#![allow(clippy::unwrap_used, reason = "examples stop at the first error")]

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{Envelope, MessageBus};
use ostler_domain::queue_agent::plan::PlanAnswer;
use ostler_runtime::agents::coordination::{
    CoordinationMessage, PlanApprovalRequest, PlanRejected,
};
use ostler_runtime::agents::{AgentRuntime, AgentSpec, EchoAgent, agent_fn};
use serde_json::json;

/// Approves a deployment and rejects a deletion.
pub(crate) async fn run(bus: Arc<dyn MessageBus>) {
    let boss = agent_fn(|_, envelope| async move {
        if !PlanApprovalRequest::is(&envelope.message.kind) {
            return Ok(None);
        }
        let request = PlanApprovalRequest::decode(&envelope)?;
        println!("{} wants to {}", request.plan.proposed_by, request.proposal["do"]);
        let no = || PlanAnswer::Reject { reason: "we may need it".into() };
        let safe = request.proposal["do"] != "delete";
        Ok(Some(request.answered(if safe { PlanAnswer::Approve } else { no() })))
    });
    let runtime = AgentRuntime::builder(bus).start().await.unwrap();
    let boss = runtime.start(AgentSpec::named("boss").unwrap(), boss).await.unwrap();
    let worker = runtime.start(AgentSpec::named("worker").unwrap(), EchoAgent).await.unwrap();

    let code = runtime.new_reference_code().await.unwrap();
    let timeout = Duration::from_secs(30);
    let deploy = Envelope::new("deploy", json!({ "version": 7 }), code);
    let done = runtime.ask_with_approval(&worker, &boss, deploy, timeout).await.unwrap();
    assert_eq!(done.message.payload["version"], 7);
    let delete = Envelope::new("delete", json!({ "everything": true }), code);
    let refused = runtime.ask_with_approval(&worker, &boss, delete, timeout).await.unwrap();
    println!("refused: {}", PlanRejected::decode(&refused).unwrap().reason);
    runtime.shutdown().await.unwrap();
}

/// Runs in memory, or on the broker at OSTLER_BUS_URL.
#[tokio::main]
#[allow(dead_code, reason = "the tests call `run`")]
async fn main() {
    let address = std::env::var("OSTLER_BUS_URL").unwrap_or_else(|_| "memory:".into());
    run(ostler_bus::open(&address, ostler_bus::RabbitOptions::default()).await.unwrap()).await;
}
