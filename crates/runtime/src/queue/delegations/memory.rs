//! The delegations of one process.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ostler_bus::BoxFuture;
use ostler_domain::dispatch::delegation::{Board, Delegation, DelegationStatus};
use ostler_domain::dispatch::sla::{SlaAction, SlaPolicy, SlaWatch};
use ostler_domain::id::DelegationId;
use ostler_domain::time::Timestamp;

use super::{Delegations, SlaDue, Work};
use crate::queue::error::Result;
use crate::queue::page::Page;

/// Delegations in memory.
#[derive(Debug, Default)]
pub struct MemoryDelegations(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    board: Board,
    /// Over work with a deadline that is not finished.
    watches: BTreeMap<DelegationId, SlaWatch>,
}

impl State {
    fn delegate(&mut self, work: Delegation) -> Result<()> {
        let watch = work.due.map(|due| (work.id, SlaWatch::new(due)));
        self.board.delegate(work)?;
        self.watches.extend(watch);
        Ok(())
    }

    fn update(
        &mut self,
        id: DelegationId,
        to: DelegationStatus,
        now: Timestamp,
    ) -> Result<Vec<Delegation>> {
        let ready = self.board.update(id, to, now)?;
        if to == DelegationStatus::Complete {
            self.watches.remove(&id);
        }
        Ok(ready.into_iter().filter_map(|id| self.board.get(id).ok()).cloned().collect())
    }

    fn tick(&mut self, policy: SlaPolicy, now: Timestamp, limit: usize) -> Vec<SlaDue> {
        let watches = self.watches.iter_mut();
        let due = watches.filter_map(|(id, watch)| Some((*id, watch.tick(policy, now)?)));
        let due: Vec<_> = due.take(limit).collect();
        self.watches.retain(|_, watch| !watch.is_over());
        due.into_iter().filter_map(|(id, action)| self.due(id, action, now)).collect()
    }

    fn due(&mut self, id: DelegationId, action: SlaAction, now: Timestamp) -> Option<SlaDue> {
        if action == SlaAction::Alert {
            // The alert comes at the deadline, and overdue is what is past it.
            let past = now + std::time::Duration::from_millis(1);
            let _overdue_before = self.board.update(id, DelegationStatus::Overdue, past);
        }
        Some(SlaDue { work: self.board.get(id).ok()?.clone(), action })
    }

    fn list(&self, which: &Work, page: &Page<DelegationId>) -> Vec<Delegation> {
        let board = &self.board;
        let found: Box<dyn Iterator<Item = &Delegation>> = match which {
            Work::All => Box::new(board.all()),
            Work::Of(assignee) => Box::new(board.of(assignee)),
            Work::OverdueAt(now) => Box::new(board.overdue(*now)),
            Work::Blocked => Box::new(board.blocked()),
            Work::Ready => Box::new(board.ready()),
        };
        let rest = found.filter(|work| page.after.is_none_or(|last| work.id > last));
        rest.take(page.limit()).cloned().collect()
    }
}

impl MemoryDelegations {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Delegations for MemoryDelegations {
    fn delegate(&self, work: Delegation) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move { self.state().delegate(work) })
    }

    fn block(&self, task: DelegationId, blocker: DelegationId) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move { Ok(self.state().board.block(task, blocker)?) })
    }

    fn update(
        &self,
        id: DelegationId,
        to: DelegationStatus,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Vec<Delegation>>> {
        Box::pin(async move { self.state().update(id, to, now) })
    }

    fn get(&self, id: DelegationId) -> BoxFuture<'_, Result<Option<Delegation>>> {
        Box::pin(async move { Ok(self.state().board.get(id).ok().cloned()) })
    }

    fn list(
        &self,
        which: Work,
        page: Page<DelegationId>,
    ) -> BoxFuture<'_, Result<Vec<Delegation>>> {
        Box::pin(async move { Ok(self.state().list(&which, &page)) })
    }

    fn blocks(&self, id: DelegationId) -> BoxFuture<'_, Result<Vec<DelegationId>>> {
        Box::pin(async move { Ok(self.state().board.blocks(id).collect()) })
    }

    fn tick(
        &self,
        policy: SlaPolicy,
        now: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<SlaDue>>> {
        Box::pin(async move { Ok(self.state().tick(policy, now, limit)) })
    }
}
