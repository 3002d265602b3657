//! Failing agents: circuit breaker, isolation and recovery.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ostler_bus::Envelope;
use ostler_domain::queue_agent::breaker::{BreakerPolicy, BreakerState};
use ostler_domain::queue_agent::failure::{FailureClass, RecoveryPolicy, RecoveryStrategy};
use ostler_domain::queue_agent::priority::Priority;
use ostler_domain::retry::RetryPolicy;
use ostler_runtime::agents::{
    AgentContext, AgentError, AgentHealth, AgentReply, AgentRuntime, AgentSpec, QueueAgent,
};
use serde_json::json;

use crate::kit::{Backend, TEST_TIMEOUT, eventually, on_every_bus, wait_for_dead_letters};
use crate::support::{Probe, ask, fails, name, number, said, say, spec, strict};
use crate::trace;

async fn breaker(runtime: &AgentRuntime, agent: &str) -> BreakerState {
    let status = runtime.status().await.unwrap();
    status.agents.into_iter().find(|one| one.name == name(agent)).unwrap().breaker
}

on_every_bus!(x48_the_circuit_breaker_pauses_a_failing_agent);
/// X48: after the threshold nothing is dispatched; after the cooldown one
/// message is tried; a failure reopens the breaker, a success closes it.
/// Meanwhile the agent is unavailable.
async fn x48_the_circuit_breaker_pauses_a_failing_agent(backend: &Backend) {
    let runtime = backend.runtime().await;
    let agent = Probe::answering(|envelope| match number(envelope) {
        0..4 => fails(FailureClass::External),
        other => said(other),
    });
    let policy = BreakerPolicy { threshold: 3, cooldown: Duration::from_millis(400) };
    let spec =
        AgentSpec { breaker: policy, ..strict("weak").concurrency(2).with_capability("lift") };
    runtime.start(spec, agent.clone()).await.unwrap();
    for number in 0..3 {
        runtime.send(&name("weak"), say(number)).await.unwrap();
    }
    wait_for_dead_letters(runtime.bus(), 3).await;
    assert!(matches!(breaker(&runtime, "weak").await, BreakerState::Open { .. }));
    assert!(runtime.find_capable(&"lift".into()).await.is_err());
    assert_eq!(runtime.status().await.unwrap().condition, AgentHealth::Degraded);
    let opened = std::time::Instant::now();
    runtime.send(&name("weak"), say(3)).await.unwrap();
    wait_for_dead_letters(runtime.bus(), 4).await;
    assert!(opened.elapsed() >= Duration::from_millis(200), "{:?}", opened.elapsed());
    assert_eq!(agent.numbers().len(), 4);
    assert_eq!(ask(&runtime, "weak", 5).await.message.payload["n"], 5);
    assert_eq!(breaker(&runtime, "weak").await, BreakerState::Closed { failures: 0 });
    eventually("it to be there", async || runtime.find_capable(&"lift".into()).await.is_ok()).await;
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x48_stopping_requeues_messages_that_wait_for_the_breaker);
/// X48: without waiting for the cooldown.
async fn x48_stopping_requeues_messages_that_wait_for_the_breaker(backend: &Backend) {
    let runtime = backend.runtime().await;
    let policy = BreakerPolicy { threshold: 1, cooldown: Duration::from_secs(3600) };
    let agent = Probe::answering(|_| fails(FailureClass::External));
    runtime.start(AgentSpec { breaker: policy, ..strict("weak") }, agent.clone()).await.unwrap();
    runtime.send(&name("weak"), say(0)).await.unwrap();
    wait_for_dead_letters(runtime.bus(), 1).await;
    runtime.send(&name("weak"), say(1)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    tokio::time::timeout(TEST_TIMEOUT, runtime.shutdown()).await.unwrap().unwrap();
    let waiting = async || crate::support::waiting(runtime.bus(), "weak").await == 1;
    eventually("the message to wait again", waiting).await;
    assert_eq!(agent.numbers(), [0]);
}

on_every_bus!(x49_a_blocked_agent_does_not_block_others);
/// X49: A is blocked during the whole test; B handles 1,000 of 1,000 messages,
/// and its breaker stays closed.
async fn x49_a_blocked_agent_does_not_block_others(backend: &Backend) {
    let runtime = backend.runtime().await;
    let (blocked, free) = (Probe::silent().gated(), Probe::silent());
    runtime.start(spec("a"), blocked.clone()).await.unwrap();
    runtime.start(spec("b").concurrency(4), free.clone()).await.unwrap();
    for number in 0..20 {
        runtime.send(&name("a"), say(number)).await.unwrap();
    }
    blocked.wait_for(1).await;
    let free_one = name("b");
    let publishing = (0..1000).map(|number| runtime.send(&free_one, say(number)));
    for published in futures_util::future::join_all(publishing).await {
        published.unwrap();
    }
    free.wait_for(1000).await;
    assert_eq!(breaker(&runtime, "b").await, BreakerState::Closed { failures: 0 });
    assert_eq!((blocked.seen().len(), free.seen().len()), (1, 1000));
    blocked.release(100);
    runtime.shutdown().await.unwrap();
}

/// Fails a number of times with a class, then succeeds; has a fallback reply.
struct Shaky {
    fails: AtomicU64,
    class: FailureClass,
}

impl QueueAgent for Shaky {
    async fn process(
        &self,
        _context: &AgentContext,
        envelope: &Arc<Envelope>,
    ) -> Result<Option<AgentReply>, AgentError> {
        let left =
            self.fails.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if left.is_ok() { fails(self.class) } else { said(number(envelope)) }
    }

    fn fallback(&self, _envelope: &Envelope) -> Option<AgentReply> {
        Some(AgentReply::new("said", json!({ "n": 99 })))
    }
}

on_every_bus!(x50_each_strategy_recovers);
/// X50: each strategy can be configured for a class; its steps are logged.
async fn x50_each_strategy_recovers(backend: &Backend) {
    trace::keep();
    let delayed = RetryPolicy {
        max_attempts: 3,
        initial_wait: Duration::from_millis(1),
        ..RetryPolicy::DEAD_LETTER
    };
    let table = [
        (RecoveryStrategy::ImmediateRetry { retries: 2 }, 2, 1, "RetryNow", 2),
        (RecoveryStrategy::DelayedRetry(delayed), 2, 1, "RetryAfter", 2),
        (RecoveryStrategy::AlternativePath, 1, 55, "Reroute", 1),
        (RecoveryStrategy::Fallback, 1, 99, "Fallback", 1),
    ];
    for (class, (strategy, failures, expected, step, steps)) in
        FailureClass::ALL.into_iter().zip(table.into_iter().cycle())
    {
        let runtime = backend.runtime().await;
        let recovery = RecoveryPolicy::default().with(class, vec![strategy]);
        let shaky = Shaky { fails: AtomicU64::new(failures), class };
        let spec = AgentSpec { recovery, ..spec("shaky").with_capability("add") };
        runtime.start(spec, shaky).await.unwrap();
        let helper = Probe::answering(|_| said(55));
        runtime.start(crate::support::spec("helper").with_capability("add"), helper).await.unwrap();
        let message = say(1);
        let id = message.message.id.to_string();
        let reply = runtime.ask(&name("shaky"), message, TEST_TIMEOUT).await.unwrap();
        assert_eq!(number(&reply), expected, "{class} {strategy:?}");
        let lines = trace::lines(&[&id, &format!("class={class}"), step]);
        assert_eq!(lines.len(), steps, "{class} {strategy:?}");
        runtime.shutdown().await.unwrap();
    }
}

on_every_bus!(x50_a_message_is_forwarded_once);
/// X50: if every agent fails, the message is forwarded to one other and then
/// becomes a dead letter.
async fn x50_a_message_is_forwarded_once(backend: &Backend) {
    let runtime = backend.runtime().await;
    let agents: Vec<Probe> =
        (0..3).map(|_| Probe::answering(|_| fails(FailureClass::Application))).collect();
    for (index, agent) in agents.iter().enumerate() {
        let spec = spec(&format!("a{index}")).with_capability("add");
        runtime.start(spec, agent.clone()).await.unwrap();
    }
    runtime.send(&name("a0"), say(1)).await.unwrap();
    let dead_letters = wait_for_dead_letters(runtime.bus(), 1).await;
    runtime.shutdown().await.unwrap();
    assert_eq!(dead_letters[0].cause.queue.as_str(), "agent.a1");
    let seen: Vec<_> = agents.iter().map(|agent| agent.seen().len()).collect();
    assert_eq!(seen, [1, 1, 0]);
    assert_eq!(agents[0].seen()[0].message.id, agents[1].seen()[0].message.id);
}

on_every_bus!(x57_work_goes_to_the_least_loaded_agent);
/// X57: load is relative to concurrency, the case of the capability is ignored,
/// and stopped agents are skipped.
async fn x57_work_goes_to_the_least_loaded_agent(backend: &Backend) {
    let runtime = backend.runtime().await;
    let probes: Vec<Probe> = (0..3).map(|_| Probe::silent().gated()).collect();
    for (who, probe) in ["a", "b", "c"].iter().zip(&probes) {
        runtime.start(spec(who).with_capability("Code-Review"), probe.clone()).await.unwrap();
    }
    runtime.stop(&name("c")).await.unwrap();
    let work = "code-review".into();
    for (count, expected, index) in [(1, "a", 0), (2, "b", 1), (3, "a", 0)] {
        let chosen = runtime.send_by_capability(&work, say(count)).await.unwrap();
        assert_eq!(chosen, name(expected), "message {count}");
        probes[index].wait_for(1).await;
    }
    probes.iter().for_each(|probe| probe.release(100));
    runtime.shutdown().await.unwrap();
    assert_eq!(probes[2].seen().len(), 0);
}

on_every_bus!(x58_the_most_urgent_message_is_next);
/// X58: critical before low, and the earliest deadline first within a class.
async fn x58_the_most_urgent_message_is_next(backend: &Backend) {
    let runtime = backend.runtime().await;
    let worker = Probe::silent().gated();
    runtime.start(spec("worker"), worker.clone()).await.unwrap();
    runtime.send(&name("worker"), say(0)).await.unwrap();
    worker.wait_for(1).await;
    let soon = ostler_bus::now() + Duration::from_secs(60);
    let later = ostler_bus::now() + Duration::from_secs(600);
    let urgent =
        |number, priority, sla_deadline| Envelope { priority, sla_deadline, ..say(number) };
    for message in [
        urgent(1, Priority::Low, None),
        urgent(2, Priority::Critical, Some(later)),
        urgent(3, Priority::Critical, Some(soon)),
        urgent(4, Priority::High, None),
    ] {
        runtime.send(&name("worker"), message).await.unwrap();
    }
    // The broker has handed out the prefetched messages.
    tokio::time::sleep(Duration::from_millis(300)).await;
    worker.release(100);
    worker.wait_for(5).await;
    runtime.shutdown().await.unwrap();
    assert_eq!(worker.numbers(), [0, 3, 2, 4, 1]);
}

on_every_bus!(x60_available_agents_continue_when_others_are_down);
/// X60: the status shows what is missing.
async fn x60_available_agents_continue_when_others_are_down(backend: &Backend) {
    let runtime = backend.runtime().await;
    let echo = || Probe::answering(|envelope| said(number(envelope)));
    for (who, capability) in [("a", "add"), ("b", "add"), ("c", "cook")] {
        runtime.start(spec(who).with_capability(capability), echo()).await.unwrap();
    }
    assert_eq!(runtime.status().await.unwrap().condition, AgentHealth::Healthy);
    runtime.stop(&name("a")).await.unwrap();
    runtime.stop(&name("c")).await.unwrap();
    let status = runtime.status().await.unwrap();
    assert_eq!(status.condition, AgentHealth::Degraded);
    let coverage: Vec<(String, u64, u64)> = status
        .coverage
        .into_iter()
        .map(|one| (one.capability.into(), one.available, one.unavailable))
        .collect();
    assert_eq!(coverage, [("add".to_owned(), 1, 1), ("cook".to_owned(), 0, 1)]);
    let reply = runtime.ask_by_capability(&"add".into(), say(4), TEST_TIMEOUT).await.unwrap();
    assert_eq!((number(&reply), reply.context.from_agent.clone()), (4, Some(name("b"))));
    assert!(runtime.ask_by_capability(&"cook".into(), say(5), TEST_TIMEOUT).await.is_err());
    runtime.shutdown().await.unwrap();
}
