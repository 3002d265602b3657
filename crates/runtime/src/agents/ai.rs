//! AI agents of an org on the bus.
//!
//! An AI agent only accepts messages: each becomes a row in the inbox of a
//! conversation with its sender, identified by the message id, and is acked
//! after that commit. A worker answers it in the agent's harness like any
//! customer message, and a delivery worker sends the answer from the outbox, under an
//! id that a repeat keeps. The agent never runs a turn and never replies
//! itself; workers and delivery workers do, in this or another process.

use std::sync::Arc;

use ostler_bus::Envelope;
use ostler_domain::contact::SenderProof;
use ostler_domain::id::{AgentId, BindingId, OrgId};
use ostler_domain::message::MessagePart;
use ostler_domain::queue_agent::failure::FailureClass;
use ostler_domain::queue_agent::name::AgentName;
use ostler_domain::session::key::{ConversationEntry as By, ConversationKey, Peer};
use ostler_store::{AcceptOutcome, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::agent::{AgentError, AgentReply, QueueAgent};
use super::context::AgentContext;
use super::coordination::{CoordinationMessage, IdleNotice};
use super::registry::{AgentRecord, Placement};
use super::relay;
use super::spec::AgentSpec;
use crate::ids::derived;
use crate::inbox::Intake;
use crate::records::bus_request::BusRequest;
use crate::records::entry::{InboxEntry, IncomingMessage, MessageSender};

/// The message type of an answer by an agent or a person.
pub const ANSWER_KIND: &str = "answer";
/// The message type of a notice sent instead of an answer: a person was asked
/// to help, or there will be no answer.
pub const NOTICE_KIND: &str = "notice";

/// How many messages an agent accepts at the same time; accepting one is quick.
const CONCURRENCY: u16 = 16;

/// An AI agent of an org.
#[derive(Debug, Clone)]
pub struct AiAgent {
    intake: Intake,
    config: AiAgentConfig,
    answer_path: AnswerPath,
}

/// How an answer reaches the bus that its request came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerPath {
    /// A delivery worker of any process sends it.
    Delivery,
    /// No other process reaches this bus, and any process may have given the answer: it is
    /// read from the store.
    Relay,
}

/// The configuration stored in the agent's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct AiAgentConfig {
    org: OrgId,
    agent: AgentId,
}

impl AiAgent {
    /// The agent type in its record.
    pub const TYPE: &'static str = "ai";

    /// Creates an agent of an org whose messages are accepted by `intake`.
    pub const fn new(intake: Intake, org: OrgId, agent: AgentId) -> Self {
        Self { intake, config: AiAgentConfig { org, agent }, answer_path: AnswerPath::Delivery }
    }

    /// Returns a factory that creates agents from the records of
    /// [`Self::record`].
    pub fn factory(
        intake: Intake,
    ) -> impl Fn(&AgentRecord) -> Result<Self, String> + Send + Sync + 'static {
        move |record| Self::from_record(&intake, record, AnswerPath::Delivery)
    }

    /// Like [`Self::factory`], for a bus that no other process reaches.
    pub fn factory_on_own_bus(
        intake: Intake,
    ) -> impl Fn(&AgentRecord) -> Result<Self, String> + Send + Sync + 'static {
        move |record| Self::from_record(&intake, record, AnswerPath::Relay)
    }

    fn from_record(
        intake: &Intake,
        record: &AgentRecord,
        answer_path: AnswerPath,
    ) -> Result<Self, String> {
        let config =
            AiAgentConfig::deserialize(&record.config).map_err(|error| error.to_string())?;
        Ok(Self { intake: intake.clone(), config, answer_path })
    }

    /// Returns a spec for this agent with default guards.
    pub fn spec(&self, name: AgentName) -> AgentSpec {
        let config = serde_json::to_value(self.config).unwrap_or_default();
        AgentSpec { config, ..AgentSpec::new(name).with_type(Self::TYPE).concurrency(CONCURRENCY) }
    }

    /// Returns a record from which any process of the installation can create
    /// the agent.
    pub fn record(&self, name: AgentName) -> AgentRecord {
        Self::record_of(self.config.org, self.config.agent, name)
    }

    /// Returns the record of an agent of an org.
    pub fn record_of(org: OrgId, agent: AgentId, name: AgentName) -> AgentRecord {
        let config = serde_json::to_value(AiAgentConfig { org, agent }).unwrap_or_default();
        let concurrency = CONCURRENCY.into();
        AgentRecord { concurrency, config, ..AgentRecord::new(name, Self::TYPE, Placement::Hosted) }
    }

    /// Returns the conversation of a message: that of its sender, or that of
    /// its reference code if the sender is unknown.
    fn key(&self, sender: &str) -> ConversationKey {
        let AiAgentConfig { org, agent } = self.config;
        let binding = derived(BindingId::from_u128, agent.as_u128(), "bus");
        ConversationKey { org, binding, peer: Peer::Person(sender.to_owned()), entry: By::Customer }
    }
}

impl QueueAgent for AiAgent {
    async fn process(
        &self,
        context: &AgentContext,
        envelope: &Arc<Envelope>,
    ) -> Result<Option<AgentReply>, AgentError> {
        // No turn is spent on a member of its team that has nothing to do.
        if IdleNotice::is(&envelope.message.kind) {
            return Ok(None);
        }
        let from = envelope.context.from_agent.as_ref();
        let sender = from.map_or_else(|| envelope.reference.to_string(), ToString::to_string);
        let id = envelope.message.id.to_string();
        let entry = InboxEntry::Message(IncomingMessage {
            parts: vec![MessagePart::text(words(envelope))],
            from: MessageSender {
                identifier: sender.clone(),
                name: from.map(ToString::to_string),
                locale: None,
                proof: SenderProof::Proven,
            },
            named_agent: Some(self.config.agent),
            bus_request: Some(Box::new(BusRequest::of(envelope, context.name()))),
            ..IncomingMessage::default()
        });
        let key = self.key(&sender);
        if self.answer_path == AnswerPath::Relay {
            let request = BusRequest::of(envelope, context.name());
            relay::spawn(context.runtime(), self.intake.store(), key.clone(), request);
        }
        match self.intake.accept(key, &id, &entry).await {
            Ok(AcceptOutcome::New(_)) => {}
            Ok(AcceptOutcome::Duplicate(_)) => {
                tracing::debug!(agent = %context.name(), %id, "duplicate message ignored");
            }
            Err(error) => {
                let class = match error {
                    StoreError::BacklogFull { .. } => FailureClass::ResourceExhaustion,
                    StoreError::NotFound(_) => FailureClass::Data,
                    _ => FailureClass::Infrastructure,
                };
                return Err(AgentError::new(class, error.to_string()));
            }
        }
        Ok(None)
    }
}

/// Returns the text of a message, or its type and payload if it has other
/// fields.
fn words(envelope: &Envelope) -> String {
    let message = &envelope.message;
    match &*message.payload {
        Value::String(text) => text.clone(),
        Value::Object(fields) if fields.len() == 1 => match fields.get("text") {
            Some(Value::String(text)) => text.clone(),
            _ => format!("{}: {}", message.kind, *message.payload),
        },
        other => format!("{}: {other}", message.kind),
    }
}
