//! A handler that records its deliveries.

use std::sync::{Arc, Mutex};

use ostler_bus::{ConsumeOptions, Consumer, Delivery, Disposition, Envelope, Failure, QueueName};
use ostler_domain::queue_agent::failure::FailureClass;
use ostler_domain::reference::ReferenceCode;
use ostler_domain::time::UtcDay;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::kit::{Backend, Bus, eventually};

pub(crate) fn broker() -> String {
    match Backend::rabbitmq() {
        Backend::RabbitMq(address) => address,
        Backend::Memory => panic!("not a broker"),
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

/// Records deliveries in order.
#[derive(Clone)]
pub(crate) struct RecordingHandler {
    deliveries: Arc<Mutex<Vec<Delivery>>>,
    /// One permit per message that may finish.
    pub(crate) gate: Arc<Semaphore>,
    disposition: Arc<dyn Fn(&Delivery) -> Disposition + Send + Sync>,
}

impl RecordingHandler {
    /// Handles every message at once.
    pub(crate) fn open() -> Self {
        Self::returning(|_| Disposition::Done)
    }

    pub(crate) fn returning(
        disposition: impl Fn(&Delivery) -> Disposition + Send + Sync + 'static,
    ) -> Self {
        let gate = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
        Self { deliveries: Arc::default(), gate, disposition: Arc::new(disposition) }
    }

    /// Finishes no message before the gate is opened.
    pub(crate) fn gated() -> Self {
        Self { gate: Arc::new(Semaphore::new(0)), ..Self::open() }
    }

    pub(crate) fn open_gate(&self) {
        self.gate.add_permits(1_000_000);
    }

    pub(crate) fn deliveries(&self) -> Vec<Delivery> {
        self.deliveries.lock().unwrap().clone()
    }

    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.deliveries().iter().map(number).collect()
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
        let recorder = self.clone();
        let handler = move |delivery: Delivery| {
            let recorder = recorder.clone();
            async move {
                recorder.deliveries.lock().unwrap().push(delivery.clone());
                recorder.gate.acquire().await.unwrap().forget();
                (recorder.disposition)(&delivery)
            }
        };
        bus.consume(from, options, Arc::new(handler)).await.unwrap()
    }

    /// Waits until `count` messages were delivered.
    pub(crate) async fn wait_for(&self, count: usize) {
        eventually(&format!("{count} messages"), async || self.deliveries().len() >= count).await;
    }
}

/// Waits until `count` messages wait in a queue.
pub(crate) async fn wait_for_depth(bus: &Bus, name: &QueueName, count: u64) {
    let what = format!("{count} waiting in {name}");
    eventually(&what, async || bus.depth(name).await.unwrap().total() == count).await;
}
