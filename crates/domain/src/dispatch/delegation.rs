//! Work given to agents: who has what, by when, and what must be done before.
//!
//! Work between orgs is [`crate::hierarchy::delegation`].

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::name::AgentName;
use crate::graph::way;
use crate::id::DelegationId;
use crate::reference::ReferenceCode;
use crate::time::Timestamp;

/// Where a delegation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DelegationStatus {
    /// It was given; nobody has begun.
    Assigned,
    /// It is being done.
    InProgress,
    /// It is done and somebody looks at it.
    AwaitingReview,
    /// It is finished.
    Complete,
    /// Its time is over and it is not finished; it may still be.
    Overdue,
}

impl DelegationStatus {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Assigned, Self::InProgress, Self::AwaitingReview, Self::Complete, Self::Overdue];

    /// Whether this may come next, apart from time and blockers.
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

/// A piece of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegation {
    /// Which one.
    pub id: DelegationId,
    /// Its own reference code.
    pub reference: ReferenceCode,
    /// The code of the request that it comes from, if it comes from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<ReferenceCode>,
    /// Who gave it.
    pub delegated_by: AgentName,
    /// Who does it.
    pub assignee: AgentName,
    /// What is to be done.
    pub description: String,
    /// By when.
    pub due: Option<Timestamp>,
    /// Where it stands.
    pub status: DelegationStatus,
    /// What must be finished before it begins.
    pub blocked_by: BTreeSet<DelegationId>,
}

impl Delegation {
    /// Whether its time is over and it is not finished.
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        self.status != DelegationStatus::Complete && self.due.is_some_and(|due| due < now)
    }
}

/// Why something is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DelegationRefused {
    /// There is no such delegation.
    #[error("there is no delegation {0}")]
    Unknown(DelegationId),
    /// The id is taken.
    #[error("delegation {0} exists already")]
    Exists(DelegationId),
    /// The status does not allow it.
    #[error("a delegation that is {from:?} does not become {to:?}")]
    Transition {
        /// Where it stands.
        from: DelegationStatus,
        /// Where it should go.
        to: DelegationStatus,
    },
    /// There is time left.
    #[error("this delegation is not overdue yet")]
    InTime,
    /// Something must be finished first.
    #[error("this delegation waits for {0}")]
    Blocked(DelegationId),
    /// It would wait for itself.
    #[error("{task} cannot wait for {blocker}, which waits for it")]
    Cycle {
        /// What should wait.
        task: DelegationId,
        /// For what.
        blocker: DelegationId,
    },
}

/// All delegations and what they wait for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Delegation>", into = "Vec<Delegation>")]
pub struct Board {
    all: BTreeMap<DelegationId, Delegation>,
    /// The other direction of `blocked_by`.
    blocks: BTreeMap<DelegationId, BTreeSet<DelegationId>>,
}

impl From<Vec<Delegation>> for Board {
    fn from(stored: Vec<Delegation>) -> Self {
        let mut board = Self::default();
        for one in stored {
            board.insert(one);
        }
        board
    }
}

impl From<Board> for Vec<Delegation> {
    fn from(board: Board) -> Self {
        board.all.into_values().collect()
    }
}

impl Board {
    /// Takes new work on. It waits for what exists already, so that a new
    /// piece never closes a circle.
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

    /// Makes a piece of work wait for another; a circle is refused.
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

    /// Whether one waits for another, directly or not, or is it.
    fn waits_for(&self, one: DelegationId, other: DelegationId) -> bool {
        let next = |id| self.all.get(&id).into_iter().flat_map(|work| &work.blocked_by).copied();
        way(one, other, next).is_some()
    }

    /// Changes where a piece of work stands; returns what became ready by it.
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
                return Err(DelegationRefused::InTime);
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
            self.all.get(id).is_some_and(|one| one.status == DelegationStatus::Complete)
        };
        work.blocked_by.iter().copied().filter(move |id| !done(id))
    }

    fn is_ready(&self, work: &Delegation) -> bool {
        work.status != DelegationStatus::Complete && self.open_blockers(work).next().is_none()
    }

    /// One piece of work.
    pub fn get(&self, id: DelegationId) -> Result<&Delegation, DelegationRefused> {
        self.all.get(&id).ok_or(DelegationRefused::Unknown(id))
    }

    /// What waits for a piece of work.
    pub fn blocks(&self, id: DelegationId) -> impl Iterator<Item = DelegationId> + '_ {
        self.blocks.get(&id).into_iter().flatten().copied()
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Delegation> {
        self.all.values()
    }

    /// What an agent has.
    pub fn of<'a>(&'a self, assignee: &'a AgentName) -> impl Iterator<Item = &'a Delegation> {
        self.all.values().filter(move |work| work.assignee == *assignee)
    }

    /// What is overdue.
    pub fn overdue(&self, now: Timestamp) -> impl Iterator<Item = &Delegation> {
        self.all.values().filter(move |work| work.is_overdue(now))
    }

    /// What waits for something that is not finished.
    pub fn blocked(&self) -> impl Iterator<Item = &Delegation> {
        self.all.values().filter(|work| self.open_blockers(work).next().is_some())
    }

    /// What can be worked on: not finished, and waiting for nothing.
    pub fn ready(&self) -> impl Iterator<Item = &Delegation> {
        self.all.values().filter(|work| self.is_ready(work))
    }
}

#[cfg(test)]
mod tests;
