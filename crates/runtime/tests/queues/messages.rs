//! Messages reach their agent unchanged, also when they were sent before it
//! started.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{Envelope, EnvelopeContext, now};
use ostler_domain::id::EnvelopeId;
use ostler_domain::queue_agent::authority::{AuthorityClaim, AuthorityTier, ClaimedActions};
use ostler_domain::queue_agent::priority::Priority;
use ostler_runtime::agents::AgentRuntime;

use crate::kit::{Backend, TEST_TIMEOUT, eventually, on_every_bus};
use crate::support::{Probe, code, name, number, said, say, spec, team, waiting};

/// A message with every field set.
fn full(number: u64) -> Envelope {
    let mut envelope = say(number);
    envelope.message.correlation_id = Some("c-1".into());
    envelope.claims = Arc::new([AuthorityClaim {
        granted_by: name("boss"),
        granted_to: name("worker"),
        tier: AuthorityTier::JustDoIt,
        actions: ClaimedActions::Only(["say".into()].into()),
        granted_at: now(),
        expires_at: Some(now() + Duration::from_secs(3600)),
    }]);
    envelope.context = EnvelopeContext {
        parent_message: Some(EnvelopeId::from_u128(5)),
        original_goal: Some("ship it".into()),
        team: Some(team("crew")),
        channel: Some("webchat".into()),
        reply_to: Some("agent.boss".parse().unwrap()),
        from_agent: Some(name("boss")),
        to_agent: Some(name("worker")),
        forwarded_by: Some(name("tired")),
        root_reference: Some(code(1)),
        traceparent: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".into()),
    };
    envelope.priority = Priority::Critical;
    envelope.sla_deadline = Some(now() + Duration::from_secs(60));
    envelope
}

on_every_bus!(x11_x13_an_agent_gets_the_message_as_it_was_sent);
/// X11, X13: with code, claims, context, class and deadline, and without any of
/// them.
async fn x11_x13_an_agent_gets_the_message_as_it_was_sent(backend: &Backend) {
    let runtime = backend.runtime().await;
    let worker = Probe::silent();
    runtime.start(spec("worker"), worker.clone()).await.unwrap();
    let sent = [say(1), full(2)].map(Arc::new);
    for envelope in &sent {
        runtime.send(&name("worker"), (**envelope).clone()).await.unwrap();
    }
    let mut seen = worker.wait_for(2).await;
    seen.sort_by_key(|envelope| number(envelope));
    assert_eq!(seen, sent);
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x11_a_reply_keeps_the_context_of_its_request);
/// X11: a reply has the parent and its sender, and keeps the goal, team and
/// channel of the request.
async fn x11_a_reply_keeps_the_context_of_its_request(backend: &Backend) {
    let runtime = backend.runtime().await;
    runtime.start(spec("worker"), Probe::answering(|_| said(2))).await.unwrap();
    let question = full(1);
    let reply = runtime.ask(&name("worker"), question.clone(), TEST_TIMEOUT).await.unwrap();
    let EnvelopeContext { original_goal, team, channel, root_reference, traceparent, .. } =
        question.context;
    let expected = EnvelopeContext {
        parent_message: Some(question.message.id),
        from_agent: Some(name("worker")),
        original_goal,
        team,
        channel,
        root_reference,
        traceparent,
        ..EnvelopeContext::default()
    };
    assert_eq!(reply.context, expected);
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x26_stopping_the_consumers_of_the_bus_stops_every_agent);
/// X26: the call returns when the messages in progress are done; later messages
/// wait.
async fn x26_stopping_the_consumers_of_the_bus_stops_every_agent(backend: &Backend) {
    let bus = backend.bus().await;
    let runtime = AgentRuntime::builder(Arc::clone(&bus)).start().await.unwrap();
    let agents = ["a", "b", "c"];
    let probe = Probe::silent().gated();
    for agent in agents {
        runtime.start(spec(agent), probe.clone()).await.unwrap();
        runtime.send(&name(agent), say(1)).await.unwrap();
    }
    probe.wait_for(3).await;
    let mut stopping = bus.stop_consumers();
    let early = tokio::time::timeout(Duration::from_millis(200), &mut stopping).await;
    assert!(early.is_err(), "agents still work");
    probe.release(10);
    stopping.await;
    for agent in agents {
        runtime.send(&name(agent), say(2)).await.unwrap();
        eventually("it to wait", async || waiting(&bus, agent).await == 1).await;
    }
    assert_eq!(probe.numbers(), [1; 3]);
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x27_messages_wait_for_their_agent);
/// X27: messages sent before the agent starts are handled in order, in memory
/// and on a broker.
async fn x27_messages_wait_for_their_agent(backend: &Backend) {
    let bus = backend.bus().await;
    let runtime = AgentRuntime::builder(Arc::clone(&bus)).start().await.unwrap();
    for number in 1..=3 {
        runtime.send(&name("late"), say(number)).await.unwrap();
    }
    eventually("all to wait", async || waiting(&bus, "late").await == 3).await;
    let late = Probe::silent();
    runtime.start(spec("late"), late.clone()).await.unwrap();
    late.wait_for(3).await;
    assert_eq!(late.numbers(), [1, 2, 3]);
    runtime.shutdown().await.unwrap();
    assert_eq!(waiting(&bus, "late").await, 0);
}
