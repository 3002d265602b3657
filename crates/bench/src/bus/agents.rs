//! Queue agents in their harnesses, on a bus.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{Envelope, EnvelopeKind, MessageBus, Payload, QueueName};
use ostler_domain::queue_agent::name::AgentName;
use ostler_domain::reference::ReferenceCode;
use ostler_runtime::agents::{
    AgentRecord, AgentRuntime, AgentSpec, EchoAgent, HostingOptions, Placement,
};
use serde_json::json;

use super::load::LoadTarget;
use crate::BenchError;

const REPLY_TIMEOUT: Duration = Duration::from_secs(30);

/// Echo agents that are asked in turn.
pub(super) struct Agents {
    runtime: AgentRuntime,
    names: Vec<AgentName>,
    question: EchoRequest,
}

/// The request that is measured.
pub(super) struct EchoRequest {
    kind: EnvelopeKind,
    payload: Payload,
    code: ReferenceCode,
}

impl EchoRequest {
    pub(super) async fn new(runtime: &AgentRuntime) -> Result<Self, BenchError> {
        let payload = json!({ "text": "Is everything all right?" }).into();
        Ok(Self { kind: "say".into(), payload, code: runtime.new_reference_code().await? })
    }

    pub(super) fn envelope(&self) -> Envelope {
        Envelope::new(self.kind.clone(), self.payload.clone(), self.code)
    }
}

/// Returns the name of an agent.
pub(super) fn name(number: usize) -> Result<AgentName, BenchError> {
    Ok(format!("echo-{number:07}").parse()?)
}

impl Agents {
    /// Starts agents with a queue each and this concurrency.
    pub(super) async fn pinned(
        bus: Arc<dyn MessageBus>,
        count: usize,
        at_once: u16,
    ) -> Result<Self, BenchError> {
        let mut builder = AgentRuntime::builder(bus);
        for number in 0..count {
            builder = builder.agent(
                AgentSpec { concurrency: at_once, ..AgentSpec::new(name(number)?) },
                EchoAgent,
            );
        }
        Self::of(builder.start().await?, count).await
    }

    /// Registers agents that share queues.
    pub(super) async fn hosted(
        bus: Arc<dyn MessageBus>,
        count: usize,
        hosting: HostingOptions,
    ) -> Result<Self, BenchError> {
        let runtime = AgentRuntime::builder(bus).hosting(hosting).start().await?;
        for number in 0..count {
            runtime
                .host(AgentRecord::new(name(number)?, EchoAgent::TYPE, Placement::Hosted))
                .await?;
        }
        Self::of(runtime, count).await
    }

    async fn of(runtime: AgentRuntime, count: usize) -> Result<Self, BenchError> {
        let names = (0..count).map(name).collect::<Result<_, _>>()?;
        let question = EchoRequest::new(&runtime).await?;
        Ok(Self { runtime, names, question })
    }

    /// Returns a request as it is on the wire, with its reply address.
    pub(super) fn body(&self) -> Result<Vec<u8>, BenchError> {
        let mut question = self.question.envelope();
        question.context.reply_to = self.names.first().map(QueueName::agent);
        Ok(serde_json::to_vec(&question)?)
    }

    pub(super) async fn shutdown(&self) -> Result<(), BenchError> {
        Ok(self.runtime.shutdown().await?)
    }
}

impl LoadTarget for Agents {
    async fn ask(&self, number: usize) -> Result<(), BenchError> {
        let name = &self.names[number % self.names.len()];
        self.runtime.ask(name, self.question.envelope(), REPLY_TIMEOUT).await?;
        Ok(())
    }
}
