//! The agent trait: handles a message and may reply.

use std::future::Future;
use std::sync::Arc;

use ostler_bus::{BoxFuture, BusError, Envelope, EnvelopeKind, Failure, Payload};
use ostler_domain::queue_agent::failure::FailureClass;
use serde_json::Value;

use super::context::AgentContext;
use super::error::QueueError;

/// An agent that handles messages from a queue. Its name, capabilities and
/// guards are set by its [`AgentSpec`](super::AgentSpec) when it is started.
pub trait QueueAgent: Send + Sync + 'static {
    /// Handles a message. The reply goes to the sender, if it asked for one.
    fn process(
        &self,
        context: &AgentContext,
        envelope: &Arc<Envelope>,
    ) -> impl Future<Output = Result<Option<AgentReply>, AgentError>> + Send;

    /// Describes what the agent would do with a message, for the approver.
    fn plan(&self, envelope: &Envelope) -> Value {
        serde_json::json!({ "do": envelope.message.kind.as_str() })
    }

    /// Returns a prepared reply for when nothing else works.
    fn fallback(&self, _envelope: &Envelope) -> Option<AgentReply> {
        None
    }
}

/// A reply of an agent. The harness adds sender, parent message and reference
/// code.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentReply {
    pub kind: EnvelopeKind,
    pub payload: Payload,
}

impl AgentReply {
    /// Creates a reply.
    pub fn new(kind: impl Into<EnvelopeKind>, payload: impl Into<Payload>) -> Self {
        Self { kind: kind.into(), payload: payload.into() }
    }
}

/// Why an agent did not handle a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} ({class})")]
pub struct AgentError {
    /// Decides how the harness recovers.
    pub class: FailureClass,
    pub reason: String,
}

impl AgentError {
    /// Creates an error of this class.
    pub fn new(class: FailureClass, reason: impl Into<String>) -> Self {
        Self { class, reason: reason.into() }
    }
}

impl From<AgentError> for Failure {
    fn from(error: AgentError) -> Self {
        Self { class: error.class, reason: error.reason }
    }
}

impl From<BusError> for AgentError {
    fn from(error: BusError) -> Self {
        let class = match error {
            BusError::ReplyTimeout { .. } => FailureClass::Timeout,
            BusError::QueueFull(_) | BusError::TooManyQueues(_) => FailureClass::ResourceExhaustion,
            BusError::MessageTooLarge { .. } | BusError::Encode(_) => FailureClass::Data,
            BusError::NoPendingRequest(_) => FailureClass::Integration,
            BusError::Unavailable { .. }
            | BusError::TopologyRefused { .. }
            | BusError::InvalidAddress
            | BusError::NotEncrypted(_)
            | BusError::RootCertificates { .. }
            | BusError::PrefixTooLong { .. }
            | BusError::Closed => FailureClass::Infrastructure,
        };
        Self::new(class, error.to_string())
    }
}

impl From<QueueError> for AgentError {
    fn from(error: QueueError) -> Self {
        let class = match error {
            QueueError::Bus(error) => return error.into(),
            QueueError::Records(_) | QueueError::Stopped => FailureClass::Infrastructure,
            QueueError::NoAgentAvailable(_)
            | QueueError::AgentStopped(_)
            | QueueError::NoQuorum { .. } => FailureClass::ResourceExhaustion,
            QueueError::Delegation(_) | QueueError::Team(_) | QueueError::Plan(_) => {
                FailureClass::Permission
            }
            QueueError::UnknownPlan(_)
            | QueueError::UnknownAgent(_)
            | QueueError::AlreadyRunning(_)
            | QueueError::PlacementConflict(_)
            | QueueError::UnknownTeam(_)
            | QueueError::TeamExists(_)
            | QueueError::UnknownAgentType(_)
            | QueueError::NotOnWorkList(_)
            | QueueError::InvalidRecord { .. } => FailureClass::Data,
        };
        Self::new(class, error.to_string())
    }
}

/// Creates an agent from a function.
pub fn agent_fn<F, R>(process: F) -> AgentFn<F>
where
    F: Fn(AgentContext, Arc<Envelope>) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Option<AgentReply>, AgentError>> + Send + 'static,
{
    AgentFn(process)
}

/// An agent created by [`agent_fn`].
#[derive(Clone)]
pub struct AgentFn<F>(F);

impl<F, R> QueueAgent for AgentFn<F>
where
    F: Fn(AgentContext, Arc<Envelope>) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Option<AgentReply>, AgentError>> + Send + 'static,
{
    fn process(
        &self,
        context: &AgentContext,
        envelope: &Arc<Envelope>,
    ) -> impl Future<Output = Result<Option<AgentReply>, AgentError>> + Send {
        (self.0)(context.clone(), Arc::clone(envelope))
    }
}

/// The object-safe form of [`QueueAgent`], used by harnesses.
pub(super) trait DynAgent: Send + Sync + 'static {
    fn process_dyn<'a>(
        &'a self,
        context: &'a AgentContext,
        envelope: &'a Arc<Envelope>,
    ) -> BoxFuture<'a, Result<Option<AgentReply>, AgentError>>;

    fn plan_dyn(&self, envelope: &Envelope) -> Value;

    fn fallback_dyn(&self, envelope: &Envelope) -> Option<AgentReply>;
}

impl<A: QueueAgent> DynAgent for A {
    fn process_dyn<'a>(
        &'a self,
        context: &'a AgentContext,
        envelope: &'a Arc<Envelope>,
    ) -> BoxFuture<'a, Result<Option<AgentReply>, AgentError>> {
        Box::pin(self.process(context, envelope))
    }

    fn plan_dyn(&self, envelope: &Envelope) -> Value {
        self.plan(envelope)
    }

    fn fallback_dyn(&self, envelope: &Envelope) -> Option<AgentReply> {
        self.fallback(envelope)
    }
}
