//! The memory cost of idle agents. This test has a process of its own, so that
//! nothing else is measured.

#![allow(clippy::unwrap_used, reason = "these are tests")]
#![cfg(target_os = "linux")]

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{Envelope, MemoryBus};
use ostler_runtime::agents::{AgentRecord, AgentRuntime, EchoAgent, HostingOptions, Placement};

const AGENTS: usize = 100_000;
const BYTES_EACH: usize = 1024;

fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

fn record(number: usize) -> AgentRecord {
    let name = format!("agent-{number:08}").parse().unwrap();
    AgentRecord {
        capabilities: ["echo".into()].into(),
        ..AgentRecord::new(name, EchoAgent::TYPE, Placement::Hosted)
    }
}

/// A hundred thousand registered agents need at most a kibibyte each, and each
/// of them answers when asked.
#[tokio::test]
async fn an_idle_agent_costs_at_most_a_kibibyte() {
    let bus = Arc::new(MemoryBus::default());
    let builder = AgentRuntime::builder(bus).hosting(HostingOptions::default());
    let runtime = builder.start().await.unwrap();
    let before = resident();
    for number in 0..AGENTS {
        runtime.host(record(number)).await.unwrap();
    }
    let each = resident().saturating_sub(before) / AGENTS;
    assert!(each <= BYTES_EACH, "{each} bytes each");
    assert_eq!(runtime.awake_agents().len(), 0);
    let code = runtime.new_reference_code().await.unwrap();
    let hello = Envelope::new("say", serde_json::json!({}), code);
    let name = record(AGENTS / 2).name;
    let reply = runtime.ask(&name, hello, Duration::from_secs(60)).await.unwrap();
    assert_eq!(reply.context.from_agent, Some(name));
    runtime.shutdown().await.unwrap();
}
