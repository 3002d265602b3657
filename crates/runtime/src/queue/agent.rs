//! What an agent is: something that takes a message and may reply.

use std::future::Future;
use std::sync::Arc;

use ostler_bus::{BoxFuture, BusError, Envelope, Failure, Kind, Payload};
use ostler_domain::dispatch::failure::FailureClass;
use serde_json::Value;

use super::context::AgentContext;
use super::error::QueueError;

/// An agent. Under which name it works, what it can do and how it is guarded
/// is said when it is started, by its [`Spec`](super::Spec).
pub trait Agent: Send + Sync + 'static {
    /// Handles a message. The reply goes to whoever asked, if somebody did.
    fn process(
        &self,
        context: &AgentContext,
        envelope: &Arc<Envelope>,
    ) -> impl Future<Output = Result<Option<Reply>, AgentError>> + Send;

    /// What it would do with a message, for the one who has to approve it.
    fn plan(&self, envelope: &Envelope) -> Value {
        serde_json::json!({ "do": envelope.message.kind.as_str() })
    }

    /// The reply that is prepared for the case that nothing else works.
    fn fallback(&self, _envelope: &Envelope) -> Option<Reply> {
        None
    }
}

/// What an agent answers. Who answers, to which message and under which code is
/// the harness's to say.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// What the answer is.
    pub kind: Kind,
    /// What it says.
    pub payload: Payload,
}

impl Reply {
    /// A reply.
    pub fn new(kind: impl Into<Kind>, payload: impl Into<Payload>) -> Self {
        Self { kind: kind.into(), payload: payload.into() }
    }
}

/// Why an agent did not handle a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} ({class})")]
pub struct AgentError {
    /// What kind of failure it is, which decides what is done about it.
    pub class: FailureClass,
    /// Why, in words.
    pub reason: String,
}

impl AgentError {
    /// A failure of this kind.
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
            BusError::NoReply { .. } => FailureClass::Timeout,
            BusError::Full(_) | BusError::TooManyQueues(_) => FailureClass::ResourceExhaustion,
            BusError::TooLarge { .. } | BusError::Encode(_) => FailureClass::Data,
            BusError::NobodyWaits(_) => FailureClass::Integration,
            BusError::Unavailable { .. }
            | BusError::Topology { .. }
            | BusError::Address
            | BusError::Prefix { .. }
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
            QueueError::NobodyAble(_) | QueueError::Away(_) | QueueError::NoQuorum { .. } => {
                FailureClass::ResourceExhaustion
            }
            QueueError::Delegation(_) | QueueError::Team(_) | QueueError::Plan(_) => {
                FailureClass::Permission
            }
            QueueError::UnknownPlan(_)
            | QueueError::UnknownAgent(_)
            | QueueError::AlreadyRunning(_)
            | QueueError::Placement(_)
            | QueueError::UnknownTeam(_)
            | QueueError::TeamExists(_)
            | QueueError::UnknownType(_)
            | QueueError::NotOnTheList(_)
            | QueueError::Config { .. } => FailureClass::Data,
        };
        Self::new(class, error.to_string())
    }
}

/// An agent made of a function.
pub fn agent_fn<F, R>(process: F) -> AgentFn<F>
where
    F: Fn(AgentContext, Arc<Envelope>) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Option<Reply>, AgentError>> + Send + 'static,
{
    AgentFn(process)
}

/// What [`agent_fn`] makes.
#[derive(Clone)]
pub struct AgentFn<F>(F);

impl<F, R> Agent for AgentFn<F>
where
    F: Fn(AgentContext, Arc<Envelope>) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Option<Reply>, AgentError>> + Send + 'static,
{
    fn process(
        &self,
        context: &AgentContext,
        envelope: &Arc<Envelope>,
    ) -> impl Future<Output = Result<Option<Reply>, AgentError>> + Send {
        (self.0)(context.clone(), Arc::clone(envelope))
    }
}

/// An agent of whatever type, as harnesses hold it.
pub(super) trait AnyAgent: Send + Sync + 'static {
    fn process_any<'a>(
        &'a self,
        context: &'a AgentContext,
        envelope: &'a Arc<Envelope>,
    ) -> BoxFuture<'a, Result<Option<Reply>, AgentError>>;

    fn plan_any(&self, envelope: &Envelope) -> Value;

    fn fallback_any(&self, envelope: &Envelope) -> Option<Reply>;
}

impl<A: Agent> AnyAgent for A {
    fn process_any<'a>(
        &'a self,
        context: &'a AgentContext,
        envelope: &'a Arc<Envelope>,
    ) -> BoxFuture<'a, Result<Option<Reply>, AgentError>> {
        Box::pin(self.process(context, envelope))
    }

    fn plan_any(&self, envelope: &Envelope) -> Value {
        self.plan(envelope)
    }

    fn fallback_any(&self, envelope: &Envelope) -> Option<Reply> {
        self.fallback(envelope)
    }
}
