//! Delegations in memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ostler_bus::BoxFuture;
use ostler_domain::id::DelegationId;
use ostler_domain::queue_agent::delegation::{Delegation, DelegationBoard, DelegationStatus};
use ostler_domain::queue_agent::sla::{SlaAction, SlaPolicy, SlaWatch};
use ostler_domain::time::Timestamp;

use super::{DelegatedWork, Delegations, SlaDue};
use crate::agents::error::Result;
use crate::agents::page::Page;

/// Delegations in memory, lost when the process ends.
#[derive(Debug, Default)]
pub struct MemoryDelegations(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    board: DelegationBoard,
    /// One per unfinished delegation with a deadline.
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
        self.watches.retain(|_, watch| !watch.is_finished());
        due.into_iter().filter_map(|(id, action)| self.due(id, action, now)).collect()
    }

    fn due(&mut self, id: DelegationId, action: SlaAction, now: Timestamp) -> Option<SlaDue> {
        if action == SlaAction::Alert {
            // The alert is due at the deadline, but work is overdue only after
            // it.
            let past = now + std::time::Duration::from_millis(1);
            let _overdue_before = self.board.update(id, DelegationStatus::Overdue, past);
        }
        Some(SlaDue { work: self.board.get(id).ok()?.clone(), action })
    }

    fn list(&self, which: &DelegatedWork, page: &Page<DelegationId>) -> Vec<Delegation> {
        let board = &self.board;
        let found: Box<dyn Iterator<Item = &Delegation>> = match which {
            DelegatedWork::All => Box::new(board.all()),
            DelegatedWork::Of(assignee) => Box::new(board.assigned_to(assignee)),
            DelegatedWork::OverdueAt(now) => Box::new(board.overdue(*now)),
            DelegatedWork::Blocked => Box::new(board.blocked()),
            DelegatedWork::Ready => Box::new(board.ready()),
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
        which: DelegatedWork,
        page: Page<DelegationId>,
    ) -> BoxFuture<'_, Result<Vec<Delegation>>> {
        Box::pin(async move { Ok(self.state().list(&which, &page)) })
    }

    fn blocks(&self, id: DelegationId) -> BoxFuture<'_, Result<Vec<DelegationId>>> {
        Box::pin(async move { Ok(self.state().board.blocks(id).collect()) })
    }

    fn advance_sla(
        &self,
        policy: SlaPolicy,
        now: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<SlaDue>>> {
        Box::pin(async move { Ok(self.state().tick(policy, now, limit)) })
    }
}
