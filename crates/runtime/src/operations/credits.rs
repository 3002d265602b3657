//! Credits of an org.

use ostler_domain::money::Credits;
use ostler_domain::money::pools::CreditAccount;
use ostler_domain::org::permission::OrgPermission;
use ostler_store::{LedgerLine, NewGrant};
use serde_json::json;

use super::{OperationError, OrgOperations, Result};

impl OrgOperations<'_> {
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
