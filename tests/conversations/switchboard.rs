//! The switchboard: conversations of a process connected to the buses of an
//! installation, and what happens without them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{Envelope, MemoryBus, MessageBus, QueueName, RabbitOptions, Trunk};
use ostler_channels::{Channels, Limits, Reach};
use ostler_domain::dispatch::name::AgentName;
use ostler_runtime::delivery::{Courier, SendOptions};
use ostler_runtime::operations::Actor;
use ostler_runtime::queue::{AgentRuntime, Stored};
use ostler_runtime::switchboard::Switchboard;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::buses::eventually;
use crate::world::{ECHO, ORG, World};

const LONG: Duration = Duration::from_secs(60);

/// A process: workers, couriers and a switchboard.
struct Process {
    switchboard: Switchboard,
    stop: watch::Sender<bool>,
    running: JoinSet<()>,
}

impl Process {
    fn start(world: &World, trunk: Trunk) -> Self {
        let worker = world.worker.clone();
        let switchboard = Switchboard::beside(&worker, world.intake.clone(), trunk);
        let channels = Channels::new(Limits::default(), Reach::Public, |_, _| {
            Err("this test has no secrets".to_owned())
        });
        let (clock, bell) = (worker.parts().clock.clone(), worker.outbox_bell().clone());
        let options = SendOptions::default();
        let courier = Courier::new(world.store.clone(), channels.unwrap(), clock, options, bell)
            .answering_on(switchboard.staff().clone());
        let (stop, stopped) = watch::channel(false);
        let mut running = JoinSet::new();
        let (board, stopping) = (switchboard.clone(), stopped.clone());
        running.spawn(async move { board.run(stopping).await });
        let stopping = stopped.clone();
        running.spawn(async move { worker.run(2, stopping).await });
        running.spawn(async move { courier.run(2, stopped).await });
        Self { switchboard, stop, running }
    }

    /// Stops it, which must not take long, whatever it waits for.
    async fn stop(mut self) {
        self.stop.send_replace(true);
        let ending = async { while self.running.join_next().await.is_some() {} };
        tokio::time::timeout(LONG, ending).await.expect("it stops");
    }
}

async fn gia_answers(agents: &AgentRuntime) {
    let gia: AgentName = "gia".parse().unwrap();
    let known = async || agents.registry().get(&gia).await.unwrap().is_some();
    eventually("Gia to be known", known).await;
    let code = agents.new_code().await.unwrap();
    let question = Envelope::new("ask", json!({"text": "pineapple"}), code);
    let answer = agents.ask(&gia, question, LONG).await.unwrap();
    assert_eq!(answer.message.payload["text"], "About pineapple: yes.");
    assert_eq!(answer.context.from_agent, Some(gia));
}

/// X63: an org's agents are on the bus of the process by themselves.
#[tokio::test(flavor = "multi_thread")]
async fn x63_agents_are_on_the_bus_of_their_process() {
    let world = World::new(ECHO).await;
    let trunk = Trunk::reach("memory:", RabbitOptions::default()).unwrap();
    let process = Process::start(&world, trunk);
    let there = async || process.switchboard.staff().of(ORG).is_some();
    eventually("the agents", there).await;
    gia_answers(&process.switchboard.staff().of(ORG).unwrap()).await;
    process.stop().await;
}

/// X63: and on a broker, where whoever shares the org's records asks them from
/// another process.
#[tokio::test(flavor = "multi_thread")]
async fn x63_agents_are_on_rabbitmq_for_other_processes() {
    let address = std::env::var("OSTLER_TEST_AMQP_URL")
        .expect("OSTLER_TEST_AMQP_URL is not set; run the tests with `make test`");
    let world = World::new(ECHO).await;
    let trunk = || Trunk::reach(&address, RabbitOptions::default()).unwrap();
    let process = Process::start(&world, trunk());
    let (elsewhere, stored) = (trunk(), Stored::new(world.store.clone(), ORG));
    let bus = elsewhere.bus(&stored.bus_prefix()).unwrap();
    let asking = AgentRuntime::of_org(bus, &stored).start().await.unwrap();
    gia_answers(&asking).await;
    asking.shutdown().await.unwrap();
    elsewhere.close().await;
    process.stop().await;
}

/// Z04: a broker that is not there keeps no conversation waiting, and a process
/// that waits for it can be stopped.
#[tokio::test(flavor = "multi_thread")]
async fn z04_conversations_go_on_without_a_broker() {
    let world = World::new(ECHO).await;
    let nobody = "amqp://guest:guest@127.0.0.1:1/%2f";
    let process = Process::start(&world, Trunk::reach(nobody, RabbitOptions::default()).unwrap());
    for round in 1..=3 {
        world.write("rosa", &format!("message {round}")).await;
        let answered = async || {
            !world.sessions().await.is_empty() && world.thread("rosa").await.len() == 2 * round
        };
        eventually("an answer", answered).await;
    }
    process.stop().await;
}

/// The doors at which a ring waits.
async fn doors(bus: &Arc<MemoryBus>) -> BTreeSet<u16> {
    let mut rung = BTreeSet::new();
    for door in 0..16 {
        if bus.depth(&QueueName::inbound(door)).await.unwrap().total() > 0 {
            rung.insert(door);
        }
    }
    rung
}

/// F09: whoever changes a conversation rings at its own door, as whoever writes
/// in it does; others are left alone.
#[tokio::test]
async fn f09_operations_ring_at_the_door_of_their_conversation() {
    let world = World::new(ECHO).await;
    for who in ["rosa", "otto", "ines"] {
        world.say(who, "hello").await;
        let ends = [Arc::new(MemoryBus::default()), Arc::new(MemoryBus::default())];
        let [writes, operates] = [(); 2].map(|()| World::again(world.store.clone(), ECHO));
        writes.worker.bell().connect(ends[0].clone());
        operates.worker.bell().connect(ends[1].clone());
        writes.write_as(who, "and now?", &format!("{who}-again")).await;
        eventually("a ring", async || !doors(&ends[0]).await.is_empty()).await;
        world.work().await;
        let session = world.session(who).await.id;
        let operations = operates.operations();
        operations.as_actor(Actor::Terminal, ORG).close(session).await.unwrap();
        eventually("a ring", async || !doors(&ends[1]).await.is_empty()).await;
        assert_eq!(doors(&ends[0]).await, doors(&ends[1]).await, "{who}");
    }
}
