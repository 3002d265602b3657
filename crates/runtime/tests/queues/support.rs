//! Runtimes for tests, and agents that record their messages.

use std::sync::{Arc, Mutex};

use ostler_bus::{Envelope, QueueName};
use ostler_domain::queue_agent::breaker::BreakerPolicy;
use ostler_domain::queue_agent::failure::{FailureClass, RecoveryPolicy};
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::reference::ReferenceCode;
use ostler_domain::time::UtcDay;
use ostler_runtime::agents::{
    AgentContext, AgentError, AgentReply, AgentRuntime, AgentRuntimeBuilder, AgentSpec, QueueAgent,
};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::kit::{Backend, Bus, TEST_TIMEOUT, eventually};

type Answer = Result<Option<AgentReply>, AgentError>;

impl Backend {
    pub(crate) async fn builder(&self) -> AgentRuntimeBuilder {
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

pub(crate) fn spec(text: &str) -> AgentSpec {
    AgentSpec::new(name(text))
}

/// Returns a spec without retries and with a breaker that never opens.
pub(crate) fn strict(text: &str) -> AgentSpec {
    let mut recovery = RecoveryPolicy::default();
    for class in FailureClass::ALL {
        recovery = recovery.with(class, Vec::new());
    }
    let breaker = BreakerPolicy { threshold: u32::MAX, ..BreakerPolicy::default() };
    AgentSpec { recovery, breaker, ..spec(text) }
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
    Ok(Some(AgentReply::new("said", json!({ "n": number }))))
}

pub(crate) fn fails(class: FailureClass) -> Answer {
    Err(AgentError::new(class, "as the test wants it"))
}

/// An agent that records its messages and finishes none before its gate is
/// opened.
#[derive(Clone)]
pub(crate) struct Probe {
    seen: Arc<Mutex<Vec<Arc<Envelope>>>>,
    pub(crate) gate: Arc<Semaphore>,
    /// Whether coordination messages are recorded too.
    records_all: bool,
    answer: Arc<dyn Fn(&Envelope) -> Answer + Send + Sync>,
}

impl Probe {
    pub(crate) fn answering(answer: impl Fn(&Envelope) -> Answer + Send + Sync + 'static) -> Self {
        let gate = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
        Self { seen: Arc::default(), gate, records_all: true, answer: Arc::new(answer) }
    }

    /// Accepts everything and never replies.
    pub(crate) fn silent() -> Self {
        Self::answering(|_| Ok(None))
    }

    pub(crate) fn gated(self) -> Self {
        Self { gate: Arc::new(Semaphore::new(0)), ..self }
    }

    /// Records only direct messages, not coordination messages such as idle
    /// notices, which a leader may get at any time.
    pub(crate) fn only_direct(self) -> Self {
        Self { records_all: false, ..self }
    }

    pub(crate) fn release(&self, count: usize) {
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

    pub(crate) async fn wait_for(&self, count: usize) -> Vec<Arc<Envelope>> {
        eventually(&format!("{count} messages"), async || self.seen().len() >= count).await;
        self.seen()
    }
}

impl QueueAgent for Probe {
    async fn process(&self, _context: &AgentContext, envelope: &Arc<Envelope>) -> Answer {
        if !self.records_all && envelope.message.kind.as_str() != "say" {
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

/// Asks an agent and returns the reply.
pub(crate) async fn ask(runtime: &AgentRuntime, agent: &str, number: u64) -> Arc<Envelope> {
    runtime.ask(&name(agent), say(number), TEST_TIMEOUT).await.unwrap()
}
