//! Messages that wait for the approval of a plan, kept.

mod kept;
mod memory;

use std::sync::Arc;

use ostler_bus::{BoxFuture, Envelope};
use ostler_domain::dispatch::name::AgentName;
use ostler_domain::dispatch::plan::{Plan, PlanAnswer, PlanEffect, PlanStatus};
use ostler_domain::id::EnvelopeId;
use ostler_domain::reference::ReferenceCode;
use serde::{Deserialize, Serialize};

use super::error::Result;

pub(super) use kept::Kept;
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
    /// The message that it came with.
    pub message: EnvelopeId,
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
    /// Keeps a plan and the message that waits for it, unless there is one
    /// under the key. Returns where the plan of this key stands.
    fn hold<'a>(
        &'a self,
        key: &'a PlanKey,
        plan: Plan,
        held: Arc<Envelope>,
    ) -> BoxFuture<'a, Result<PlanStatus>>;

    /// Takes an answer, as [`Plan::answer`], and returns what follows with the
    /// message that was held. A repeat of the message that decided gets the
    /// same again, so that whoever failed in between can go on.
    fn answer<'a>(
        &'a self,
        key: &'a PlanKey,
        answered: Answered,
    ) -> BoxFuture<'a, Result<(PlanEffect, Arc<Envelope>)>>;

    /// Forgets a plan: what follows from it is done. It does no harm to forget
    /// what is not there.
    fn forget<'a>(&'a self, key: &'a PlanKey) -> BoxFuture<'a, Result<()>>;
}
