//! The bus during a broker outage.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ostler_bus::{
    BusError, ConsumeOptions, Delivery, Disposition, Envelope, MessageBus, QueueLimits, QueueName,
    RabbitBus, RabbitOptions,
};
use ostler_domain::id::EnvelopeId;
use ostler_domain::reference::ReferenceCode;
use ostler_domain::time::UtcDay;
use ostler_testkit::eventually;

use crate::env_number;
use crate::server::Server;

/// The variable that sets how long the broker is down, in seconds.
const DOWN: &str = "OSTLER_DOWN_SECS";
/// Messages before the outage, and as many from then on.
const HALF: u64 = 300;

async fn bus(broker: &Server, timeout: Duration) -> RabbitBus {
    let limits = QueueLimits { publish_timeout: timeout, ..QueueLimits::default() };
    let options = RabbitOptions { limits, ..RabbitOptions::default() };
    RabbitBus::connect(&broker.url, options).await.expect("the broker answers")
}

fn envelope(number: u64) -> Envelope {
    let code = ReferenceCode::new(UtcDay::default(), number);
    Envelope::new("work", serde_json::json!(number), code)
}

/// Handled messages, in order: number and id.
type HandledMessages = Arc<Mutex<Vec<(u64, EnvelopeId)>>>;

async fn consume(
    bus: &RabbitBus,
    queue: &QueueName,
    seen: &HandledMessages,
) -> ostler_bus::Consumer {
    let seen = Arc::clone(seen);
    let handler = move |delivery: Delivery| {
        let message = &delivery.envelope.message;
        seen.lock().unwrap().push((message.payload.as_u64().unwrap(), message.id));
        std::future::ready(Disposition::Done)
    };
    let options = ConsumeOptions { prefetch: 10, ..ConsumeOptions::default() };
    bus.consume(queue, options, Arc::new(handler)).await.unwrap()
}

/// Publishes one message after the other and returns the ids of the confirmed
/// ones.
async fn publish(
    bus: &RabbitBus,
    queue: &QueueName,
    numbers: std::ops::Range<u64>,
) -> BTreeMap<u64, EnvelopeId> {
    let mut confirmed = BTreeMap::new();
    for number in numbers {
        let message = envelope(number);
        confirmed.insert(number, message.message.id);
        bus.publish(queue, Arc::new(message)).await.expect("the broker restarts in time");
    }
    confirmed
}

/// Returns the first handling of each number, in order, and checks that repeats
/// have the same id.
fn firsts(seen: &HandledMessages) -> Vec<(u64, EnvelopeId)> {
    let mut known = BTreeSet::new();
    let seen = seen.lock().unwrap();
    seen.iter().copied().filter(|message| known.insert(*message)).collect()
}

/// X28: the broker is killed with messages waiting, in flight and in progress,
/// and stays down for a while. Publishers wait or fail within their timeout;
/// consumers reconnect; all confirmed messages are handled in order; and
/// repeats have the same id.
#[tokio::test(flavor = "multi_thread")]
async fn x28_no_confirmed_message_is_lost_when_the_broker_restarts() {
    let mut broker = Server::start("broker");
    let patient = bus(&broker, Duration::from_secs(300)).await;
    let impatient = bus(&broker, Duration::from_millis(500)).await;
    let (flow, backlog): (QueueName, QueueName) =
        ("agent.flow".parse().unwrap(), "agent.backlog".parse().unwrap());
    let waiting = publish(&patient, &backlog, 0..HALF).await;

    let seen = HandledMessages::default();
    let _consumer = consume(&patient, &flow, &seen).await;
    let publishing = {
        let (patient, flow) = (patient.clone(), flow.clone());
        tokio::spawn(async move { publish(&patient, &flow, 0..2 * HALF).await })
    };
    eventually("half of them", async || seen.lock().unwrap().len() as u64 >= HALF / 2).await;
    broker.kill();
    let outage_start = Instant::now();
    let refused = impatient.publish(&backlog, Arc::new(envelope(9999))).await;
    assert!(matches!(refused, Err(BusError::Unavailable { .. })), "{refused:?}");
    assert!(
        outage_start.elapsed() < Duration::from_secs(30),
        "it failed after {:?}",
        outage_start.elapsed()
    );
    tokio::time::sleep(Duration::from_secs(env_number(DOWN, 2))).await;
    assert!(!publishing.is_finished(), "the broker cannot confirm while it is down");
    broker.restart();

    let confirmed = publishing.await.unwrap();
    eventually("all of them", async || firsts(&seen).len() as u64 >= 2 * HALF).await;
    assert_eq!(firsts(&seen), confirmed.into_iter().collect::<Vec<_>>());
    let handled_later = HandledMessages::default();
    let _consumer = consume(&patient, &backlog, &handled_later).await;
    let all = async || firsts(&handled_later).len() as u64 >= HALF;
    eventually("what waited during the outage", all).await;
    assert_eq!(firsts(&handled_later), waiting.into_iter().collect::<Vec<_>>());
    for queue in [&flow, &backlog] {
        let empty = async || patient.depth(queue).await.unwrap().total() == 0;
        eventually("empty queues", empty).await;
    }
    let again = async || impatient.publish(&flow, Arc::new(envelope(0))).await.is_ok();
    eventually("the impatient bus to be connected again", again).await;
}
