//! Work given to agents, kept: who has what, by when, and what must be done
//! before. The rules are [`Board`](ostler_domain::dispatch::delegation::Board)'s.

mod memory;

use ostler_bus::BoxFuture;
use ostler_domain::dispatch::delegation::{Delegation, DelegationStatus};
use ostler_domain::dispatch::name::AgentName;
use ostler_domain::dispatch::sla::{SlaAction, SlaPolicy};
use ostler_domain::id::DelegationId;
use ostler_domain::time::Timestamp;

use super::error::Result;
use super::page::Page;

pub use memory::MemoryDelegations;

/// Which delegations are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// All.
    All,
    /// What an agent has.
    Of(AgentName),
    /// What is due before this moment and not finished.
    OverdueAt(Timestamp),
    /// What waits for something that is not finished.
    Blocked,
    /// What is not finished and waits for nothing.
    Ready,
}

/// What is due for a delegation whose deadline has passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlaDue {
    /// The work, as it stands now.
    pub work: Delegation,
    /// What is to be done about it.
    pub action: SlaAction,
}

/// The delegations. All operations may be called from anywhere at the same
/// time, from several processes too, and each is done whole or not at all.
pub trait Delegations: Send + Sync + 'static {
    /// Takes new work on, as `Board::delegate`.
    fn delegate(&self, work: Delegation) -> BoxFuture<'_, Result<()>>;

    /// Makes a piece of work wait for another, as `Board::block`.
    fn block(&self, task: DelegationId, blocker: DelegationId) -> BoxFuture<'_, Result<()>>;

    /// Changes where a piece of work stands, as `Board::update`; returns what
    /// became ready by it.
    fn update(
        &self,
        id: DelegationId,
        to: DelegationStatus,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Vec<Delegation>>>;

    /// One delegation.
    fn get(&self, id: DelegationId) -> BoxFuture<'_, Result<Option<Delegation>>>;

    /// Delegations by id.
    fn list(&self, which: Work, page: Page<DelegationId>)
    -> BoxFuture<'_, Result<Vec<Delegation>>>;

    /// What waits for a piece of work.
    fn blocks(&self, id: DelegationId) -> BoxFuture<'_, Result<Vec<DelegationId>>>;

    /// Advances the [`SlaWatch`](ostler_domain::dispatch::sla::SlaWatch) of
    /// unfinished work, and returns at most so many actions. Each is returned
    /// once, to one caller. Work that gets its alert becomes overdue.
    fn tick(
        &self,
        policy: SlaPolicy,
        now: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<SlaDue>>>;
}
