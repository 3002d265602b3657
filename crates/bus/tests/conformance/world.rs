//! Buses for tests, and consumers that remember what they saw.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ostler_bus::{
    ConsumeOptions, Consumer, Delivery, Envelope, Failure, Limits, MemoryBus, MessageBus,
    QueueName, RabbitBus, RabbitOptions, Verdict,
};
use ostler_domain::dispatch::failure::FailureClass;
use ostler_domain::reference::ReferenceCode;
use ostler_domain::time::UtcDay;
use serde_json::json;
use tokio::sync::Semaphore;

pub(crate) type Bus = Arc<dyn MessageBus>;

/// Where a test's buses are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    Memory,
    /// The broker that `make test` started; the queues of a test have a prefix.
    RabbitMq {
        url: String,
        prefix: String,
    },
}

pub(crate) fn broker() -> String {
    std::env::var("OSTLER_TEST_AMQP_URL")
        .expect("OSTLER_TEST_AMQP_URL is not set; run the tests with `make test`")
}

/// A prefix that no other test has, in this process or another.
pub(crate) fn prefix() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("t{}-{:x}-{number}.", std::process::id(), ostler_bus::now().as_millis())
}

impl Backend {
    pub(crate) fn rabbitmq() -> Self {
        Self::RabbitMq { url: broker(), prefix: prefix() }
    }

    pub(crate) async fn bus(&self) -> Bus {
        self.limited(Limits::default()).await
    }

    /// A bus with these limits; on RabbitMQ with queues of its own.
    pub(crate) async fn limited(&self, limits: Limits) -> Bus {
        match self {
            Self::Memory => Arc::new(MemoryBus::new(limits)),
            Self::RabbitMq { url, .. } => {
                let options =
                    RabbitOptions { prefix: prefix(), limits, ..RabbitOptions::default() };
                Arc::new(RabbitBus::connect(url, options).await.expect("the broker answers"))
            }
        }
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

/// Waits until something is so. It takes as long as it takes on a busy
/// machine; what never comes is told by name.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), waiting).await;
    assert!(waited.is_ok(), "waited for {what} in vain");
}

/// Waits until so many messages wait in a queue.
pub(crate) async fn until_waiting(bus: &Bus, name: &QueueName, count: u64) {
    let what = format!("{count} waiting in {name}");
    eventually(&what, async || bus.depth(name).await.unwrap().total() == count).await;
}

/// Waits until so many dead letters are there, and returns them.
pub(crate) async fn dead(bus: &Bus, count: usize) -> Vec<ostler_bus::DeadLetter> {
    let all = async || bus.dead_letters(ostler_bus::Selection::All, 1000).await.unwrap();
    eventually(&format!("{count} dead letters"), async || all().await.len() >= count).await;
    all().await
}
