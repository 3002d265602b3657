//! Several processes on one broker and one database; one is killed and the
//! broker is restarted.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use ostler_bus::{
    ConsumeOptions, DeadLetterFilter, Delivery, Disposition, Envelope, Failure, MessageBus,
    QueueLimits, QueueName, RabbitBus, RabbitOptions,
};
use ostler_domain::id::{OrgId, RecordId};
use ostler_domain::queue_agent::failure::FailureClass;
use ostler_domain::reference::ReferenceCode;
use ostler_domain::time::UtcDay;
use ostler_store::{Store, StoreError};
use ostler_testkit::{TestDatabase, eventually};
use tokio::task::JoinSet;

use crate::env_number;
use crate::server::Server;

/// Tell a worker process its broker, database and org; without the first the
/// worker's test does nothing.
const BROKER: &str = "OSTLER_SWARM_BROKER";
const DATABASE: &str = "OSTLER_SWARM_DATABASE";
const ORG: &str = "OSTLER_SWARM_ORG";
/// Number of messages, and the variable that changes it.
const MESSAGES: (&str, u64) = ("OSTLER_SWARM_MESSAGES", 10_000);
const WORKERS: usize = 3;
/// Number of concurrent publishers.
const PUBLISHERS: u64 = 64;
/// The record kind of a message's effect.
const EFFECT: &str = "effect";

fn queue() -> QueueName {
    QueueName::team_work(&"crew".parse().unwrap())
}

async fn bus(url: &str) -> RabbitBus {
    let publish_timeout = Duration::from_secs(300);
    let limits = QueueLimits { publish_timeout, queue_length: 100_000, ..QueueLimits::default() };
    let options = RabbitOptions { limits, ..RabbitOptions::default() };
    RabbitBus::connect(url, options).await.expect("the broker answers")
}

/// A worker in a separate process: stores one effect per message, with the
/// message's id, and reports what it handled, until its input ends.
#[tokio::test(flavor = "multi_thread")]
async fn worker() {
    let Ok(url) = std::env::var(BROKER) else { return };
    let store = Store::open(&std::env::var(DATABASE).unwrap()).await.unwrap();
    let org = OrgId::from_u128(std::env::var(ORG).unwrap().parse().unwrap());
    let handler = move |delivery: Delivery| {
        let store = store.clone();
        async move { handle(&store, org, &delivery).await }
    };
    let bus = bus(&url).await;
    let options = ConsumeOptions { concurrency: 8, prefetch: 32, accepts: None };
    let consumer = bus.consume(&queue(), options, Arc::new(handler)).await.unwrap();
    println!("ready .");
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()))
        .await
        .unwrap()
        .unwrap();
    consumer.close().await;
    bus.close().await;
}

async fn handle(store: &Store, org: OrgId, delivery: &Delivery) -> Disposition {
    let message = &delivery.envelope.message;
    let id = RecordId::from_u128(message.id.as_u128());
    let number = message.payload.as_u64().unwrap();
    let what = match store.org(org).create_record(EFFECT, id, number.to_string()).await {
        Ok(()) => "fresh",
        Err(StoreError::Conflict(_)) => "repeat",
        Err(error) => {
            let class = FailureClass::Infrastructure;
            return Disposition::Retry(Failure { class, reason: error.to_string() });
        }
    };
    println!("{what} {number} {} .", message.id.as_u128());
    Disposition::Done
}

/// A worker's report of a handled message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HandledReport {
    number: u64,
    id: u128,
    repeat: bool,
}

/// A worker process and its reports.
struct Worker {
    process: Child,
    reports: Receiver<HandledReport>,
    reader: JoinHandle<()>,
}

impl Worker {
    fn start(broker: &Server, database: &str, org: OrgId) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "swarm::worker", "--nocapture"])
            .env(BROKER, &broker.url)
            .env(DATABASE, database)
            .env(ORG, org.as_u128().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(process.stdout.take().unwrap());
        let mut lines = out.lines().map_while(Result::ok);
        lines.find(|line| line.ends_with("ready .")).expect("the worker works");
        let (sender, reports) = channel();
        let reader = std::thread::spawn(move || {
            for handled in lines.filter_map(|line| parse_report(&line)) {
                let _receiver_gone = sender.send(handled);
            }
        });
        Self { process, reports, reader }
    }

    /// Kills the process with -9 and returns its reports.
    fn kill(mut self) -> Vec<HandledReport> {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.reader.join().unwrap();
        self.reports.try_iter().collect()
    }

    /// Lets the process finish its messages in progress and returns its
    /// reports.
    fn end(mut self) -> Vec<HandledReport> {
        drop(self.process.stdin.take());
        assert!(self.process.wait().unwrap().success());
        self.reader.join().unwrap();
        self.reports.try_iter().collect()
    }
}

/// The last line of a killed worker may be incomplete; then it has no full
/// stop.
fn parse_report(line: &str) -> Option<HandledReport> {
    let [what, number, id, "."] = line.split(' ').collect::<Vec<_>>()[..] else { return None };
    Some(HandledReport {
        number: number.parse().ok()?,
        id: id.parse().ok()?,
        repeat: what == "repeat",
    })
}

/// Creates an org for this test.
async fn new_org(store: &Store) -> OrgId {
    store.migrate().await.unwrap();
    let id = OrgId::from_u128(1);
    store.create_org(ostler_testkit::org(id, "swarm")).await.unwrap();
    id
}

/// Returns the stored effects: number by message id.
async fn effects(store: &Store, org: OrgId) -> BTreeMap<u128, u64> {
    let (mut all, mut after) = (BTreeMap::new(), None);
    loop {
        let page = store.org(org).records(EFFECT, after, 1000).await.unwrap();
        let Some(last) = page.last() else { return all };
        after = Some(last.id);
        all.extend(
            page.iter().map(|record| (record.id.as_u128(), record.data.parse::<u64>().unwrap())),
        );
    }
}

/// Publishes all messages concurrently and returns number by message id.
async fn publish(bus: RabbitBus, messages: u64) -> BTreeMap<u128, u64> {
    let mut running = JoinSet::new();
    for lane in 0..PUBLISHERS {
        let bus = bus.clone();
        running.spawn(async move {
            let mut published = Vec::new();
            for number in (lane..messages).step_by(PUBLISHERS as usize) {
                let code = ReferenceCode::new(UtcDay::default(), number);
                let message = Envelope::new("work", serde_json::json!(number), code);
                published.push((message.message.id.as_u128(), number));
                bus.publish(&queue(), Arc::new(message)).await.expect("the broker restarts");
            }
            published
        });
    }
    running.join_all().await.into_iter().flatten().collect()
}

/// X28: three processes share the work of a team. One is killed with -9 and the
/// broker is restarted meanwhile: every message is handled, none is lost or a
/// dead letter, every repeat has its message's id, and each effect happens
/// once.
#[tokio::test(flavor = "multi_thread")]
async fn x28_a_swarm_survives_a_killed_process_and_a_broker_restart() {
    let database = TestDatabase::postgres().await.url;
    let messages = env_number(MESSAGES.0, MESSAGES.1);
    let store = Store::connect(&database).unwrap();
    let org = new_org(&store).await;
    let mut broker = Server::start("broker");
    let bus = bus(&broker.url).await;
    let mut workers: Vec<Worker> =
        (0..WORKERS).map(|_| Worker::start(&broker, &database, org)).collect();
    let publishing = tokio::spawn(publish(bus.clone(), messages));

    let done = async |share: u64| {
        let what = format!("{share} % of the effects");
        eventually(&what, async || {
            effects(&store, org).await.len() as u64 >= messages * share / 100
        })
        .await;
    };
    done(10).await;
    let mut reports = workers.remove(0).kill();
    assert!(!reports.is_empty(), "the killed process had done something");
    done(20).await;
    broker.stop();
    broker.restart();

    let published = publishing.await.unwrap();
    done(100).await;
    let empty = async || bus.depth(&queue()).await.unwrap().total() == 0;
    eventually("an empty queue", empty).await;
    reports.extend(workers.into_iter().flat_map(Worker::end));

    assert_eq!(published.len() as u64, messages);
    assert_eq!(effects(&store, org).await, published, "each message had its effect, once");
    let fresh: Vec<u64> =
        reports.iter().filter(|report| !report.repeat).map(|report| report.number).collect();
    let distinct: BTreeSet<u64> = fresh.iter().copied().collect();
    assert_eq!(fresh.len(), distinct.len(), "no effect happened twice");
    for report in &reports {
        assert_eq!(
            published.get(&report.id),
            Some(&report.number),
            "a repeat has its message's id"
        );
    }
    assert!(bus.dead_letters(DeadLetterFilter::All, 10).await.unwrap().is_empty());
    let repeats = reports.iter().filter(|report| report.repeat).count();
    println!("{messages} messages, {repeats} repeats");
}
