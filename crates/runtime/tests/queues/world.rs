//! Runtimes for tests, and agents that remember what they saw.

use std::sync::{Arc, Mutex};

use ostler_bus::{Envelope, QueueName};
use ostler_domain::dispatch::breaker::BreakerPolicy;
use ostler_domain::dispatch::failure::{FailureClass, RecoveryPolicy};
use ostler_domain::dispatch::name::{AgentName, TeamName};
use ostler_domain::reference::ReferenceCode;
use ostler_domain::time::UtcDay;
use ostler_runtime::queue::{Agent, AgentContext, AgentError, AgentRuntime, Builder, Reply, Spec};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::kit::{Backend, Bus, LONG, eventually};

type Answer = Result<Option<Reply>, AgentError>;

impl Backend {
    pub(crate) async fn builder(&self) -> Builder {
        AgentRuntime::builder(self.bus().await)
    }

    pub(crate) async fn runtime(&self) -> AgentRuntime {
        self.builder().await.start().await.unwrap()
    }
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
    /// What is not said to it is let pass.
    hears_all: bool,
    answer: Arc<dyn Fn(&Envelope) -> Answer + Send + Sync>,
}

impl Probe {
    pub(crate) fn answering(answer: impl Fn(&Envelope) -> Answer + Send + Sync + 'static) -> Self {
        let gate = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
        Self { seen: Arc::default(), gate, hears_all: true, answer: Arc::new(answer) }
    }

    /// Takes everything and says nothing.
    pub(crate) fn quiet() -> Self {
        Self::answering(|_| Ok(None))
    }

    pub(crate) fn gated(self) -> Self {
        Self { gate: Arc::new(Semaphore::new(0)), ..self }
    }

    /// Notes only what is said to it, not what its team tells: whoever leads one
    /// hears at any moment that a member has nothing to do.
    pub(crate) fn at_work(self) -> Self {
        Self { hears_all: false, ..self }
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
        if !self.hears_all && envelope.message.kind.as_str() != "say" {
            return Ok(None);
        }
        self.seen.lock().unwrap().push(Arc::clone(envelope));
        self.gate.acquire().await.unwrap().forget();
        (self.answer)(envelope)
    }
}

pub(crate) async fn waiting(bus: &Bus, agent: &str) -> u64 {
    bus.depth(&QueueName::agent(&name(agent))).await.unwrap().total()
}

/// A question that an agent answers.
pub(crate) async fn ask(runtime: &AgentRuntime, agent: &str, number: u64) -> Arc<Envelope> {
    runtime.ask(&name(agent), say(number), LONG).await.unwrap()
}
