//! Stored delegations: assignee, deadline and dependencies. The rules are those
//! of
//! [`DelegationBoard`](ostler_domain::queue_agent::delegation::DelegationBoard).

mod memory;

use ostler_bus::BoxFuture;
use ostler_domain::id::DelegationId;
use ostler_domain::queue_agent::delegation::{Delegation, DelegationStatus};
use ostler_domain::queue_agent::name::AgentName;
use ostler_domain::queue_agent::sla::{SlaAction, SlaPolicy};
use ostler_domain::time::Timestamp;

use super::error::Result;
use super::page::Page;

pub use memory::MemoryDelegations;

/// Selects delegations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DelegatedWork {
    All,
    /// Assigned to this agent.
    Of(AgentName),
    /// Unfinished and due before this moment.
    OverdueAt(Timestamp),
    /// Waiting for unfinished work.
    Blocked,
    /// Unfinished and not blocked.
    Ready,
}

/// An action for a delegation whose deadline has passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlaDue {
    pub work: Delegation,
    pub action: SlaAction,
}

/// The delegations. All methods may be called concurrently, also from several
/// processes, and each is atomic.
pub trait Delegations: Send + Sync + 'static {
    /// Adds a delegation, like `DelegationBoard::delegate`.
    fn delegate(&self, work: Delegation) -> BoxFuture<'_, Result<()>>;

    /// Makes one delegation wait for another, like `DelegationBoard::block`.
    fn block(&self, task: DelegationId, blocker: DelegationId) -> BoxFuture<'_, Result<()>>;

    /// Changes the status of a delegation, like `DelegationBoard::update`.
    /// Returns the delegations that became ready.
    fn update(
        &self,
        id: DelegationId,
        to: DelegationStatus,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Vec<Delegation>>>;

    /// Returns a delegation.
    fn get(&self, id: DelegationId) -> BoxFuture<'_, Result<Option<Delegation>>>;

    /// Returns matching delegations, ordered by id.
    fn list(
        &self,
        which: DelegatedWork,
        page: Page<DelegationId>,
    ) -> BoxFuture<'_, Result<Vec<Delegation>>>;

    /// Returns the delegations that wait for this one.
    fn blocks(&self, id: DelegationId) -> BoxFuture<'_, Result<Vec<DelegationId>>>;

    /// Advances the [`SlaWatch`](ostler_domain::queue_agent::sla::SlaWatch) of
    /// unfinished work and returns up to `limit` actions. Each action is
    /// returned once, to one caller. Work that gets its alert becomes overdue.
    fn advance_sla(
        &self,
        policy: SlaPolicy,
        now: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<SlaDue>>>;
}
