//! A broker on which one class of a queue has no leader for a while.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ostler_bus::{
    ConsumeOptions, Consumer, Delivery, Envelope, MessageBus, QueueName, RabbitBus, RabbitOptions,
    Verdict,
};
use ostler_domain::dispatch::priority::Priority;
use ostler_domain::reference::ReferenceCode;
use ostler_domain::time::UtcDay;

use crate::eventually;
use crate::server::Server;

/// How long the bus waits for an answer here.
const PATIENCE: Duration = Duration::from_secs(3);

fn envelope(priority: Priority) -> Arc<Envelope> {
    let code = ReferenceCode::new(UtcDay::default(), 1);
    let mut envelope = Envelope::new("work", serde_json::json!(priority.as_str()), code);
    envelope.priority = priority;
    Arc::new(envelope)
}

/// A queue whose lowest class does not answer, with one message in it.
struct Silent {
    broker: Server,
    bus: RabbitBus,
    queue: QueueName,
    /// The class of each message that was handled.
    seen: Arc<Mutex<Vec<String>>>,
}

impl Silent {
    async fn begin() -> Self {
        let mut broker = Server::start("broker");
        let options = RabbitOptions { answer_patience: PATIENCE, ..RabbitOptions::default() };
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
            std::future::ready(Verdict::Done)
        };
        self.bus.consume(&self.queue, ConsumeOptions::default(), Arc::new(handler)).await.unwrap()
    }

    async fn publish(&self, priority: Priority) {
        self.bus.publish(&self.queue, envelope(priority)).await.unwrap();
    }

    async fn until_seen(&self, classes: &[&str]) {
        let what = format!("{classes:?} to be handled");
        eventually(&what, async || *self.seen.lock().unwrap() == classes).await;
    }

    async fn is_empty(&self) -> bool {
        self.bus.depth(&self.queue).await.unwrap().total() == 0
    }
}

/// X28: a class that does not answer keeps none of the others waiting, neither
/// those who publish nor a consumer; it is taken from as soon as it answers,
/// and what was sent to it is not lost.
#[tokio::test(flavor = "multi_thread")]
async fn x28_a_silent_class_starves_no_other_and_comes_back_by_itself() {
    let mut silent = Silent::begin().await;
    let consumer = silent.consume().await;
    silent.publish(Priority::Normal).await;
    silent.until_seen(&["normal"]).await;
    silent.publish(Priority::Critical).await;
    silent.until_seen(&["normal", "critical"]).await;

    // Longer than one answer may take: the silence itself is noticed.
    tokio::time::sleep(2 * PATIENCE).await;
    silent.end();
    silent.until_seen(&["normal", "critical", "low"]).await;
    silent.publish(Priority::Low).await;
    silent.until_seen(&["normal", "critical", "low", "low"]).await;
    consumer.close().await;
    assert!(silent.is_empty().await);
}

/// X25, X28: a consumer that is closed while a class does not answer holds
/// nothing of it when it answers later: whoever consumes then gets it.
#[tokio::test(flavor = "multi_thread")]
async fn x28_a_consumer_that_left_a_silent_class_holds_nothing_of_it() {
    let mut silent = Silent::begin().await;
    for _ in 0..3 {
        let consumer = silent.consume().await;
        silent.publish(Priority::Normal).await;
        eventually("the usual class", async || !silent.seen.lock().unwrap().is_empty()).await;
        silent.seen.lock().unwrap().clear();
        consumer.close().await;
    }
    silent.end();
    let consumer = silent.consume().await;
    silent.until_seen(&["low"]).await;
    silent.publish(Priority::Low).await;
    silent.until_seen(&["low", "low"]).await;
    consumer.close().await;
    assert!(silent.is_empty().await);
}
