//! A swarm of processes on one broker and one database, one of which is killed
//! and whose broker is restarted.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use ostler_bus::{
    ConsumeOptions, Delivery, Envelope, Failure, Limits, MessageBus, QueueName, RabbitBus,
    RabbitOptions, Selection, Verdict, next_id,
};
use ostler_domain::dispatch::failure::FailureClass;
use ostler_domain::id::{OrgId, RecordId};
use ostler_domain::org::plan::Plan;
use ostler_domain::org::{Org, Place};
use ostler_domain::reference::ReferenceCode;
use ostler_domain::time::UtcDay;
use ostler_store::{Store, StoreError};
use tokio::task::JoinSet;

use crate::server::Server;
use crate::{eventually, number_of};

/// Name the broker, the database and the org to a worker; without the first a
/// worker's test does nothing.
const BROKER: &str = "OSTLER_SWARM_BROKER";
const DATABASE: &str = "OSTLER_SWARM_DATABASE";
const ORG: &str = "OSTLER_SWARM_ORG";
/// How many messages; the variable changes it.
const MESSAGES: (&str, u64) = ("OSTLER_SWARM_MESSAGES", 10_000);
const WORKERS: usize = 3;
/// Messages that are published at once.
const PUBLISHERS: u64 = 64;
/// What the effect of a message is kept as.
const EFFECT: &str = "effect";

fn queue() -> QueueName {
    QueueName::team_work(&"crew".parse().unwrap())
}

async fn bus(url: &str) -> RabbitBus {
    let publish_patience = Duration::from_secs(300);
    let limits = Limits { publish_patience, queue_length: 100_000, ..Limits::default() };
    let options = RabbitOptions { limits, ..RabbitOptions::default() };
    RabbitBus::connect(url, options).await.expect("the broker answers")
}

/// A worker, in a process of its own: has each message its effect, whose id is
/// the message's, and says what it handled, until its input ends.
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

async fn handle(store: &Store, org: OrgId, delivery: &Delivery) -> Verdict {
    let message = &delivery.envelope.message;
    let id = RecordId::from_u128(message.id.as_u128());
    let number = message.payload.as_u64().unwrap();
    let what = match store.org(org).create_record(EFFECT, id, number.to_string()).await {
        Ok(()) => "fresh",
        Err(StoreError::Conflict(_)) => "repeat",
        Err(error) => {
            let class = FailureClass::Infrastructure;
            return Verdict::Again(Failure { class, reason: error.to_string() });
        }
    };
    println!("{what} {number} {} .", message.id.as_u128());
    Verdict::Done
}

/// What a worker says it handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Handled {
    number: u64,
    id: u128,
    repeat: bool,
}

/// A worker's process, and what it says.
struct Worker {
    process: Child,
    said: Receiver<Handled>,
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
        let (tell, said) = channel();
        let reader = std::thread::spawn(move || {
            for handled in lines.filter_map(|line| read(&line)) {
                let _nobody_listens = tell.send(handled);
            }
        });
        Self { process, said, reader }
    }

    /// Kills it, as with -9, and returns all that it said.
    fn kill(mut self) -> Vec<Handled> {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.reader.join().unwrap();
        self.said.try_iter().collect()
    }

    /// Lets it finish what it has in work, and returns all that it said.
    fn end(mut self) -> Vec<Handled> {
        drop(self.process.stdin.take());
        assert!(self.process.wait().unwrap().success());
        self.reader.join().unwrap();
        self.said.try_iter().collect()
    }
}

/// The last line of a killed worker may be cut; then it has no full stop.
fn read(line: &str) -> Option<Handled> {
    let [what, number, id, "."] = line.split(' ').collect::<Vec<_>>()[..] else { return None };
    Some(Handled { number: number.parse().ok()?, id: id.parse().ok()?, repeat: what == "repeat" })
}

/// An org of this test's own.
async fn new_org(store: &Store) -> OrgId {
    store.migrate().await.unwrap();
    let id = OrgId::from_u128(next_id().as_u128());
    let org = Org {
        id,
        slug: format!("swarm-{}", id.as_u128()),
        name: "Swarm".into(),
        place: Place::TopLevel,
        plan: Plan::Pro,
        sub_orgs_enabled: false,
        time_zone: "Europe/Rome".into(),
        retention_days: None,
    };
    store.create_org(org).await.unwrap();
    id
}

/// The effects that are there: number by message id.
async fn effects(store: &Store, org: OrgId) -> BTreeMap<u128, u64> {
    let (mut all, mut after) = (BTreeMap::new(), None);
    loop {
        let page = store.org(org).records(EFFECT, after, 1000).await.unwrap();
        let Some(last) = page.last() else { return all };
        after = Some(last.id);
        all.extend(page.iter().map(|one| (one.id.as_u128(), one.data.parse::<u64>().unwrap())));
    }
}

/// Publishes all, many at once, and returns number by message id.
async fn publish(bus: RabbitBus, messages: u64) -> BTreeMap<u128, u64> {
    let mut running = JoinSet::new();
    for lane in 0..PUBLISHERS {
        let bus = bus.clone();
        running.spawn(async move {
            let mut published = Vec::new();
            for number in (lane..messages).step_by(PUBLISHERS as usize) {
                let code = ReferenceCode::new(UtcDay::default(), number);
                let one = Envelope::new("work", serde_json::json!(number), code);
                published.push((one.message.id.as_u128(), number));
                bus.publish(&queue(), Arc::new(one)).await.expect("the broker comes back");
            }
            published
        });
    }
    running.join_all().await.into_iter().flatten().collect()
}

/// X28: three processes share the work of a team. One is killed with -9 and the
/// broker is restarted in the middle: every message is handled, none
/// is lost or dead, every repeat carries its message's id, and its effect
/// happens once.
#[tokio::test(flavor = "multi_thread")]
async fn x28_a_swarm_outlives_a_killed_process_and_a_restarted_broker() {
    let database = std::env::var("OSTLER_TEST_POSTGRES_URL")
        .expect("OSTLER_TEST_POSTGRES_URL is not set; run the tests with `make test`");
    let messages = number_of(MESSAGES.0, MESSAGES.1);
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
    let mut said = workers.remove(0).kill();
    assert!(!said.is_empty(), "the killed process had done something");
    done(20).await;
    broker.stop();
    broker.come_back();

    let published = publishing.await.unwrap();
    done(100).await;
    let empty = async || bus.depth(&queue()).await.unwrap().total() == 0;
    eventually("an empty queue", empty).await;
    said.extend(workers.into_iter().flat_map(Worker::end));

    assert_eq!(published.len() as u64, messages);
    assert_eq!(effects(&store, org).await, published, "each message had its effect, once");
    let fresh: Vec<u64> = said.iter().filter(|one| !one.repeat).map(|one| one.number).collect();
    let distinct: BTreeSet<u64> = fresh.iter().copied().collect();
    assert_eq!(fresh.len(), distinct.len(), "no effect happened twice");
    for one in &said {
        assert_eq!(published.get(&one.id), Some(&one.number), "a repeat has its message's id");
    }
    assert!(bus.dead_letters(Selection::All, 10).await.unwrap().is_empty());
    let repeats = said.iter().filter(|one| one.repeat).count();
    println!("{messages} messages, {repeats} repeats");
}
