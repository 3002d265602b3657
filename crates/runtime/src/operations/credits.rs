//! Credits of an org.

use ostler_domain::money::Credits;
use ostler_domain::money::pools::CreditAccount;
use ostler_domain::money::spend::{Spend, SpendFilter};
use ostler_domain::org::Org;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::time::{Timestamp, UtcDay};
use ostler_store::{LedgerLine, NewGrant};
use serde_json::json;

use super::{OperationError, OrgOperations, Result};

/// The most days of a report of spending.
const MAX_DAYS: u32 = 366;

/// What an org spent in some days, with its clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpendReport {
    /// The first day.
    pub since: UtcDay,
    pub spend: Spend,
    /// What the work of each client cost. Those that the actor may not view are left out.
    pub clients: Vec<(Org, Credits)>,
}

impl OrgOperations<'_> {
    /// Returns what the org and its clients spent today and in the days before.
    pub async fn spend(&self, days: u32) -> Result<SpendReport> {
        self.spend_of(days, &SpendFilter::default()).await
    }

    /// Does the same for the costs that a filter selects.
    pub async fn spend_of(&self, days: u32, filter: &SpendFilter) -> Result<SpendReport> {
        let store = self.authorize(OrgPermission::View).await?;
        let today = self.inner().clock.now().utc_day();
        let back = i64::from(days.clamp(1, MAX_DAYS)) - 1;
        let since = UtcDay::from_number(today.number() - back);
        let from: Timestamp = since.start();
        let lines = store.spend_since(from).await?;
        let spend = Spend::of(lines.iter().filter(|line| filter.matches(line)));
        let visible = self.actor.visible(&self.inner().store, self.clients().await?).await?;
        let mut clients = Vec::new();
        for client in visible {
            let lines = self.inner().store.org(client.id).spend_since(from).await?;
            let spend = Spend::of(lines.iter().filter(|line| filter.matches(line)));
            clients.push((client, spend.total));
        }
        Ok(SpendReport { since, spend, clients })
    }

    /// Returns the account with its pools.
    pub async fn credits(&self) -> Result<CreditAccount> {
        Ok(self.authorize(OrgPermission::View).await?.credit_account().await?)
    }

    /// Returns a page of ledger lines, newest first. `before` is the last one of the page
    /// before.
    pub async fn ledger(&self, before: Option<i64>, limit: u32) -> Result<Vec<LedgerLine>> {
        Ok(self.authorize(OrgPermission::View).await?.ledger_lines(before, limit).await?)
    }

    /// Grants credits. A repeat with the same reference changes nothing.
    pub async fn grant_credits(&self, new: NewGrant) -> Result<()> {
        let store = self.authorize(OrgPermission::GrantCredits).await?;
        if new.reference.trim().is_empty() {
            return Err(OperationError::Empty("the reference of a grant"));
        }
        if new.amount == Credits::ZERO {
            return Err(OperationError::Empty("a grant"));
        }
        let data = json!({"reference": new.reference, "pool": new.pool, "amount": new.amount});
        let audit = self.audit_entry("grant_credits", &self.org, &data);
        store.audited(audit).grant_credits(new).await?;
        Ok(())
    }
}
