//! Delegations in the store.

use ostler_bus::BoxFuture;
use ostler_domain::id::DelegationId;
use ostler_domain::queue_agent::delegation::{Delegation, DelegationStatus};
use ostler_domain::queue_agent::sla::SlaPolicy;
use ostler_domain::time::Timestamp;
use ostler_store::DelegationFilter;

use super::{StoredRecords, page_limit, to_u32};
use crate::agents::delegations::{DelegatedWork, Delegations, SlaDue};
use crate::agents::error::Result;
use crate::agents::page::Page;

impl Delegations for StoredRecords {
    fn delegate(&self, work: Delegation) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move { Ok(self.org_store().create_delegation(work).await?) })
    }

    fn block(&self, task: DelegationId, blocker: DelegationId) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move { Ok(self.org_store().block_delegation(task, blocker).await?) })
    }

    fn update(
        &self,
        id: DelegationId,
        to: DelegationStatus,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Vec<Delegation>>> {
        Box::pin(async move { Ok(self.org_store().update_delegation(id, to, now).await?) })
    }

    fn get(&self, id: DelegationId) -> BoxFuture<'_, Result<Option<Delegation>>> {
        Box::pin(async move { Ok(self.org_store().delegation(id).await?) })
    }

    fn list(
        &self,
        which: DelegatedWork,
        page: Page<DelegationId>,
    ) -> BoxFuture<'_, Result<Vec<Delegation>>> {
        let which = match which {
            DelegatedWork::All => DelegationFilter::All,
            DelegatedWork::Of(agent) => DelegationFilter::AssignedTo(agent),
            DelegatedWork::OverdueAt(now) => DelegationFilter::OverdueAt(now),
            DelegatedWork::Blocked => DelegationFilter::Blocked,
            DelegatedWork::Ready => DelegationFilter::Ready,
        };
        Box::pin(async move {
            Ok(self.org_store().delegations(which, page.after, page_limit(&page)).await?)
        })
    }

    fn blocks(&self, id: DelegationId) -> BoxFuture<'_, Result<Vec<DelegationId>>> {
        Box::pin(async move {
            let (mut all, mut page) = (Vec::new(), Page::default());
            loop {
                let which = DelegationFilter::BlockedBy(id);
                let some =
                    self.org_store().delegations(which, page.after, page_limit(&page)).await?;
                let Some(last) = some.last() else { return Ok(all) };
                page.after = Some(last.id);
                all.extend(some.iter().map(|work| work.id));
            }
        })
    }

    fn advance_sla(
        &self,
        policy: SlaPolicy,
        now: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<SlaDue>>> {
        Box::pin(async move {
            let due = self.org_store().tick_delegations(policy, now, to_u32(limit)).await?;
            Ok(due.into_iter().map(|(work, action)| SlaDue { work, action }).collect())
        })
    }
}
