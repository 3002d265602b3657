//! Plans that wait for approval, stored with their messages.

mod memory;
mod stored_plan;

use std::sync::Arc;

use ostler_bus::{BoxFuture, Envelope};
use ostler_domain::id::EnvelopeId;
use ostler_domain::queue_agent::name::AgentName;
use ostler_domain::queue_agent::plan::{AgentPlan, PlanAnswer, PlanEffect, PlanStatus};
use ostler_domain::reference::ReferenceCode;
use serde::{Deserialize, Serialize};

use super::error::Result;

pub use memory::MemoryPlans;
pub(super) use stored_plan::StoredPlan;

/// Identifies a plan: one agent and one message.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PlanKey {
    pub agent: AgentName,
    /// The message that the agent would act on.
    pub message: EnvelopeId,
}

/// A plan that waits for an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaitingPlan {
    pub key: PlanKey,
    pub plan: AgentPlan,
    /// The message that the agent would act on.
    pub request: Arc<Envelope>,
}

/// An answer to a plan, with the message it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedPlanAnswer {
    pub message: EnvelopeId,
    pub by: AgentName,
    pub reference: ReferenceCode,
    pub answer: PlanAnswer,
}

/// The plans that wait for approval. All methods may be called concurrently,
/// also from several processes, and each is atomic.
pub trait Plans: Send + Sync + 'static {
    /// Stores a plan and its message unless the key exists. Returns the status
    /// of the stored plan.
    fn hold<'a>(
        &'a self,
        key: &'a PlanKey,
        plan: AgentPlan,
        held: Arc<Envelope>,
    ) -> BoxFuture<'a, Result<PlanStatus>>;

    /// Applies an answer, like [`AgentPlan::answer`], and returns the effect
    /// and the stored message. Repeating the deciding message returns the same
    /// result, so that a failed caller can continue.
    fn answer<'a>(
        &'a self,
        key: &'a PlanKey,
        answered: ReceivedPlanAnswer,
    ) -> BoxFuture<'a, Result<(PlanEffect, Arc<Envelope>)>>;

    /// Returns up to `limit` plans that wait for an answer, oldest first.
    fn waiting(&self, limit: usize) -> BoxFuture<'_, Result<Vec<WaitingPlan>>>;

    /// Deletes a plan whose effect is complete. Deleting a missing plan is
    /// allowed.
    fn forget<'a>(&'a self, key: &'a PlanKey) -> BoxFuture<'a, Result<()>>;
}
