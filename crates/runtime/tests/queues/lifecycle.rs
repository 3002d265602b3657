//! Starting and stopping agents.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use ostler_bus::QueueName;
use ostler_domain::queue_agent::name::AgentName;
use ostler_domain::queue_agent::team_lifecycle::TeamStatus;
use ostler_runtime::agents::{
    AgentError, AgentReply, AgentRuntime, EchoAgent, QueueError, agent_fn,
};

use crate::kit::{Backend, TEST_TIMEOUT, eventually, on_every_bus, wait_for_dead_letters};
use crate::support::{Probe, ask, name, said, say, spec, team, waiting};

async fn is_available(runtime: &AgentRuntime, agent: &str) -> bool {
    let record = runtime.registry().get(&name(agent)).await.unwrap();
    record.is_some_and(|record| record.is_available(ostler_bus::now()))
}

on_every_bus!(x01_x02_x06_a_started_agent_consumes_its_queue);
/// X01, X02, X06: the agent gets exactly what is published to `agent.{id}`, and
/// the registry lists it.
async fn x01_x02_x06_a_started_agent_consumes_its_queue(backend: &Backend) {
    let runtime = backend.runtime().await;
    let queue: QueueName = "agent.worker".parse().unwrap();
    let message = Arc::new(say(1));
    runtime.bus().publish(&queue, Arc::clone(&message)).await.unwrap();
    let probe = Probe::silent();
    assert_eq!(runtime.start(spec("worker"), probe.clone()).await.unwrap(), name("worker"));
    assert!(is_available(&runtime, "worker").await);
    assert_eq!(*probe.wait_for(1).await[0], *message);
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x03_x04_x25_only_the_stopped_agent_stops);
/// X03, X04, X25: the other agent still receives; the stopped one is not found
/// by capability, its messages wait, and stopping twice is allowed.
async fn x03_x04_x25_only_the_stopped_agent_stops(backend: &Backend) {
    let runtime = backend.runtime().await;
    let (one, other) = (Probe::silent(), Probe::silent());
    runtime.start(spec("one").with_capability("Sew"), one.clone()).await.unwrap();
    runtime.start(spec("other"), other.clone()).await.unwrap();
    assert_eq!(runtime.find_capable(&"sew".into()).await.unwrap(), name("one"));
    let first = name("one");
    let (stopped, again) = tokio::join!(runtime.stop(&first), runtime.stop(&first));
    assert!(stopped.unwrap() || again.unwrap());
    assert!(!runtime.stop(&name("one")).await.unwrap());
    assert!(matches!(
        runtime.find_capable(&"sew".into()).await,
        Err(QueueError::NoAgentAvailable(_))
    ));
    runtime.send(&name("one"), say(1)).await.unwrap();
    runtime.send(&name("other"), say(2)).await.unwrap();
    other.wait_for(1).await;
    assert_eq!((one.numbers(), waiting(runtime.bus(), "one").await), (vec![], 1));
    assert_eq!(runtime.running(), [name("other")]);
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x05_a_stop_waits_for_messages_in_progress);
/// X05: a started message is finished and its reply sent before the stop
/// returns.
async fn x05_a_stop_waits_for_messages_in_progress(backend: &Backend) {
    let runtime = backend.runtime().await;
    let slow = Probe::answering(|_| said(1)).gated();
    let inbox = Probe::silent();
    runtime.start(spec("slow"), slow.clone()).await.unwrap();
    runtime.start(spec("inbox"), inbox.clone()).await.unwrap();
    let mut message = say(1);
    message.context.reply_to = Some("agent.inbox".parse().unwrap());
    runtime.send(&name("slow"), message).await.unwrap();
    slow.wait_for(1).await;
    let stopping = {
        let runtime = runtime.clone();
        tokio::spawn(async move { runtime.stop(&name("slow")).await })
    };
    eventually("the stop to begin", async || !is_available(&runtime, "slow").await).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!stopping.is_finished());
    slow.release(1);
    assert!(stopping.await.unwrap().unwrap());
    runtime.stop(&name("inbox")).await.unwrap();
    let left = waiting(runtime.bus(), "inbox").await as usize;
    assert_eq!(inbox.seen().len() + left, 1);
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x14_x15_x19_x30_a_runtime_starts_and_stops_all_its_agents);
/// X14, X15, X19, X30: agents started with the builder and later are listed
/// alike; after the shutdown none runs, and messages not started stay in the
/// queue.
async fn x14_x15_x19_x30_a_runtime_starts_and_stops_all_its_agents(backend: &Backend) {
    let slow = Probe::silent().gated();
    let builder =
        backend.builder().await.agent(spec("a"), EchoAgent).agent(spec("b"), slow.clone());
    let runtime = builder.start().await.unwrap();
    runtime.start(spec("c"), EchoAgent).await.unwrap();
    assert_eq!(runtime.running(), ["a", "b", "c"].map(name));
    for number in 0..5 {
        runtime.send(&name("b"), say(number)).await.unwrap();
    }
    slow.wait_for(1).await;
    let (ended, ()) = tokio::join!(runtime.shutdown(), async { slow.release(100) });
    ended.unwrap();
    assert_eq!(runtime.running(), Vec::<AgentName>::new());
    let done = slow.seen().len() as u64;
    eventually("the rest to wait", async || waiting(runtime.bus(), "b").await == 5 - done).await;
    assert!(matches!(runtime.start(spec("d"), EchoAgent).await, Err(QueueError::Stopped)));
}

on_every_bus!(x16_a_second_agent_of_the_same_name_is_refused);
/// X16: a start returns the name.
async fn x16_a_second_agent_of_the_same_name_is_refused(backend: &Backend) {
    crate::trace::keep();
    let runtime = backend.runtime().await;
    assert_eq!(runtime.start(spec("a"), EchoAgent).await.unwrap(), name("a"));
    let second = runtime.start(spec("a"), EchoAgent).await;
    assert!(matches!(second, Err(QueueError::AlreadyRunning(who)) if who == name("a")));
    assert_eq!(ask(&runtime, "a", 3).await.message.payload["n"], 3);
    let nobody = name(&ostler_bus::next_id().to_string());
    assert!(!runtime.stop(&nobody).await.unwrap());
    assert_eq!(crate::trace::lines(&["WARN", nobody.as_str()]).len(), 1);
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x17_x18_agents_of_a_team_are_stopped_together);
/// X17, X18: a stopped member is no longer listed, and stopping the team stops
/// its members only.
async fn x17_x18_agents_of_a_team_are_stopped_together(backend: &Backend) {
    let runtime = backend.runtime().await;
    let crew = team("crew");
    for member in ["lead", "a", "b"] {
        runtime.start_in_team(&crew, spec(member), EchoAgent).await.unwrap();
    }
    runtime.start(spec("alone"), EchoAgent).await.unwrap();
    assert_eq!(runtime.running_in(&crew), ["a", "b", "lead"].map(name));
    runtime.stop(&name("a")).await.unwrap();
    assert_eq!(runtime.running_in(&crew), ["b", "lead"].map(name));
    assert_eq!(runtime.running_in(&team("other")), Vec::<AgentName>::new());
    assert_eq!(runtime.stop_team(&crew).await.unwrap(), ["b", "lead"].map(name));
    assert_eq!(runtime.running(), [name("alone")]);
    assert_eq!(runtime.stop_team(&crew).await.unwrap(), Vec::<AgentName>::new());
    assert_eq!(runtime.stop_team(&team("other")).await.unwrap(), Vec::<AgentName>::new());
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x20_x21_an_agent_starts_and_stops_other_agents);
/// X20, X21: nothing of an ephemeral agent is left; a permanent one stays until
/// its team is dissolved.
async fn x20_x21_an_agent_starts_and_stops_other_agents(backend: &Backend) {
    let runtime = backend.runtime().await;
    let parent = agent_fn(|context, envelope| async move {
        let child = spec("child").ephemeral();
        let child = context.start(child, EchoAgent).await?;
        let answer = context.ask(&child, say(7), TEST_TIMEOUT).await?;
        context.runtime().stop(&child).await?;
        context.start_in_team(&team("crew"), spec("stays"), EchoAgent).await?;
        let _ = envelope;
        Ok::<_, AgentError>(Some(AgentReply::new("said", answer.message.payload.clone())))
    });
    runtime.start(spec("parent"), parent).await.unwrap();
    assert_eq!(ask(&runtime, "parent", 1).await.message.payload["n"], 7);
    assert_eq!(runtime.running(), ["parent", "stays"].map(name));
    assert!(runtime.registry().get(&name("child")).await.unwrap().is_none());
    let queue = ostler_bus::QueueName::agent(&name("child"));
    assert_eq!(runtime.bus().depth(&queue).await.unwrap(), ostler_bus::QueueDepth::default());
    assert_eq!(ask(&runtime, "stays", 2).await.message.payload["n"], 2);
    runtime.stop_team(&team("crew")).await.unwrap();
    assert_eq!(runtime.running(), [name("parent")]);
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x66_a_cancelled_start_leaves_nothing);
/// X66: no registration, consumer or membership is left, wherever the start is
/// cancelled.
async fn x66_a_cancelled_start_leaves_nothing(backend: &Backend) {
    let bus = backend.bus().await;
    let (brief, crew) = (name("brief"), team("crew"));
    let mut cancelled = 0;
    for polls in 0..6 {
        let runtime = AgentRuntime::builder(Arc::clone(&bus)).start().await.unwrap();
        let starting = runtime.start_in_team(&crew, spec("brief"), EchoAgent);
        let mut starting = Box::pin(starting);
        let mut started = false;
        for _ in 0..polls {
            started = started || starting.as_mut().now_or_never().is_some();
            tokio::task::yield_now().await;
        }
        drop(starting);
        // Waits for agents being started or undone.
        runtime.shutdown().await.unwrap();
        if started {
            continue;
        }
        cancelled += 1;
        eventually("the record to go", async || {
            runtime.registry().get(&brief).await.unwrap().is_none()
        })
        .await;
        let queue = QueueName::agent(&brief);
        assert_eq!(bus.depth(&queue).await.unwrap().consumers, 0);
        eventually("the team to be over", async || {
            let team = runtime.teams().get(&crew).await.unwrap();
            team.is_none_or(|team| team.status() == TeamStatus::Complete)
        })
        .await;
    }
    assert!(cancelled > 0);
}

on_every_bus!(x66_a_cancelled_stop_loses_nothing);
/// X66: a cancelled stop completes; messages in progress finish, the rest
/// waits, and all are handled in the end.
async fn x66_a_cancelled_stop_loses_nothing(backend: &Backend) {
    let runtime = backend.runtime().await;
    let slow = Probe::silent().gated();
    runtime.start(spec("slow"), slow.clone()).await.unwrap();
    for number in 0..3 {
        runtime.send(&name("slow"), say(number)).await.unwrap();
    }
    slow.wait_for(1).await;
    let who = name("slow");
    let stop = tokio::time::timeout(Duration::from_millis(20), runtime.stop(&who));
    assert!(stop.await.is_err());
    slow.release(100);
    eventually("the stop to end", async || runtime.running().is_empty()).await;
    runtime.start(spec("slow"), slow.clone()).await.unwrap();
    slow.wait_for(3).await;
    runtime.shutdown().await.unwrap();
    assert_eq!(slow.numbers(), [0, 1, 2]);
    assert_eq!(wait_for_dead_letters(runtime.bus(), 0).await, []);
}
