//! A broker on which one priority class of a queue has no leader for a while.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ostler_bus::{
    ConsumeOptions, Consumer, Delivery, Disposition, Envelope, MessageBus, QueueName, RabbitBus,
    RabbitOptions,
};
use ostler_domain::queue_agent::priority::Priority;
use ostler_domain::reference::ReferenceCode;
use ostler_domain::time::UtcDay;
use ostler_testkit::eventually;

use crate::server::Server;

/// How long the bus waits for an answer.
const BROKER_TIMEOUT: Duration = Duration::from_secs(3);

fn envelope(priority: Priority) -> Arc<Envelope> {
    let code = ReferenceCode::new(UtcDay::default(), 1);
    let mut envelope = Envelope::new("work", serde_json::json!(priority.as_str()), code);
    envelope.priority = priority;
    Arc::new(envelope)
}

/// A queue whose lowest class does not answer, with one message in it.
struct UnresponsiveClass {
    broker: Server,
    bus: RabbitBus,
    queue: QueueName,
    /// The class of each handled message.
    seen: Arc<Mutex<Vec<String>>>,
}

impl UnresponsiveClass {
    async fn start() -> Self {
        let mut broker = Server::start("broker");
        let options = RabbitOptions { broker_timeout: BROKER_TIMEOUT, ..RabbitOptions::default() };
        let bus = RabbitBus::connect(&broker.url, options).await.expect("the broker answers");
        let queue: QueueName = "agent.flow".parse().unwrap();
        bus.publish(&queue, envelope(Priority::Low)).await.unwrap();
        broker.suspend("agent.flow:low");
        Self { broker, bus, queue, seen: Arc::default() }
    }

    fn end(&mut self) {
        self.broker.resume("agent.flow:low");
    }

    async fn consume(&self) -> Consumer {
        let seen = Arc::clone(&self.seen);
        let handler = move |delivery: Delivery| {
            let class = delivery.envelope.message.payload.as_str().unwrap().to_owned();
            seen.lock().unwrap().push(class);
            std::future::ready(Disposition::Done)
        };
        self.bus.consume(&self.queue, ConsumeOptions::default(), Arc::new(handler)).await.unwrap()
    }

    async fn publish(&self, priority: Priority) {
        self.bus.publish(&self.queue, envelope(priority)).await.unwrap();
    }

    async fn wait_for_handled(&self, classes: &[&str]) {
        let what = format!("{classes:?} to be handled");
        eventually(&what, async || *self.seen.lock().unwrap() == classes).await;
    }

    async fn is_empty(&self) -> bool {
        self.bus.depth(&self.queue).await.unwrap().total() == 0
    }
}

/// X28: publishers and the consumer of the other classes are not blocked; the
/// unresponsive class is consumed as soon as it answers, and its messages are
/// not lost.
#[tokio::test(flavor = "multi_thread")]
async fn x28_an_unresponsive_class_blocks_no_other_and_recovers() {
    let mut fixture = UnresponsiveClass::start().await;
    let consumer = fixture.consume().await;
    fixture.publish(Priority::Normal).await;
    fixture.wait_for_handled(&["normal"]).await;
    fixture.publish(Priority::Critical).await;
    fixture.wait_for_handled(&["normal", "critical"]).await;

    // Longer than the timeout, so that the missing answer is noticed.
    tokio::time::sleep(2 * BROKER_TIMEOUT).await;
    fixture.end();
    fixture.wait_for_handled(&["normal", "critical", "low"]).await;
    fixture.publish(Priority::Low).await;
    fixture.wait_for_handled(&["normal", "critical", "low", "low"]).await;
    consumer.close().await;
    assert!(fixture.is_empty().await);
}

/// X25, X28: a consumer that is closed while a class does not answer keeps none
/// of its messages when it answers later; the next consumer gets them.
#[tokio::test(flavor = "multi_thread")]
async fn x28_a_closed_consumer_holds_no_messages_of_an_unresponsive_class() {
    let mut fixture = UnresponsiveClass::start().await;
    for _ in 0..3 {
        let consumer = fixture.consume().await;
        fixture.publish(Priority::Normal).await;
        eventually("the normal class", async || !fixture.seen.lock().unwrap().is_empty()).await;
        fixture.seen.lock().unwrap().clear();
        consumer.close().await;
    }
    fixture.end();
    let consumer = fixture.consume().await;
    fixture.wait_for_handled(&["low"]).await;
    fixture.publish(Priority::Low).await;
    fixture.wait_for_handled(&["low", "low"]).await;
    consumer.close().await;
    assert!(fixture.is_empty().await);
}
