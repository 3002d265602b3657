//! Hosted agents: made when a message comes, put away when idle.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ostler_bus::{Limits, QueueName};
use ostler_domain::dispatch::failure::FailureClass;
use ostler_domain::dispatch::name::AgentName;
use ostler_runtime::queue::{
    AgentRecord, AgentRuntime, Echo, Hosting, MemoryRegistry, Placement, QueueError,
};

use crate::kit::{Backend, LONG, dead, eventually, on_every_bus, prefix};
use crate::world::{Probe, ask, name, number, said, say, spec};

fn hosted(text: &str, agent_type: &str) -> AgentRecord {
    AgentRecord::new(name(text), agent_type, Placement::Hosted)
}

on_every_bus!(x01_a_hosted_agent_gets_what_is_addressed_to_it);
/// X01: what is addressed to a hosted agent reaches it, by name and as a reply;
/// no queue of its own comes to be, and it is made once while it is awake.
async fn x01_a_hosted_agent_gets_what_is_addressed_to_it(backend: &Backend) {
    let made = Arc::new(AtomicU64::new(0));
    let probe = Probe::answering(|envelope| said(number(envelope)));
    let (count, agent) = (Arc::clone(&made), probe.clone());
    let builder = backend.builder().await.hosting(Hosting::default());
    let factory = move |_: &AgentRecord| {
        count.fetch_add(1, Ordering::SeqCst);
        Ok(agent.clone())
    };
    let runtime = builder.factory("probe", factory).start().await.unwrap();
    for index in 0..20 {
        runtime.host(hosted(&format!("h{index}"), "probe")).await.unwrap();
    }
    assert_eq!(runtime.awake(), Vec::<AgentName>::new());
    assert_eq!(ask(&runtime, "h3", 1).await.context.from_agent, Some(name("h3")));
    assert_eq!(ask(&runtime, "h3", 2).await.context.from_agent, Some(name("h3")));
    assert_eq!((runtime.awake(), made.load(Ordering::SeqCst)), (vec![name("h3")], 1));
    runtime.start(spec("echo"), Echo).await.unwrap();
    let mut request = say(5);
    request.context.reply_to = Some("agent.h4".parse().unwrap());
    runtime.send(&name("echo"), request).await.unwrap();
    probe.until(3).await;
    assert_eq!(probe.numbers(), [1, 2, 5]);
    let queue = QueueName::agent(&name("h3"));
    assert_eq!(runtime.bus().depth(&queue).await.unwrap().total(), 0);
    runtime.shutdown().await.unwrap();
    assert_eq!(runtime.awake(), Vec::<AgentName>::new());
}

on_every_bus!(an_idle_agent_is_put_away_and_made_again);
async fn an_idle_agent_is_put_away_and_made_again(backend: &Backend) {
    let probe = Probe::answering(|envelope| said(number(envelope))).gated();
    let agent = probe.clone();
    let builder = backend.builder().await.hosting(Hosting::default());
    let builder = builder.factory("probe", move |_: &AgentRecord| Ok(agent.clone()));
    let runtime = builder.start().await.unwrap();
    runtime.host(hosted("h", "probe")).await.unwrap();
    runtime.send(&name("h"), say(1)).await.unwrap();
    probe.until(1).await;
    runtime.put_away_idle();
    runtime.put_away_idle();
    assert_eq!(runtime.awake(), [name("h")], "it is at work");
    probe.let_pass(10);
    eventually("it to be put away", async || {
        runtime.put_away_idle();
        runtime.awake().is_empty()
    })
    .await;
    assert_eq!(ask(&runtime, "h", 2).await.message.payload["n"], 2);
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x49_a_busy_hosted_agent_refuses_more_and_others_go_on);
/// X49: one hosted agent that is blocked takes no more than its bound; the rest
/// of its messages are dead letters, and its neighbours answer.
async fn x49_a_busy_hosted_agent_refuses_more_and_others_go_on(backend: &Backend) {
    let blocked = Probe::quiet().gated();
    let agent = blocked.clone();
    let hosting = Hosting { at_once: 128, ..Hosting::default() };
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
    let letters = dead(runtime.bus(), 5).await;
    assert!(letters.iter().all(|one| one.death.class == FailureClass::ResourceExhaustion));
    for index in 0..50 {
        assert_eq!(ask(&runtime, &format!("h{index}"), index).await.message.payload["n"], index);
    }
    assert_eq!((blocked.seen().len(), dead(runtime.bus(), 5).await.len()), (1, 5));
    blocked.let_pass(1000);
    blocked.until(65).await;
    runtime.shutdown().await.unwrap();
}

on_every_bus!(what_a_stopped_or_unknown_hosted_agent_gets_is_a_dead_letter);
async fn what_a_stopped_or_unknown_hosted_agent_gets_is_a_dead_letter(backend: &Backend) {
    let runtime = backend.builder().await.hosting(Hosting::default()).start().await.unwrap();
    runtime.host(hosted("h", "echo")).await.unwrap();
    ask(&runtime, "h", 1).await;
    assert!(runtime.stop(&name("h")).await.unwrap());
    runtime.send(&name("h"), say(2)).await.unwrap();
    dead(runtime.bus(), 1).await;
    runtime.resume(&name("h")).await.unwrap();
    assert_eq!(runtime.bus().replay(ostler_bus::Selection::All).await.unwrap(), 1);
    assert_eq!(ask(&runtime, "h", 3).await.message.payload["n"], 3);
    runtime.registry().remove(&name("h")).await.unwrap();
    runtime.stop(&name("h")).await.unwrap();
    let unknown = runtime.host(hosted("x", "unheard-of")).await;
    assert!(matches!(unknown, Err(QueueError::UnknownType(kind)) if kind == "unheard-of"));
    let moved = runtime.host(AgentRecord { ..hosted("p", "echo") }).await;
    assert!(moved.is_ok());
    let pinned = runtime.start(spec("p"), Echo).await;
    assert!(matches!(pinned, Err(QueueError::Placement(_))));
    runtime.shutdown().await.unwrap();
}

/// Two nodes on one broker share the hosted agents: either answers.
#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_host_the_same_agents() {
    let (backend, prefix) = (Backend::rabbitmq(), prefix());
    let registry = Arc::new(MemoryRegistry::default());
    let mut nodes = Vec::new();
    for _ in 0..2 {
        let bus = backend.shared(&prefix, Limits::default()).await;
        let builder = AgentRuntime::builder(bus).registry(registry.clone());
        nodes.push(builder.hosting(Hosting::default()).start().await.unwrap());
    }
    for index in 0..20 {
        nodes[0].host(hosted(&format!("h{index}"), "echo")).await.unwrap();
    }
    for index in 0..20 {
        let node = &nodes[index % 2];
        let agent = name(&format!("h{index}"));
        let reply = node.ask(&agent, say(index as u64), LONG).await.unwrap();
        assert_eq!(reply.context.from_agent, Some(agent));
    }
    nodes[0].shutdown().await.unwrap();
    assert_eq!(ask(&nodes[1], "h0", 5).await.message.payload["n"], 5);
    nodes[1].shutdown().await.unwrap();
}
