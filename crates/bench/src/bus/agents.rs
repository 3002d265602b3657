//! Agents in their harnesses, on a bus.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{Envelope, Kind, MessageBus, Payload, QueueName};
use ostler_domain::dispatch::name::AgentName;
use ostler_domain::reference::ReferenceCode;
use ostler_runtime::queue::{AgentRecord, AgentRuntime, Echo, Hosting, Placement, Spec};
use serde_json::json;

use super::load::Asked;
use crate::BenchError;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Echo agents that are asked in turn.
pub(super) struct Agents {
    runtime: AgentRuntime,
    names: Vec<AgentName>,
    question: Question,
}

/// What is asked.
pub(super) struct Question {
    kind: Kind,
    payload: Payload,
    code: ReferenceCode,
}

impl Question {
    pub(super) async fn new(runtime: &AgentRuntime) -> Result<Self, BenchError> {
        let payload = json!({ "text": "Is everything all right?" }).into();
        Ok(Self { kind: "say".into(), payload, code: runtime.new_code().await? })
    }

    pub(super) fn envelope(&self) -> Envelope {
        Envelope::new(self.kind.clone(), self.payload.clone(), self.code)
    }
}

/// The name of an agent by its number.
pub(super) fn name(number: usize) -> Result<AgentName, BenchError> {
    Ok(format!("echo-{number:07}").parse()?)
}

impl Agents {
    /// Agents with a queue each, which handle so many messages at once.
    pub(super) async fn pinned(
        bus: Arc<dyn MessageBus>,
        count: usize,
        at_once: u16,
    ) -> Result<Self, BenchError> {
        let mut builder = AgentRuntime::builder(bus);
        for number in 0..count {
            builder = builder.agent(Spec { at_once, ..Spec::new(name(number)?) }, Echo);
        }
        Self::of(builder.start().await?, count).await
    }

    /// Agents that share queues.
    pub(super) async fn hosted(
        bus: Arc<dyn MessageBus>,
        count: usize,
        hosting: Hosting,
    ) -> Result<Self, BenchError> {
        let runtime = AgentRuntime::builder(bus).hosting(hosting).start().await?;
        for number in 0..count {
            runtime.host(AgentRecord::new(name(number)?, Echo::TYPE, Placement::Hosted)).await?;
        }
        Self::of(runtime, count).await
    }

    async fn of(runtime: AgentRuntime, count: usize) -> Result<Self, BenchError> {
        let names = (0..count).map(name).collect::<Result<_, _>>()?;
        let question = Question::new(&runtime).await?;
        Ok(Self { runtime, names, question })
    }

    /// The form of a question on the wire, with where its reply goes.
    pub(super) fn body(&self) -> Result<Vec<u8>, BenchError> {
        let mut question = self.question.envelope();
        question.context.reply_to = self.names.first().map(QueueName::agent);
        Ok(serde_json::to_vec(&question)?)
    }

    pub(super) async fn shutdown(&self) -> Result<(), BenchError> {
        Ok(self.runtime.shutdown().await?)
    }
}

impl Asked for Agents {
    async fn ask(&self, number: usize) -> Result<(), BenchError> {
        let name = &self.names[number % self.names.len()];
        self.runtime.ask(name, self.question.envelope(), PATIENCE).await?;
        Ok(())
    }
}
