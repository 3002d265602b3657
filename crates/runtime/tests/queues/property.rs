//! After any sequence of operations, each published message is either handled
//! or a dead letter, exactly once, and a stop returns only when the messages in
//! progress are done.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use ostler_bus::Envelope;
use ostler_domain::queue_agent::failure::{
    FailureClass, RecoveryPolicy, RecoveryStrategy as Recover,
};
use ostler_runtime::agents::{
    AgentContext, AgentError, AgentReply, AgentRuntime, AgentSpec, QueueAgent,
};
use proptest::prelude::*;

use crate::kit::{
    Backend, MessageCounts, once_each, run_property, settled_counts, wait_until_all_settled,
};
use crate::support::{fails, name, number, say, strict, team};

const AGENTS: [&str; 3] = ["p", "q", "r"];

#[derive(Debug, Clone)]
enum Step {
    Start { agent: usize, concurrency: u16, in_team: bool },
    Stop { agent: usize, wait: bool },
    StopTeam,
    Publish { agent: usize, fate: u64 },
    ToTeam { fate: u64 },
    Pause,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let start = (0usize..3, 1u16..4, any::<bool>())
        .prop_map(|(agent, concurrency, in_team)| Step::Start { agent, concurrency, in_team });
    let stop = (0usize..3, any::<bool>()).prop_map(|(agent, wait)| Step::Stop { agent, wait });
    let publish = (0usize..3, 0u64..6).prop_map(|(agent, fate)| Step::Publish { agent, fate });
    let step = prop_oneof![
        4 => start,
        3 => stop,
        1 => Just(Step::StopTeam),
        12 => publish,
        4 => (0u64..6).prop_map(|fate| Step::ToTeam { fate }),
        2 => Just(Step::Pause),
    ];
    prop::collection::vec(step, 1..50)
}

/// Handles, fails, panics or succeeds at the second attempt, depending on the
/// message.
#[derive(Clone)]
struct Fateful {
    handled: MessageCounts,
    tries: MessageCounts,
    in_work: Arc<[AtomicI32; 3]>,
    index: usize,
}

impl QueueAgent for Fateful {
    async fn process(
        &self,
        _context: &AgentContext,
        envelope: &Arc<Envelope>,
    ) -> Result<Option<AgentReply>, AgentError> {
        // A team leader also gets idle notices.
        if envelope.message.kind.as_str() != "say" {
            return Ok(None);
        }
        let id = envelope.message.id;
        self.in_work[self.index].fetch_add(1, Ordering::SeqCst);
        tokio::task::yield_now().await;
        self.in_work[self.index].fetch_sub(1, Ordering::SeqCst);
        let first = {
            let mut tries = self.tries.lock().unwrap();
            let tries = tries.entry(id).or_default();
            *tries += 1;
            *tries == 1
        };
        match number(envelope) {
            3 => return fails(FailureClass::Data),
            4 if first => return fails(FailureClass::Timeout),
            5 => panic!("as the test wants it"),
            _ => {}
        }
        *self.handled.lock().unwrap().entry(id).or_default() += 1;
        Ok(None)
    }
}

struct World {
    runtime: AgentRuntime,
    agent: Fateful,
    stops: Vec<tokio::task::JoinHandle<()>>,
}

impl World {
    fn in_progress(&self, index: usize) -> i32 {
        self.agent.in_work[index].load(Ordering::SeqCst)
    }

    async fn start(&self, index: usize, concurrency: u16, in_team: bool) {
        let recovery = strict("x").recovery;
        let once = vec![Recover::ImmediateRetry { retries: 1 }];
        let recovery: RecoveryPolicy = recovery.with(FailureClass::Timeout, once);
        let spec = strict(AGENTS[index]).concurrency(concurrency).share_team_work();
        let spec = AgentSpec { recovery, ..spec };
        let agent = Fateful { index, ..self.agent.clone() };
        let _running_already = if in_team {
            self.runtime.start_in_team(&team("crew"), spec, agent).await
        } else {
            self.runtime.start(spec, agent).await
        };
    }

    async fn step(&mut self, step: &Step) -> Option<Envelope> {
        match *step {
            Step::Start { agent, concurrency, in_team } => {
                self.start(agent, concurrency, in_team).await;
            }
            Step::Stop { agent, wait: true } => {
                self.runtime.stop(&name(AGENTS[agent])).await.unwrap();
                assert_eq!(self.in_progress(agent), 0, "the stop came back too early");
            }
            Step::Stop { agent, wait: false } => {
                let runtime = self.runtime.clone();
                self.stops.push(tokio::spawn(async move {
                    runtime.stop(&name(AGENTS[agent])).await.unwrap();
                }));
            }
            Step::StopTeam => {
                self.runtime.stop_team(&team("crew")).await.unwrap();
            }
            Step::Publish { agent, fate } => {
                let message = say(fate);
                self.runtime.send(&name(AGENTS[agent]), message.clone()).await.unwrap();
                return Some(message);
            }
            Step::ToTeam { fate } => {
                let message = say(fate);
                self.runtime.send_to_team(&team("crew"), message.clone()).await.unwrap();
                return Some(message);
            }
            Step::Pause => tokio::task::yield_now().await,
        }
        None
    }
}

async fn run(backend: &Backend, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let bus = backend.bus().await;
    let runtime = AgentRuntime::builder(Arc::clone(&bus)).start().await.unwrap();
    let agent = Fateful {
        handled: MessageCounts::default(),
        tries: MessageCounts::default(),
        in_work: Arc::default(),
        index: 0,
    };
    let mut world = World { runtime, agent, stops: Vec::new() };
    let mut published = Vec::new();
    for step in &steps {
        published.extend(world.step(step).await.map(|message| message.message.id));
    }
    for stop in std::mem::take(&mut world.stops) {
        stop.await.unwrap();
    }
    for (index, agent) in AGENTS.iter().enumerate() {
        world.runtime.stop(&name(agent)).await.unwrap();
        world.start(index, 1, true).await;
    }
    wait_until_all_settled(&bus, &world.agent.handled, &published).await;
    world.runtime.shutdown().await.unwrap();
    prop_assert!((0..3).all(|index| world.in_progress(index) == 0), "a handler outlived the stop");
    // A broker needs a moment to requeue dead letters that were listed.
    wait_until_all_settled(&bus, &world.agent.handled, &published).await;
    prop_assert_eq!(settled_counts(&bus, &world.agent.handled).await, once_each(&published));
    bus.close().await;
    Ok(())
}

/// X10, X15, X66: in memory.
#[test]
fn every_message_is_settled_once_in_memory() {
    run_property(&Backend::Memory, 200, &steps(), &run);
}

/// X10, X15, X66: on RabbitMQ.
#[test]
fn every_message_is_settled_once_on_rabbitmq() {
    run_property(&Backend::rabbitmq(), 10, &steps(), &run);
}
