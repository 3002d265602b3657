//! Delegations in the store.

use ostler_bus::BoxFuture;
use ostler_domain::dispatch::delegation::{Delegation, DelegationStatus};
use ostler_domain::dispatch::sla::SlaPolicy;
use ostler_domain::id::DelegationId;
use ostler_domain::time::Timestamp;
use ostler_store::WhichDelegations;

use super::{Stored, length, most};
use crate::queue::delegations::{Delegations, SlaDue, Work};
use crate::queue::error::Result;
use crate::queue::page::Page;

impl Delegations for Stored {
    fn delegate(&self, work: Delegation) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move { Ok(self.there().delegate(work).await?) })
    }

    fn block(&self, task: DelegationId, blocker: DelegationId) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move { Ok(self.there().block_delegation(task, blocker).await?) })
    }

    fn update(
        &self,
        id: DelegationId,
        to: DelegationStatus,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Vec<Delegation>>> {
        Box::pin(async move { Ok(self.there().update_delegation(id, to, now).await?) })
    }

    fn get(&self, id: DelegationId) -> BoxFuture<'_, Result<Option<Delegation>>> {
        Box::pin(async move { Ok(self.there().delegation(id).await?) })
    }

    fn list(
        &self,
        which: Work,
        page: Page<DelegationId>,
    ) -> BoxFuture<'_, Result<Vec<Delegation>>> {
        let which = match which {
            Work::All => WhichDelegations::All,
            Work::Of(agent) => WhichDelegations::Of(agent),
            Work::OverdueAt(now) => WhichDelegations::OverdueAt(now),
            Work::Blocked => WhichDelegations::Blocked,
            Work::Ready => WhichDelegations::Ready,
        };
        Box::pin(
            async move { Ok(self.there().delegations(which, page.after, length(&page)).await?) },
        )
    }

    fn blocks(&self, id: DelegationId) -> BoxFuture<'_, Result<Vec<DelegationId>>> {
        Box::pin(async move {
            let (mut all, mut page) = (Vec::new(), Page::default());
            loop {
                let which = WhichDelegations::After(id);
                let some = self.there().delegations(which, page.after, length(&page)).await?;
                let Some(last) = some.last() else { return Ok(all) };
                page.after = Some(last.id);
                all.extend(some.iter().map(|work| work.id));
            }
        })
    }

    fn tick(
        &self,
        policy: SlaPolicy,
        now: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<SlaDue>>> {
        Box::pin(async move {
            let due = self.there().tick_delegations(policy, now, most(limit)).await?;
            Ok(due.into_iter().map(|(work, action)| SlaDue { work, action }).collect())
        })
    }
}
