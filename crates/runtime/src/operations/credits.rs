//! An org's credits.

use ostler_domain::money::pools::Account;
use ostler_domain::org::duty::Duty;
use ostler_store::{LedgerLine, NewGrant};
use serde_json::json;

use super::{Office, OperationError, Result};

impl Office<'_> {
    /// The account: what is there, held and spent, pool by pool.
    pub async fn credits(&self) -> Result<Account> {
        Ok(self.allowed(Duty::Look).await?.account().await?)
    }

    /// The lines of the ledger, newest first; those before one of them.
    pub async fn ledger(&self, before: Option<i64>, most: u32) -> Result<Vec<LedgerLine>> {
        Ok(self.allowed(Duty::Look).await?.ledger_lines(before, most).await?)
    }

    /// Gives the org credits. The reference says what for, and a repeat with the
    /// same one changes nothing.
    pub async fn grant_credits(&self, new: NewGrant) -> Result<()> {
        let store = self.allowed(Duty::Grant).await?;
        if new.reference.trim().is_empty() {
            return Err(OperationError::Empty("the reference of a grant"));
        }
        let data = json!({"reference": new.reference, "pool": new.pool, "amount": new.amount});
        let line = self.line("grant_credits", &self.org, &data);
        store.audited(line).grant(new).await?;
        Ok(())
    }
}
