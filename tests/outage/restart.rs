//! The bus while its broker is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ostler_bus::{
    BusError, ConsumeOptions, Delivery, Envelope, Limits, MessageBus, QueueName, RabbitBus,
    RabbitOptions, Verdict,
};
use ostler_domain::id::EnvelopeId;
use ostler_domain::reference::ReferenceCode;
use ostler_domain::time::UtcDay;

use crate::server::Server;
use crate::{eventually, number_of};

/// How long the broker is gone, in seconds; a longer campaign sets the variable.
const DOWN: &str = "OSTLER_DOWN_SECS";
/// Messages before the outage, and as many from then on.
const HALF: u64 = 300;

async fn bus(broker: &Server, patience: Duration) -> RabbitBus {
    let limits = Limits { publish_patience: patience, ..Limits::default() };
    let options = RabbitOptions { limits, ..RabbitOptions::default() };
    RabbitBus::connect(&broker.url, options).await.expect("the broker answers")
}

fn envelope(number: u64) -> Envelope {
    let code = ReferenceCode::new(UtcDay::default(), number);
    Envelope::new("work", serde_json::json!(number), code)
}

/// What was handled, in order: the number and the id of each message.
type Seen = Arc<Mutex<Vec<(u64, EnvelopeId)>>>;

async fn consume(bus: &RabbitBus, queue: &QueueName, seen: &Seen) -> ostler_bus::Consumer {
    let seen = Arc::clone(seen);
    let handler = move |delivery: Delivery| {
        let message = &delivery.envelope.message;
        seen.lock().unwrap().push((message.payload.as_u64().unwrap(), message.id));
        std::future::ready(Verdict::Done)
    };
    let options = ConsumeOptions { prefetch: 10, ..ConsumeOptions::default() };
    bus.consume(queue, options, Arc::new(handler)).await.unwrap()
}

/// Publishes one after the other, and returns the ids that were confirmed.
async fn publish(
    bus: &RabbitBus,
    queue: &QueueName,
    numbers: std::ops::Range<u64>,
) -> BTreeMap<u64, EnvelopeId> {
    let mut confirmed = BTreeMap::new();
    for number in numbers {
        let one = envelope(number);
        confirmed.insert(number, one.message.id);
        bus.publish(queue, Arc::new(one)).await.expect("the broker comes back in time");
    }
    confirmed
}

/// The first time that each was handled, in order; a repeat must be the same
/// message.
fn firsts(seen: &Seen) -> Vec<(u64, EnvelopeId)> {
    let mut known = BTreeSet::new();
    let seen = seen.lock().unwrap();
    seen.iter().copied().filter(|one| known.insert(*one)).collect()
}

/// X28: the broker is killed with messages waiting, on their way and in work, and
/// is gone for a while. Publishers wait, or are told within their bound;
/// consumers come back by themselves; all that was confirmed is handled, in
/// order; and whatever comes twice has the same id.
#[tokio::test(flavor = "multi_thread")]
async fn x28_a_restart_of_the_broker_loses_nothing_that_it_confirmed() {
    let mut broker = Server::start("broker");
    let patient = bus(&broker, Duration::from_secs(300)).await;
    let hasty = bus(&broker, Duration::from_millis(500)).await;
    let (flow, heap): (QueueName, QueueName) =
        ("agent.flow".parse().unwrap(), "agent.heap".parse().unwrap());
    let waiting = publish(&patient, &heap, 0..HALF).await;

    let seen = Seen::default();
    let _consumer = consume(&patient, &flow, &seen).await;
    let publishing = {
        let (patient, flow) = (patient.clone(), flow.clone());
        tokio::spawn(async move { publish(&patient, &flow, 0..2 * HALF).await })
    };
    eventually("half of them", async || seen.lock().unwrap().len() as u64 >= HALF / 2).await;
    broker.kill();
    let gone = Instant::now();
    let refused = hasty.publish(&heap, Arc::new(envelope(9999))).await;
    assert!(matches!(refused, Err(BusError::Unavailable { .. })), "{refused:?}");
    assert!(gone.elapsed() < Duration::from_secs(30), "it was told after {:?}", gone.elapsed());
    tokio::time::sleep(Duration::from_secs(number_of(DOWN, 2))).await;
    assert!(!publishing.is_finished(), "nobody confirmed what comes next");
    broker.come_back();

    let confirmed = publishing.await.unwrap();
    eventually("all of them", async || firsts(&seen).len() as u64 >= 2 * HALF).await;
    assert_eq!(firsts(&seen), confirmed.into_iter().collect::<Vec<_>>());
    let kept = Seen::default();
    let _consumer = consume(&patient, &heap, &kept).await;
    let all = async || firsts(&kept).len() as u64 >= HALF;
    eventually("what waited during the outage", all).await;
    assert_eq!(firsts(&kept), waiting.into_iter().collect::<Vec<_>>());
    for queue in [&flow, &heap] {
        let empty = async || patient.depth(queue).await.unwrap().total() == 0;
        eventually("empty queues", empty).await;
    }
    let again = async || hasty.publish(&flow, Arc::new(envelope(0))).await.is_ok();
    eventually("the hasty bus to be back", again).await;
}
