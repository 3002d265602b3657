//! Consumers that remember what they saw.

use std::sync::{Arc, Mutex};

use ostler_bus::{ConsumeOptions, Consumer, Delivery, Envelope, Failure, QueueName, Verdict};
use ostler_domain::dispatch::failure::FailureClass;
use ostler_domain::reference::ReferenceCode;
use ostler_domain::time::UtcDay;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::kit::{Backend, Bus, eventually};

pub(crate) fn broker() -> String {
    match Backend::rabbitmq() {
        Backend::RabbitMq(address) => address,
        Backend::Memory => panic!("a broker is no memory"),
    }
}

pub(crate) fn queue(name: &str) -> QueueName {
    name.parse().unwrap()
}

pub(crate) fn envelope(number: u64) -> Envelope {
    let code = ReferenceCode::new(UtcDay::default(), number);
    Envelope::new("work", json!({ "n": number }), code)
}

pub(crate) async fn publish(bus: &Bus, to: &QueueName, numbers: impl IntoIterator<Item = u64>) {
    for number in numbers {
        bus.publish(to, Arc::new(envelope(number))).await.unwrap();
    }
}

pub(crate) fn number(delivery: &Delivery) -> u64 {
    delivery.envelope.message.payload["n"].as_u64().unwrap()
}

pub(crate) fn failure(reason: &str) -> Failure {
    Failure { class: FailureClass::Application, reason: reason.into() }
}

/// What consumers saw, in order.
#[derive(Clone)]
pub(crate) struct Seen {
    all: Arc<Mutex<Vec<Delivery>>>,
    /// A permit for each message that may be finished.
    pub(crate) gate: Arc<Semaphore>,
    verdict: Arc<dyn Fn(&Delivery) -> Verdict + Send + Sync>,
}

impl Seen {
    /// Handles everything at once.
    pub(crate) fn open() -> Self {
        Self::judging(|_| Verdict::Done)
    }

    pub(crate) fn judging(verdict: impl Fn(&Delivery) -> Verdict + Send + Sync + 'static) -> Self {
        let gate = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
        Self { all: Arc::default(), gate, verdict: Arc::new(verdict) }
    }

    /// Finishes nothing before the gate lets it.
    pub(crate) fn gated() -> Self {
        Self { gate: Arc::new(Semaphore::new(0)), ..Self::open() }
    }

    pub(crate) fn let_pass(&self) {
        self.gate.add_permits(1_000_000);
    }

    pub(crate) fn all(&self) -> Vec<Delivery> {
        self.all.lock().unwrap().clone()
    }

    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.all().iter().map(number).collect()
    }

    pub(crate) fn sorted(&self) -> Vec<u64> {
        let mut numbers = self.numbers();
        numbers.sort_unstable();
        numbers
    }

    pub(crate) async fn consume(&self, bus: &Bus, from: &QueueName) -> Consumer {
        self.consume_with(bus, from, ConsumeOptions::default()).await
    }

    pub(crate) async fn consume_with(
        &self,
        bus: &Bus,
        from: &QueueName,
        options: ConsumeOptions,
    ) -> Consumer {
        let seen = self.clone();
        let handler = move |delivery: Delivery| {
            let seen = seen.clone();
            async move {
                seen.all.lock().unwrap().push(delivery.clone());
                seen.gate.acquire().await.unwrap().forget();
                (seen.verdict)(&delivery)
            }
        };
        bus.consume(from, options, Arc::new(handler)).await.unwrap()
    }

    /// Waits until so many messages were seen.
    pub(crate) async fn until(&self, count: usize) {
        eventually(&format!("{count} messages"), async || self.all().len() >= count).await;
    }
}

/// Waits until so many messages wait in a queue.
pub(crate) async fn until_waiting(bus: &Bus, name: &QueueName, count: u64) {
    let what = format!("{count} waiting in {name}");
    eventually(&what, async || bus.depth(name).await.unwrap().total() == count).await;
}
