//! What reaches an agent: the message as it was sent, whenever the agent comes.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{Context, Envelope, now};
use ostler_domain::dispatch::authority::{Actions, Claim, Tier};
use ostler_domain::dispatch::priority::Priority;
use ostler_domain::id::EnvelopeId;
use ostler_runtime::queue::AgentRuntime;

use crate::kit::{Backend, LONG, eventually, on_every_bus};
use crate::world::{Probe, code, name, number, said, say, spec, team, waiting};

/// A message with something in every field.
fn full(number: u64) -> Envelope {
    let mut envelope = say(number);
    envelope.message.correlation_id = Some("c-1".into());
    envelope.claims = Arc::new([Claim {
        granted_by: name("boss"),
        granted_to: name("worker"),
        tier: Tier::JustDoIt,
        actions: Actions::Only(["say".into()].into()),
        granted_at: now(),
        expires_at: Some(now() + Duration::from_secs(3600)),
    }]);
    envelope.context = Context {
        parent_message: Some(EnvelopeId::from_u128(5)),
        original_goal: Some("ship it".into()),
        team: Some(team("crew")),
        channel: Some("webchat".into()),
        reply_to: Some("agent.boss".parse().unwrap()),
        from_agent: Some(name("boss")),
        to_agent: Some(name("worker")),
        passed_on_by: Some(name("tired")),
        root_reference: Some(code(1)),
    };
    envelope.priority = Priority::Critical;
    envelope.sla_deadline = Some(now() + Duration::from_secs(60));
    envelope
}

on_every_bus!(x11_x13_an_agent_gets_the_message_as_it_was_sent);
/// X11, X13: the message with its code, claims, context, class and deadline
/// reaches the agent as it was sent, and so does one without any of it.
async fn x11_x13_an_agent_gets_the_message_as_it_was_sent(backend: &Backend) {
    let runtime = backend.runtime().await;
    let worker = Probe::quiet();
    runtime.start(spec("worker"), worker.clone()).await.unwrap();
    let sent = [say(1), full(2)].map(Arc::new);
    for envelope in &sent {
        runtime.send(&name("worker"), (**envelope).clone()).await.unwrap();
    }
    let mut seen = worker.until(2).await;
    seen.sort_by_key(|envelope| number(envelope));
    assert_eq!(seen, sent);
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x11_a_reply_says_where_it_comes_from);
/// X11: a reply names its parent and who gives it, and keeps goal, team and
/// channel of what it answers.
async fn x11_a_reply_says_where_it_comes_from(backend: &Backend) {
    let runtime = backend.runtime().await;
    runtime.start(spec("worker"), Probe::answering(|_| said(2))).await.unwrap();
    let question = full(1);
    let reply = runtime.ask(&name("worker"), question.clone(), LONG).await.unwrap();
    let Context { original_goal, team, channel, root_reference, .. } = question.context;
    let expected = Context {
        parent_message: Some(question.message.id),
        from_agent: Some(name("worker")),
        original_goal,
        team,
        channel,
        root_reference,
        ..Context::default()
    };
    assert_eq!(reply.context, expected);
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x26_stop_all_on_the_bus_stops_every_agent);
/// X26: no agent takes anything more once all consumers were stopped, which
/// returns when what they had in work is done; what comes later waits.
async fn x26_stop_all_on_the_bus_stops_every_agent(backend: &Backend) {
    let bus = backend.bus().await;
    let runtime = AgentRuntime::builder(Arc::clone(&bus)).start().await.unwrap();
    let agents = ["a", "b", "c"];
    let probe = Probe::quiet().gated();
    for agent in agents {
        runtime.start(spec(agent), probe.clone()).await.unwrap();
        runtime.send(&name(agent), say(1)).await.unwrap();
    }
    probe.until(3).await;
    let mut stopping = bus.stop_all();
    let early = tokio::time::timeout(Duration::from_millis(200), &mut stopping).await;
    assert!(early.is_err(), "agents still work");
    probe.let_pass(10);
    stopping.await;
    for agent in agents {
        runtime.send(&name(agent), say(2)).await.unwrap();
        eventually("it to wait", async || waiting(&bus, agent).await == 1).await;
    }
    assert_eq!(probe.numbers(), [1; 3]);
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x27_messages_wait_for_their_agent);
/// X27: what is sent before its agent is there waits, in memory as on a broker,
/// and is handled in order once the agent is started. In memory nothing else is
/// needed for that, as for any other test here.
async fn x27_messages_wait_for_their_agent(backend: &Backend) {
    let bus = backend.bus().await;
    let runtime = AgentRuntime::builder(Arc::clone(&bus)).start().await.unwrap();
    for number in 1..=3 {
        runtime.send(&name("late"), say(number)).await.unwrap();
    }
    eventually("all to wait", async || waiting(&bus, "late").await == 3).await;
    let late = Probe::quiet();
    runtime.start(spec("late"), late.clone()).await.unwrap();
    late.until(3).await;
    assert_eq!(late.numbers(), [1, 2, 3]);
    runtime.shutdown().await.unwrap();
    assert_eq!(waiting(&bus, "late").await, 0);
}
