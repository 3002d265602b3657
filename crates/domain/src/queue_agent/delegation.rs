//! Delegations: work given to agents, with status, due time and blockers.
//!
//! Delegations between orgs are in [`crate::hierarchy::delegation`].

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::name::AgentName;
use crate::graph::shortest_path;
use crate::id::DelegationId;
use crate::reference::ReferenceCode;
use crate::time::Timestamp;

/// Status of a delegation.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DelegationStatus {
    /// Given to an agent that has not begun.
    Assigned,
    InProgress,
    /// Done and waiting for review.
    AwaitingReview,
    Complete,
    /// Past its due time and not complete; it may still be completed.
    Overdue,
}

impl DelegationStatus {
    /// All statuses.
    pub const ALL: [Self; 5] =
        [Self::Assigned, Self::InProgress, Self::AwaitingReview, Self::Complete, Self::Overdue];

    /// Returns whether `next` may follow, apart from due time and blockers.
    pub const fn may_become(self, next: Self) -> bool {
        match (self, next) {
            (Self::Complete, _) | (_, Self::Assigned) | (Self::Overdue, Self::Overdue) => false,
            (_, Self::Overdue) => true,
            (Self::Assigned, next) => matches!(next, Self::InProgress),
            (Self::InProgress, next) => matches!(next, Self::AwaitingReview | Self::Complete),
            (Self::AwaitingReview, next) => matches!(next, Self::InProgress | Self::Complete),
            (Self::Overdue, _) => true,
        }
    }
}

/// A piece of work given to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Delegation {
    pub id: DelegationId,
    pub reference: ReferenceCode,
    /// The reference code of the request it comes from, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<ReferenceCode>,
    pub delegated_by: AgentName,
    pub assignee: AgentName,
    pub description: String,
    pub due: Option<Timestamp>,
    pub status: DelegationStatus,
    /// Delegations that must be complete before this one begins.
    pub blocked_by: BTreeSet<DelegationId>,
}

impl Delegation {
    /// Returns whether it is past its due time and not complete.
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        self.status != DelegationStatus::Complete && self.due.is_some_and(|due| due < now)
    }
}

/// Why a change of a delegation is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DelegationRefused {
    #[error("there is no delegation {0}")]
    Unknown(DelegationId),
    #[error("delegation {0} exists already")]
    Exists(DelegationId),
    #[error("a delegation that is {from:?} cannot become {to:?}")]
    Transition { from: DelegationStatus, to: DelegationStatus },
    #[error("this delegation is not overdue yet")]
    NotOverdue,
    #[error("this delegation waits for {0}")]
    Blocked(DelegationId),
    #[error("{task} cannot wait for {blocker}, which waits for it")]
    Cycle { task: DelegationId, blocker: DelegationId },
}

/// All delegations and their blockers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Delegation>", into = "Vec<Delegation>")]
pub struct DelegationBoard {
    all: BTreeMap<DelegationId, Delegation>,
    /// The reverse of `blocked_by`.
    blocks: BTreeMap<DelegationId, BTreeSet<DelegationId>>,
}

impl From<Vec<Delegation>> for DelegationBoard {
    fn from(stored: Vec<Delegation>) -> Self {
        let mut board = Self::default();
        for work in stored {
            board.insert(work);
        }
        board
    }
}

impl From<DelegationBoard> for Vec<Delegation> {
    fn from(board: DelegationBoard) -> Self {
        board.all.into_values().collect()
    }
}

impl DelegationBoard {
    /// Adds a delegation. Its blockers must exist already, so it never closes a cycle.
    pub fn delegate(&mut self, work: Delegation) -> Result<(), DelegationRefused> {
        if self.all.contains_key(&work.id) {
            return Err(DelegationRefused::Exists(work.id));
        }
        if let Some(missing) = work.blocked_by.iter().find(|id| !self.all.contains_key(id)) {
            return Err(DelegationRefused::Unknown(*missing));
        }
        self.insert(work);
        Ok(())
    }

    fn insert(&mut self, work: Delegation) {
        for blocker in &work.blocked_by {
            self.blocks.entry(*blocker).or_default().insert(work.id);
        }
        self.all.insert(work.id, work);
    }

    /// Makes `task` wait for `blocker`; fails if that would close a cycle.
    pub fn block(
        &mut self,
        task: DelegationId,
        blocker: DelegationId,
    ) -> Result<(), DelegationRefused> {
        self.get(blocker)?;
        let from = self.get(task)?.status;
        if from != DelegationStatus::Assigned {
            return Err(DelegationRefused::Transition { from, to: DelegationStatus::Assigned });
        }
        if self.waits_for(blocker, task) {
            return Err(DelegationRefused::Cycle { task, blocker });
        }
        if let Some(work) = self.all.get_mut(&task) {
            work.blocked_by.insert(blocker);
        }
        self.blocks.entry(blocker).or_default().insert(task);
        Ok(())
    }

    /// Returns whether `waiting` waits for `blocker`, directly or not, or is the same.
    fn waits_for(&self, waiting: DelegationId, blocker: DelegationId) -> bool {
        let next = |id| self.all.get(&id).into_iter().flat_map(|work| &work.blocked_by).copied();
        shortest_path(waiting, blocker, next).is_some()
    }

    /// Changes the status of a delegation and returns the delegations that became ready.
    pub fn update(
        &mut self,
        id: DelegationId,
        to: DelegationStatus,
        now: Timestamp,
    ) -> Result<Vec<DelegationId>, DelegationRefused> {
        let work = self.get(id)?;
        let from = work.status;
        if !from.may_become(to) {
            return Err(DelegationRefused::Transition { from, to });
        }
        if to == DelegationStatus::Overdue {
            if !work.is_overdue(now) {
                return Err(DelegationRefused::NotOverdue);
            }
        } else if let Some(blocker) = self.open_blockers(work).next() {
            return Err(DelegationRefused::Blocked(blocker));
        }
        if let Some(work) = self.all.get_mut(&id) {
            work.status = to;
        }
        let finished = to == DelegationStatus::Complete;
        Ok(if finished { self.unblocked_by(id) } else { Vec::new() })
    }

    fn unblocked_by(&self, id: DelegationId) -> Vec<DelegationId> {
        let waiting = self.blocks(id).filter_map(|id| self.all.get(&id));
        waiting.filter(|work| self.is_ready(work)).map(|work| work.id).collect()
    }

    fn open_blockers<'a>(
        &'a self,
        work: &'a Delegation,
    ) -> impl Iterator<Item = DelegationId> + 'a {
        let done = |id: &DelegationId| {
            self.all.get(id).is_some_and(|work| work.status == DelegationStatus::Complete)
        };
        work.blocked_by.iter().copied().filter(move |id| !done(id))
    }

    fn is_ready(&self, work: &Delegation) -> bool {
        work.status != DelegationStatus::Complete && self.open_blockers(work).next().is_none()
    }

    /// Returns a delegation.
    pub fn get(&self, id: DelegationId) -> Result<&Delegation, DelegationRefused> {
        self.all.get(&id).ok_or(DelegationRefused::Unknown(id))
    }

    /// Returns the delegations that wait for `id`.
    pub fn blocks(&self, id: DelegationId) -> impl Iterator<Item = DelegationId> + '_ {
        self.blocks.get(&id).into_iter().flatten().copied()
    }

    /// Returns all delegations.
    pub fn all(&self) -> impl Iterator<Item = &Delegation> {
        self.all.values()
    }

    /// Returns the delegations of an agent.
    pub fn assigned_to<'a>(
        &'a self,
        assignee: &'a AgentName,
    ) -> impl Iterator<Item = &'a Delegation> {
        self.all.values().filter(move |work| work.assignee == *assignee)
    }

    /// Returns the overdue delegations.
    pub fn overdue(&self, now: Timestamp) -> impl Iterator<Item = &Delegation> {
        self.all.values().filter(move |work| work.is_overdue(now))
    }

    /// Returns the delegations that wait for an incomplete one.
    pub fn blocked(&self) -> impl Iterator<Item = &Delegation> {
        self.all.values().filter(|work| self.open_blockers(work).next().is_some())
    }

    /// Returns the delegations that are not complete and wait for nothing.
    pub fn ready(&self) -> impl Iterator<Item = &Delegation> {
        self.all.values().filter(|work| self.is_ready(work))
    }
}

#[cfg(test)]
mod tests;
