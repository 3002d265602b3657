//! Runtimes for tests, and agents that remember what they saw.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ostler_bus::{
    DeadLetter, Envelope, Limits, MemoryBus, MessageBus, QueueName, RabbitBus, RabbitOptions,
    Selection,
};
use ostler_domain::dispatch::breaker::BreakerPolicy;
use ostler_domain::dispatch::failure::{FailureClass, RecoveryPolicy};
use ostler_domain::dispatch::name::{AgentName, TeamName};
use ostler_domain::reference::ReferenceCode;
use ostler_domain::time::UtcDay;
use ostler_runtime::queue::{Agent, AgentContext, AgentError, AgentRuntime, Builder, Reply, Spec};
use serde_json::json;
use tokio::sync::Semaphore;

pub(crate) type Bus = Arc<dyn MessageBus>;
type Answer = Result<Option<Reply>, AgentError>;

/// Longer than anything takes on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Where a test's buses are.
#[derive(Debug)]
pub(crate) enum Backend {
    Memory,
    /// The broker that `make test` started.
    RabbitMq(String),
}

impl Backend {
    pub(crate) fn rabbitmq() -> Self {
        let address = std::env::var("OSTLER_TEST_AMQP_URL")
            .expect("OSTLER_TEST_AMQP_URL is not set; run the tests with `make test`");
        Self::RabbitMq(address)
    }

    /// A bus of the test's own.
    pub(crate) async fn bus(&self) -> Bus {
        self.shared(&prefix(), Limits::default()).await
    }

    /// A bus whose queues others with the same prefix see too.
    pub(crate) async fn shared(&self, prefix: &str, limits: Limits) -> Bus {
        match self {
            Self::Memory => Arc::new(MemoryBus::new(limits)),
            Self::RabbitMq(address) => {
                let prefix = prefix.to_owned();
                let options = RabbitOptions { prefix, limits, ..RabbitOptions::default() };
                Arc::new(RabbitBus::connect(address, options).await.expect("the broker answers"))
            }
        }
    }

    pub(crate) async fn builder(&self) -> Builder {
        AgentRuntime::builder(self.bus().await)
    }

    pub(crate) async fn runtime(&self) -> AgentRuntime {
        self.builder().await.start().await.unwrap()
    }
}

/// A prefix that no other test has, in this process or another.
pub(crate) fn prefix() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("r{}-{:x}-{number}.", std::process::id(), ostler_bus::now().as_millis())
}

pub(crate) fn name(text: &str) -> AgentName {
    text.parse().unwrap()
}

pub(crate) fn team(text: &str) -> TeamName {
    text.parse().unwrap()
}

pub(crate) fn spec(text: &str) -> Spec {
    Spec::new(name(text))
}

/// An agent that is given up at the first failure and whose breaker stays shut.
pub(crate) fn strict(text: &str) -> Spec {
    let mut recovery = RecoveryPolicy::default();
    for class in FailureClass::ALL {
        recovery = recovery.with(class, Vec::new());
    }
    let breaker = BreakerPolicy { threshold: u32::MAX, ..BreakerPolicy::default() };
    Spec { recovery, breaker, ..spec(text) }
}

pub(crate) fn code(number: u64) -> ReferenceCode {
    ReferenceCode::new(UtcDay::default(), number)
}

pub(crate) fn say(number: u64) -> Envelope {
    Envelope::new("say", json!({ "n": number }), code(number))
}

pub(crate) fn number(envelope: &Envelope) -> u64 {
    envelope.message.payload["n"].as_u64().unwrap_or_default()
}

pub(crate) fn said(number: u64) -> Answer {
    Ok(Some(Reply::new("said", json!({ "n": number }))))
}

pub(crate) fn fails(class: FailureClass) -> Answer {
    Err(AgentError::new(class, "as the test wants it"))
}

/// An agent that remembers what it saw, and finishes nothing before its gate
/// lets it.
#[derive(Clone)]
pub(crate) struct Probe {
    seen: Arc<Mutex<Vec<Arc<Envelope>>>>,
    pub(crate) gate: Arc<Semaphore>,
    answer: Arc<dyn Fn(&Envelope) -> Answer + Send + Sync>,
}

impl Probe {
    pub(crate) fn answering(answer: impl Fn(&Envelope) -> Answer + Send + Sync + 'static) -> Self {
        let gate = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
        Self { seen: Arc::default(), gate, answer: Arc::new(answer) }
    }

    /// Takes everything and says nothing.
    pub(crate) fn quiet() -> Self {
        Self::answering(|_| Ok(None))
    }

    pub(crate) fn gated(self) -> Self {
        Self { gate: Arc::new(Semaphore::new(0)), ..self }
    }

    pub(crate) fn let_pass(&self, count: usize) {
        self.gate.add_permits(count);
    }

    pub(crate) fn seen(&self) -> Vec<Arc<Envelope>> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.seen().iter().map(|envelope| number(envelope)).collect()
    }

    pub(crate) fn kinds(&self) -> Vec<String> {
        self.seen().iter().map(|envelope| envelope.message.kind.to_string()).collect()
    }

    pub(crate) async fn until(&self, count: usize) -> Vec<Arc<Envelope>> {
        eventually(&format!("{count} messages"), async || self.seen().len() >= count).await;
        self.seen()
    }
}

impl Agent for Probe {
    async fn process(&self, _context: &AgentContext, envelope: &Arc<Envelope>) -> Answer {
        self.seen.lock().unwrap().push(Arc::clone(envelope));
        self.gate.acquire().await.unwrap().forget();
        (self.answer)(envelope)
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
    let waited = tokio::time::timeout(LONG, waiting).await;
    assert!(waited.is_ok(), "waited for {what} in vain");
}

/// Waits until so many dead letters are there, and returns them.
pub(crate) async fn dead(bus: &Bus, count: usize) -> Vec<DeadLetter> {
    let all = async || bus.dead_letters(Selection::All, 1000).await.unwrap();
    eventually(&format!("{count} dead letters"), async || all().await.len() >= count).await;
    all().await
}

pub(crate) async fn waiting(bus: &Bus, agent: &str) -> u64 {
    bus.depth(&QueueName::agent(&name(agent))).await.unwrap().total()
}

/// A question that an agent answers.
pub(crate) async fn ask(runtime: &AgentRuntime, agent: &str, number: u64) -> Arc<Envelope> {
    runtime.ask(&name(agent), say(number), LONG).await.unwrap()
}
