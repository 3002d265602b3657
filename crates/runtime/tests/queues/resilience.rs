//! Failing agents: left alone, kept apart, recovered from.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ostler_bus::Envelope;
use ostler_domain::dispatch::breaker::{BreakerPolicy, BreakerState};
use ostler_domain::dispatch::failure::{FailureClass, RecoveryPolicy, Strategy};
use ostler_domain::dispatch::priority::Priority;
use ostler_domain::retry::RetryPolicy;
use ostler_runtime::queue::{
    Agent, AgentContext, AgentError, AgentRuntime, Condition, Reply, Spec,
};
use serde_json::json;

use crate::kit::{Backend, LONG, dead, eventually, on_every_bus};
use crate::trace;
use crate::world::{Probe, ask, fails, name, number, said, say, spec, strict};

async fn breaker(runtime: &AgentRuntime, agent: &str) -> BreakerState {
    let status = runtime.status().await.unwrap();
    status.agents.into_iter().find(|one| one.name == name(agent)).unwrap().breaker
}

on_every_bus!(x48_a_failing_agent_is_left_alone);
/// X48: after the threshold nothing is dispatched; after the cooldown one
/// message tries; a failure reopens, a success closes. Meanwhile the agent
/// counts as away.
async fn x48_a_failing_agent_is_left_alone(backend: &Backend) {
    let runtime = backend.runtime().await;
    let agent = Probe::answering(|envelope| match number(envelope) {
        0..4 => fails(FailureClass::External),
        other => said(other),
    });
    let policy = BreakerPolicy { threshold: 3, cooldown: Duration::from_millis(400) };
    let spec = Spec { breaker: policy, ..strict("weak").at_once(2).able_to("lift") };
    runtime.start(spec, agent.clone()).await.unwrap();
    for number in 0..3 {
        runtime.send(&name("weak"), say(number)).await.unwrap();
    }
    dead(runtime.bus(), 3).await;
    assert!(matches!(breaker(&runtime, "weak").await, BreakerState::Open { .. }));
    assert!(runtime.able(&"lift".into()).await.is_err());
    assert_eq!(runtime.status().await.unwrap().condition, Condition::Degraded);
    let opened = std::time::Instant::now();
    runtime.send(&name("weak"), say(3)).await.unwrap();
    dead(runtime.bus(), 4).await;
    assert!(opened.elapsed() >= Duration::from_millis(200), "{:?}", opened.elapsed());
    assert_eq!(agent.numbers().len(), 4);
    assert_eq!(ask(&runtime, "weak", 5).await.message.payload["n"], 5);
    assert_eq!(breaker(&runtime, "weak").await, BreakerState::Closed { failures: 0 });
    eventually("it to be there", async || runtime.able(&"lift".into()).await.is_ok()).await;
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x48_a_stop_does_not_wait_for_the_cooldown);
/// X48: what waits for a breaker goes back to the queue when the agent stops.
async fn x48_a_stop_does_not_wait_for_the_cooldown(backend: &Backend) {
    let runtime = backend.runtime().await;
    let policy = BreakerPolicy { threshold: 1, cooldown: Duration::from_secs(3600) };
    let agent = Probe::answering(|_| fails(FailureClass::External));
    runtime.start(Spec { breaker: policy, ..strict("weak") }, agent.clone()).await.unwrap();
    runtime.send(&name("weak"), say(0)).await.unwrap();
    dead(runtime.bus(), 1).await;
    runtime.send(&name("weak"), say(1)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    tokio::time::timeout(LONG, runtime.shutdown()).await.unwrap().unwrap();
    let waiting = async || crate::world::waiting(runtime.bus(), "weak").await == 1;
    eventually("the message to wait again", waiting).await;
    assert_eq!(agent.numbers(), [0]);
}

on_every_bus!(x49_a_blocked_agent_blocks_nobody_else);
/// X49: A is blocked for the whole test; B handles 1,000 of 1,000, and its
/// breaker stays closed.
async fn x49_a_blocked_agent_blocks_nobody_else(backend: &Backend) {
    let runtime = backend.runtime().await;
    let (blocked, free) = (Probe::quiet().gated(), Probe::quiet());
    runtime.start(spec("a"), blocked.clone()).await.unwrap();
    runtime.start(spec("b").at_once(4), free.clone()).await.unwrap();
    for number in 0..20 {
        runtime.send(&name("a"), say(number)).await.unwrap();
    }
    blocked.until(1).await;
    let free_one = name("b");
    let publishing = (0..1000).map(|number| runtime.send(&free_one, say(number)));
    for published in futures_util::future::join_all(publishing).await {
        published.unwrap();
    }
    free.until(1000).await;
    assert_eq!(breaker(&runtime, "b").await, BreakerState::Closed { failures: 0 });
    assert_eq!((blocked.seen().len(), free.seen().len()), (1, 1000));
    blocked.let_pass(100);
    runtime.shutdown().await.unwrap();
}

/// Fails so many times with a class, then works; has something prepared.
struct Shaky {
    fails: AtomicU64,
    class: FailureClass,
}

impl Agent for Shaky {
    async fn process(
        &self,
        _context: &AgentContext,
        envelope: &Arc<Envelope>,
    ) -> Result<Option<Reply>, AgentError> {
        let left =
            self.fails.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if left.is_ok() { fails(self.class) } else { said(number(envelope)) }
    }

    fn fallback(&self, _envelope: &Envelope) -> Option<Reply> {
        Some(Reply::new("said", json!({ "n": 99 })))
    }
}

on_every_bus!(x50_each_strategy_recovers);
/// X50: each strategy can be chosen for a class; its steps are in the trace.
async fn x50_each_strategy_recovers(backend: &Backend) {
    trace::keep();
    let delayed = RetryPolicy {
        attempts: 3,
        first_wait: Duration::from_millis(1),
        ..RetryPolicy::DEAD_LETTER
    };
    let table = [
        (Strategy::ImmediateRetry { retries: 2 }, 2, 1, "RetryNow", 2),
        (Strategy::DelayedRetry(delayed), 2, 1, "RetryAfter", 2),
        (Strategy::AlternativePath, 1, 55, "Reroute", 1),
        (Strategy::Fallback, 1, 99, "Fallback", 1),
    ];
    for (class, (strategy, failures, expected, step, steps)) in
        FailureClass::ALL.into_iter().zip(table.into_iter().cycle())
    {
        let runtime = backend.runtime().await;
        let recovery = RecoveryPolicy::default().with(class, vec![strategy]);
        let shaky = Shaky { fails: AtomicU64::new(failures), class };
        let spec = Spec { recovery, ..spec("shaky").able_to("add") };
        runtime.start(spec, shaky).await.unwrap();
        let helper = Probe::answering(|_| said(55));
        runtime.start(crate::world::spec("helper").able_to("add"), helper).await.unwrap();
        let message = say(1);
        let id = message.message.id.to_string();
        let reply = runtime.ask(&name("shaky"), message, LONG).await.unwrap();
        assert_eq!(number(&reply), expected, "{class} {strategy:?}");
        let lines = trace::lines(&[&id, &format!("class={class}"), step]);
        assert_eq!(lines.len(), steps, "{class} {strategy:?}");
        runtime.shutdown().await.unwrap();
    }
}

on_every_bus!(x50_a_message_is_passed_on_once);
/// X50: where every agent fails, the message goes to one other and is then a
/// dead letter, not a ball.
async fn x50_a_message_is_passed_on_once(backend: &Backend) {
    let runtime = backend.runtime().await;
    let agents: Vec<Probe> =
        (0..3).map(|_| Probe::answering(|_| fails(FailureClass::Application))).collect();
    for (index, agent) in agents.iter().enumerate() {
        let spec = spec(&format!("a{index}")).able_to("add");
        runtime.start(spec, agent.clone()).await.unwrap();
    }
    runtime.send(&name("a0"), say(1)).await.unwrap();
    let letters = dead(runtime.bus(), 1).await;
    runtime.shutdown().await.unwrap();
    assert_eq!(letters[0].death.queue.as_str(), "agent.a1");
    let seen: Vec<_> = agents.iter().map(|agent| agent.seen().len()).collect();
    assert_eq!(seen, [1, 1, 0]);
    assert_eq!(agents[0].seen()[0].message.id, agents[1].seen()[0].message.id);
}

on_every_bus!(x57_work_goes_to_whoever_has_least_to_do);
/// X57: the least loaded agent that is there gets it, by places, whatever the
/// case of the capability; who stopped is skipped.
async fn x57_work_goes_to_whoever_has_least_to_do(backend: &Backend) {
    let runtime = backend.runtime().await;
    let probes: Vec<Probe> = (0..3).map(|_| Probe::quiet().gated()).collect();
    for (who, probe) in ["a", "b", "c"].iter().zip(&probes) {
        runtime.start(spec(who).able_to("Code-Review"), probe.clone()).await.unwrap();
    }
    runtime.stop(&name("c")).await.unwrap();
    let work = "code-review".into();
    for (count, expected, index) in [(1, "a", 0), (2, "b", 1), (3, "a", 0)] {
        let chosen = runtime.send_to_able(&work, say(count)).await.unwrap();
        assert_eq!(chosen, name(expected), "message {count}");
        probes[index].until(1).await;
    }
    probes.iter().for_each(|probe| probe.let_pass(100));
    runtime.shutdown().await.unwrap();
    assert_eq!(probes[2].seen().len(), 0);
}

on_every_bus!(x58_the_most_pressing_message_is_next);
/// X58: critical before low, and the nearest deadline first among equals.
async fn x58_the_most_pressing_message_is_next(backend: &Backend) {
    let runtime = backend.runtime().await;
    let worker = Probe::quiet().gated();
    runtime.start(spec("worker"), worker.clone()).await.unwrap();
    runtime.send(&name("worker"), say(0)).await.unwrap();
    worker.until(1).await;
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
    // The broker has handed out what it does ahead.
    tokio::time::sleep(Duration::from_millis(300)).await;
    worker.let_pass(100);
    worker.until(5).await;
    runtime.shutdown().await.unwrap();
    assert_eq!(worker.numbers(), [0, 3, 2, 4, 1]);
}

on_every_bus!(x60_the_rest_goes_on_when_some_are_down);
/// X60: with agents down, what the others can do still works, and the status
/// says what is missing.
async fn x60_the_rest_goes_on_when_some_are_down(backend: &Backend) {
    let runtime = backend.runtime().await;
    let echo = || Probe::answering(|envelope| said(number(envelope)));
    for (who, capability) in [("a", "add"), ("b", "add"), ("c", "cook")] {
        runtime.start(spec(who).able_to(capability), echo()).await.unwrap();
    }
    assert_eq!(runtime.status().await.unwrap().condition, Condition::Whole);
    runtime.stop(&name("a")).await.unwrap();
    runtime.stop(&name("c")).await.unwrap();
    let status = runtime.status().await.unwrap();
    assert_eq!(status.condition, Condition::Degraded);
    let coverage: Vec<(String, u64, u64)> = status
        .coverage
        .into_iter()
        .map(|one| (one.capability.into(), one.there, one.away))
        .collect();
    assert_eq!(coverage, [("add".to_owned(), 1, 1), ("cook".to_owned(), 0, 1)]);
    let reply = runtime.ask_able(&"add".into(), say(4), LONG).await.unwrap();
    assert_eq!((number(&reply), reply.context.from_agent.clone()), (4, Some(name("b"))));
    assert!(runtime.ask_able(&"cook".into(), say(5), LONG).await.is_err());
    runtime.shutdown().await.unwrap();
}
