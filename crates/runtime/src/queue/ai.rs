//! An AI agent of an org on the bus. What comes in is taken into the inbox of a
//! conversation before it is acked, a worker answers it in the agent's harness
//! like anything that somebody writes, and the answer goes back through the
//! outbox: what holds for customers holds here too.
//!
//! It never runs a turn itself and never replies itself; workers and couriers
//! do, in this process or in another.

use std::sync::Arc;

use ostler_bus::Envelope;
use ostler_domain::dispatch::failure::FailureClass;
use ostler_domain::dispatch::name::AgentName;
use ostler_domain::id::{AgentId, BindingId, OrgId};
use ostler_domain::message::Part;
use ostler_domain::session::key::{ConversationKey, Entry as By, Peer};
use ostler_store::{Accepted, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::agent::{Agent, AgentError, Reply};
use super::context::AgentContext;
use super::registry::{AgentRecord, Placement};
use super::spec::Spec;
use crate::ids::derived;
use crate::inbound::accept::Intake;
use crate::talk::asked::Asked;
use crate::talk::entry::{Entry, Writer, Wrote};

/// The type of what an agent or a person answers.
pub const ANSWER: &str = "answer";
/// The type of what the runtime says instead: that somebody was asked for, or
/// that there will be no answer.
pub const NOTICE: &str = "notice";

/// An AI agent.
#[derive(Debug, Clone)]
pub struct Ai {
    intake: Intake,
    who: Who,
}

/// Which agent it is, as its record says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Who {
    org: OrgId,
    agent: AgentId,
}

impl Ai {
    /// The type under which its records name it.
    pub const TYPE: &'static str = "ai";

    /// An agent of an org, whose messages are accepted there.
    pub const fn new(intake: Intake, org: OrgId, agent: AgentId) -> Self {
        Self { intake, who: Who { org, agent } }
    }

    /// What makes agents from the records that [`Self::spec`] leads to.
    pub fn factory(
        intake: Intake,
    ) -> impl Fn(&AgentRecord) -> Result<Self, String> + Send + Sync + 'static {
        move |record| {
            let who = Who::deserialize(&record.config).map_err(|error| error.to_string())?;
            Ok(Self { intake: intake.clone(), who })
        }
    }

    /// The agent under a name, with the usual guards. Accepting is all that the
    /// queue waits for, so that much may be accepted at once.
    pub fn spec(&self, name: AgentName) -> Spec {
        let config = serde_json::to_value(self.who).unwrap_or_default();
        Spec { config, ..Spec::new(name).of_type(Self::TYPE).at_once(16) }
    }

    /// The record under which any process of the installation makes it when it is
    /// asked.
    pub fn record(&self, name: AgentName) -> AgentRecord {
        let Spec { at_once, config, .. } = self.spec(name.clone());
        let at_once = at_once.into();
        AgentRecord { at_once, config, ..AgentRecord::new(name, Self::TYPE, Placement::Hosted) }
    }

    /// The conversation that a message belongs to: that of its sender, or, where
    /// nobody says who sent it, that of its code.
    fn key(&self, sender: &str) -> ConversationKey {
        let Who { org, agent } = self.who;
        let binding = derived(BindingId::from_u128, agent.as_u128(), "bus");
        ConversationKey { org, binding, peer: Peer::Person(sender.to_owned()), entry: By::Customer }
    }
}

impl Agent for Ai {
    async fn process(
        &self,
        context: &AgentContext,
        envelope: &Arc<Envelope>,
    ) -> Result<Option<Reply>, AgentError> {
        let from = envelope.context.from_agent.as_ref();
        let sender = from.map_or_else(|| envelope.reference.to_string(), ToString::to_string);
        let id = envelope.message.id.to_string();
        let entry = Entry::Wrote(Wrote {
            parts: vec![Part::text(words(envelope))],
            from: Writer {
                identifier: sender.clone(),
                name: from.map(ToString::to_string),
                locale: None,
            },
            named_agent: Some(self.who.agent),
            asked: Some(Box::new(Asked::of(envelope, context.name()))),
            ..Wrote::default()
        });
        match self.intake.accept(self.key(&sender), &id, &entry).await {
            Ok(Accepted::New(_)) => {}
            Ok(Accepted::Repeat(_)) => {
                tracing::debug!(agent = %context.name(), %id, "a message came once more");
            }
            Err(error) => {
                let class = match error {
                    StoreError::Backlog { .. } => FailureClass::ResourceExhaustion,
                    StoreError::NotFound(_) => FailureClass::Data,
                    _ => FailureClass::Infrastructure,
                };
                return Err(AgentError::new(class, error.to_string()));
            }
        }
        Ok(None)
    }
}

/// What a message says, in words: its text if it has nothing else, or all of it.
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
