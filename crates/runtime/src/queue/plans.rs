//! Messages that wait for the approval of a plan, kept.

mod memory;

use std::sync::Arc;

use ostler_bus::{BoxFuture, Envelope};
use ostler_domain::dispatch::name::AgentName;
use ostler_domain::dispatch::plan::{Plan, PlanAnswer, PlanEffect};
use ostler_domain::id::EnvelopeId;
use ostler_domain::reference::ReferenceCode;
use serde::{Deserialize, Serialize};

use super::error::Result;

pub use memory::MemoryPlans;

/// Which plan: that of an agent for a message.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PlanKey {
    /// Who wants to act.
    pub agent: AgentName,
    /// The message that it would act upon.
    pub message: EnvelopeId,
}

/// The approver's answer as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// Who answered.
    pub by: AgentName,
    /// Under which code.
    pub reference: ReferenceCode,
    /// What.
    pub answer: PlanAnswer,
}

/// The plans that wait. All operations may be called from anywhere at the same
/// time, from several processes too, and each is done whole or not at all.
pub trait Plans: Send + Sync + 'static {
    /// Keeps a plan and the message that waits for it. One that is there under
    /// the key stays as it is.
    fn hold<'a>(
        &'a self,
        key: &'a PlanKey,
        plan: Plan,
        held: Arc<Envelope>,
    ) -> BoxFuture<'a, Result<()>>;

    /// Takes an answer, as [`Plan::answer`]. If it counts, the plan no longer
    /// waits, and what follows comes back with the message that was held. There
    /// is one caller to whom this happens.
    fn answer<'a>(
        &'a self,
        key: &'a PlanKey,
        answered: Answered,
    ) -> BoxFuture<'a, Result<(PlanEffect, Arc<Envelope>)>>;
}
