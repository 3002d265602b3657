//! Hosted agents: created when a message arrives, evicted when idle.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ostler_bus::{QueueLimits, QueueName};
use ostler_domain::queue_agent::failure::FailureClass;
use ostler_domain::queue_agent::name::AgentName;
use ostler_runtime::agents::{
    AgentRecord, AgentRuntime, EchoAgent, HostingOptions, MemoryRegistry, Placement, QueueError,
};

use crate::kit::{Backend, TEST_TIMEOUT, eventually, on_every_bus, prefix, wait_for_dead_letters};
use crate::support::{Probe, ask, name, number, said, say, spec};

fn hosted(text: &str, agent_type: &str) -> AgentRecord {
    AgentRecord::new(name(text), agent_type, Placement::Hosted)
}

on_every_bus!(x01_a_hosted_agent_receives_its_messages);
/// X01: messages reach a hosted agent by name and as replies; it has no queue
/// of its own and is created once while awake.
async fn x01_a_hosted_agent_receives_its_messages(backend: &Backend) {
    let made = Arc::new(AtomicU64::new(0));
    let probe = Probe::answering(|envelope| said(number(envelope)));
    let (count, agent) = (Arc::clone(&made), probe.clone());
    let builder = backend.builder().await.hosting(HostingOptions::default());
    let factory = move |_: &AgentRecord| {
        count.fetch_add(1, Ordering::SeqCst);
        Ok(agent.clone())
    };
    let runtime = builder.factory("probe", factory).start().await.unwrap();
    for index in 0..20 {
        runtime.host(hosted(&format!("h{index}"), "probe")).await.unwrap();
    }
    assert_eq!(runtime.awake_agents(), Vec::<AgentName>::new());
    assert_eq!(ask(&runtime, "h3", 1).await.context.from_agent, Some(name("h3")));
    assert_eq!(ask(&runtime, "h3", 2).await.context.from_agent, Some(name("h3")));
    assert_eq!((runtime.awake_agents(), made.load(Ordering::SeqCst)), (vec![name("h3")], 1));
    runtime.start(spec("echo"), EchoAgent).await.unwrap();
    let mut request = say(5);
    request.context.reply_to = Some("agent.h4".parse().unwrap());
    runtime.send(&name("echo"), request).await.unwrap();
    probe.wait_for(3).await;
    assert_eq!(probe.numbers(), [1, 2, 5]);
    let queue = QueueName::agent(&name("h3"));
    assert_eq!(runtime.bus().depth(&queue).await.unwrap().total(), 0);
    runtime.shutdown().await.unwrap();
    assert_eq!(runtime.awake_agents(), Vec::<AgentName>::new());
}

on_every_bus!(an_idle_hosted_agent_is_evicted_and_created_again);
async fn an_idle_hosted_agent_is_evicted_and_created_again(backend: &Backend) {
    let probe = Probe::answering(|envelope| said(number(envelope))).gated();
    let agent = probe.clone();
    let builder = backend.builder().await.hosting(HostingOptions::default());
    let builder = builder.factory("probe", move |_: &AgentRecord| Ok(agent.clone()));
    let runtime = builder.start().await.unwrap();
    runtime.host(hosted("h", "probe")).await.unwrap();
    runtime.send(&name("h"), say(1)).await.unwrap();
    probe.wait_for(1).await;
    runtime.evict_idle();
    runtime.evict_idle();
    assert_eq!(runtime.awake_agents(), [name("h")], "it is at work");
    probe.release(10);
    eventually("it to be put away", async || {
        runtime.evict_idle();
        runtime.awake_agents().is_empty()
    })
    .await;
    assert_eq!(ask(&runtime, "h", 2).await.message.payload["n"], 2);
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x49_a_blocked_hosted_agent_rejects_messages_and_others_continue);
/// X49: a blocked hosted agent takes no more than its limit; further messages
/// become dead letters, and other agents answer.
async fn x49_a_blocked_hosted_agent_rejects_messages_and_others_continue(backend: &Backend) {
    let blocked = Probe::silent().gated();
    let agent = blocked.clone();
    let hosting = HostingOptions { concurrency: 128, ..HostingOptions::default() };
    let builder = backend.builder().await.hosting(hosting);
    let builder = builder.factory("blocked", move |_: &AgentRecord| Ok(agent.clone()));
    let runtime = builder.start().await.unwrap();
    runtime.host(hosted("busy", "blocked")).await.unwrap();
    for index in 0..50 {
        runtime.host(hosted(&format!("h{index}"), "echo")).await.unwrap();
    }
    for number in 0..70 {
        runtime.send(&name("busy"), say(number)).await.unwrap();
    }
    let dead_letters = wait_for_dead_letters(runtime.bus(), 5).await;
    assert!(dead_letters.iter().all(|one| one.cause.class == FailureClass::ResourceExhaustion));
    for index in 0..50 {
        assert_eq!(ask(&runtime, &format!("h{index}"), index).await.message.payload["n"], index);
    }
    assert_eq!((blocked.seen().len(), wait_for_dead_letters(runtime.bus(), 5).await.len()), (1, 5));
    blocked.release(1000);
    blocked.wait_for(65).await;
    runtime.shutdown().await.unwrap();
}

on_every_bus!(messages_to_a_stopped_or_unknown_hosted_agent_become_dead_letters);
async fn messages_to_a_stopped_or_unknown_hosted_agent_become_dead_letters(backend: &Backend) {
    let runtime = backend.builder().await.hosting(HostingOptions::default()).start().await.unwrap();
    runtime.host(hosted("h", "echo")).await.unwrap();
    ask(&runtime, "h", 1).await;
    assert!(runtime.stop(&name("h")).await.unwrap());
    runtime.send(&name("h"), say(2)).await.unwrap();
    wait_for_dead_letters(runtime.bus(), 1).await;
    runtime.resume(&name("h")).await.unwrap();
    assert_eq!(
        runtime.bus().replay_dead_letters(ostler_bus::DeadLetterFilter::All).await.unwrap(),
        1
    );
    assert_eq!(ask(&runtime, "h", 3).await.message.payload["n"], 3);
    runtime.registry().remove(&name("h")).await.unwrap();
    runtime.stop(&name("h")).await.unwrap();
    let unknown = runtime.host(hosted("x", "unheard-of")).await;
    assert!(matches!(unknown, Err(QueueError::UnknownAgentType(kind)) if kind == "unheard-of"));
    let moved = runtime.host(AgentRecord { ..hosted("p", "echo") }).await;
    assert!(moved.is_ok());
    let pinned = runtime.start(spec("p"), EchoAgent).await;
    assert!(matches!(pinned, Err(QueueError::PlacementConflict(_))));
    runtime.shutdown().await.unwrap();
}

/// Two processes on one broker share the hosted agents.
#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_host_the_same_agents() {
    let (backend, prefix) = (Backend::rabbitmq(), prefix());
    let registry = Arc::new(MemoryRegistry::default());
    let mut nodes = Vec::new();
    for _ in 0..2 {
        let bus = backend.bus_with_prefix(&prefix, QueueLimits::default()).await;
        let builder = AgentRuntime::builder(bus).registry(registry.clone());
        nodes.push(builder.hosting(HostingOptions::default()).start().await.unwrap());
    }
    for index in 0..20 {
        nodes[0].host(hosted(&format!("h{index}"), "echo")).await.unwrap();
    }
    for index in 0..20 {
        let node = &nodes[index % 2];
        let agent = name(&format!("h{index}"));
        let reply = node.ask(&agent, say(index as u64), TEST_TIMEOUT).await.unwrap();
        assert_eq!(reply.context.from_agent, Some(agent));
    }
    nodes[0].shutdown().await.unwrap();
    assert_eq!(ask(&nodes[1], "h0", 5).await.message.payload["n"], 5);
    nodes[1].shutdown().await.unwrap();
}
