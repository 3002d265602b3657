//! The bus bridge: a process with and without its message bus.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{BusConnection, Envelope, MemoryBus, MessageBus, QueueName, RabbitOptions};
use ostler_channels::{Channels, HttpLimits, NetworkAccess};
use ostler_domain::queue_agent::name::AgentName;
use ostler_runtime::agents::{AgentRuntime, StoredRecords};
use ostler_runtime::bus_bridge::BusBridge;
use ostler_runtime::delivery::{DeliveryOptions, DeliveryWorker};
use ostler_runtime::operations::Actor;
use ostler_testkit::eventually;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::support::{ECHO, ORG, Scenario};

const LONG: Duration = Duration::from_secs(60);

/// A process: workers, delivery workers and a bus bridge.
struct Process {
    bridge: BusBridge,
    stop: watch::Sender<bool>,
    running: JoinSet<()>,
}

impl Process {
    fn start(scenario: &Scenario, connection: BusConnection) -> Self {
        let worker = scenario.worker.clone();
        let bridge = BusBridge::for_worker(&worker, scenario.intake.clone(), connection);
        let channels = Channels::new(HttpLimits::default(), NetworkAccess::Public, |_, _| {
            Err("this test has no secrets".to_owned())
        });
        let (clock, bell) = (worker.deps().clock.clone(), worker.outbox_bell().clone());
        let options = DeliveryOptions::default();
        let delivery =
            DeliveryWorker::new(scenario.store.clone(), channels.unwrap(), clock, options, bell)
                .with_agent_runtimes(bridge.agent_runtimes().clone());
        let (stop, stopped) = watch::channel(false);
        let mut running = JoinSet::new();
        let (running_bridge, stopping) = (bridge.clone(), stopped.clone());
        running.spawn(async move { running_bridge.run(stopping).await });
        let stopping = stopped.clone();
        running.spawn(async move { worker.run(2, stopping).await });
        running.spawn(async move { delivery.run(2, stopped).await });
        Self { bridge, stop, running }
    }

    /// Stops the process. Panics after a minute.
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
    let code = agents.new_reference_code().await.unwrap();
    let question = Envelope::new("ask", json!({"text": "pineapple"}), code);
    let answer = agents.ask(&gia, question, LONG).await.unwrap();
    assert_eq!(answer.message.payload["text"], "About pineapple: yes.");
    assert_eq!(answer.context.from_agent, Some(gia));
}

/// X63: the agents of an org are started on the bus of the process.
#[tokio::test(flavor = "multi_thread")]
async fn x63_agents_of_an_org_are_started_on_the_bus_of_the_process() {
    let scenario = Scenario::new(ECHO).await;
    let connection = BusConnection::connect_lazy("memory:", RabbitOptions::default()).unwrap();
    let process = Process::start(&scenario, connection);
    let there = async || process.bridge.agent_runtimes().get(ORG).is_some();
    eventually("the agents", there).await;
    gia_answers(&process.bridge.agent_runtimes().get(ORG).unwrap()).await;
    process.stop().await;
}

/// X63: on RabbitMQ another process with the org's records can ask the agents.
#[tokio::test(flavor = "multi_thread")]
async fn x63_agents_on_rabbitmq_answer_other_processes() {
    let address = ostler_testkit::amqp_url();
    let scenario = Scenario::new(ECHO).await;
    let connection = || BusConnection::connect_lazy(&address, RabbitOptions::default()).unwrap();
    let process = Process::start(&scenario, connection());
    let (elsewhere, stored) = (connection(), StoredRecords::new(scenario.store.clone(), ORG));
    let bus = elsewhere.bus(&stored.bus_prefix()).unwrap();
    let asking = AgentRuntime::for_org(bus, &stored).start().await.unwrap();
    gia_answers(&asking).await;
    asking.shutdown().await.unwrap();
    elsewhere.close().await;
    process.stop().await;
}

/// Z04: without a broker conversations are answered, and the process can be stopped.
#[tokio::test(flavor = "multi_thread")]
async fn z04_conversations_are_answered_without_a_broker() {
    let scenario = Scenario::new(ECHO).await;
    let nobody = "amqp://guest:guest@127.0.0.1:1/%2f";
    let process = Process::start(
        &scenario,
        BusConnection::connect_lazy(nobody, RabbitOptions::default()).unwrap(),
    );
    for round in 1..=3 {
        scenario.write("rosa", &format!("message {round}")).await;
        let answered = async || {
            !scenario.sessions().await.is_empty()
                && scenario.thread("rosa").await.len() == 2 * round
        };
        eventually("an answer", answered).await;
    }
    process.stop().await;
}

/// Returns the doorbell shards with a waiting ring.
async fn rung_shards(bus: &Arc<MemoryBus>) -> BTreeSet<u16> {
    let mut rung = BTreeSet::new();
    for door in 0..16 {
        if bus.depth(&QueueName::inbound(door)).await.unwrap().total() > 0 {
            rung.insert(door);
        }
    }
    rung
}

/// F09: an operation rings the same doorbell shard as a message of its conversation, and
/// no other.
#[tokio::test]
async fn f09_operations_ring_the_doorbell_shard_of_their_conversation() {
    let scenario = Scenario::new(ECHO).await;
    for who in ["rosa", "otto", "ines"] {
        scenario.say(who, "hello").await;
        let ends = [Arc::new(MemoryBus::default()), Arc::new(MemoryBus::default())];
        let [writes, operates] = [(); 2].map(|()| Scenario::attach(scenario.store.clone(), ECHO));
        writes.worker.bell().connect(ends[0].clone());
        operates.worker.bell().connect(ends[1].clone());
        writes.write_with_id(who, "and now?", &format!("{who}-again")).await;
        eventually("a ring", async || !rung_shards(&ends[0]).await.is_empty()).await;
        scenario.work().await;
        let session = scenario.session(who).await.id;
        let operations = operates.operations();
        operations.as_actor(Actor::Terminal, ORG).close(session).await.unwrap();
        eventually("a ring", async || !rung_shards(&ends[1]).await.is_empty()).await;
        assert_eq!(rung_shards(&ends[0]).await, rung_shards(&ends[1]).await, "{who}");
    }
}
