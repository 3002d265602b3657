//! Credit accounts: balances, grants and what an org pays for its children.

use ostler_domain::id::OrgId;
use ostler_domain::money::Credits;
use ostler_domain::money::caps::{BudgetView, SessionBudget};
use ostler_domain::money::pools::{CreditAccount, PoolKind};
use ostler_domain::money::sharing::SharingPolicy;
use ostler_domain::org::plan::PeriodCredits;

use super::lines;
use super::locked_accounts::LockedAccounts;
use crate::OrgStore;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::{Statement, Tx};
use crate::error::{Result, StoreError};

const OPEN: Sql = sql!(
    "INSERT INTO credit_accounts (org, account, shared_usage, sharing_policy)
     VALUES (?1, '', '', '')"
);

const SHARING: Sql = sql!("SELECT sharing_policy FROM credit_accounts WHERE org = ?1");

/// The longest reference of a grant, in bytes.
const MAX_REFERENCE_BYTES: usize = 200;

/// Credits to add to an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewGrant {
    /// The id of the payment or order. Makes the grant idempotent per org.
    pub reference: String,
    pub pool: PoolKind,
    pub amount: Credits,
}

impl OrgStore<'_> {
    /// Returns the org's account, with due periods started and settlements applied.
    pub async fn credit_account(&self) -> Result<CreditAccount> {
        self.apply_settlements().await?;
        self.read_accounts(LockedAccounts::account).await
    }

    /// Returns what the org can spend now, including its parent's share; `None` means
    /// no limit.
    pub async fn affordable(&self) -> Result<Option<Credits>> {
        self.apply_settlements_with_parent().await?;
        self.read_accounts(LockedAccounts::affordable).await
    }

    /// Returns the three budgets that a harness shows.
    pub async fn budget(&self, session: SessionBudget) -> Result<BudgetView> {
        self.apply_settlements_with_parent().await?;
        let org = self.org;
        self.read_accounts(move |accounts| accounts.ledger.budget_view(org, &session, accounts.now))
            .await
    }

    /// Adds credits to a pool. Repeating a grant changes nothing; a different grant
    /// with the same reference fails with [`StoreError::Conflict`].
    pub fn grant_credits(&self, new: NewGrant) -> StoreFuture<()> {
        let org = self.org;
        self.write(move |tx| grant(tx, org, &new))
    }

    /// Sets what the org pays for its children.
    pub fn set_sharing(&self, policy: SharingPolicy) -> StoreFuture<()> {
        let org = self.org;
        self.write(move |tx| tx.finish(&sharing_statements(tx, org, &policy)?).map(drop))
    }

    /// Reads from an account with due periods started, and from the parent's.
    fn read_accounts<T, F>(&self, read: F) -> StoreFuture<T>
    where
        T: Send + 'static,
        F: Fn(&LockedAccounts) -> T + Send + 'static,
    {
        let org = self.org;
        self.write(move |tx| {
            let mut accounts = LockedAccounts::open(tx, org)?;
            accounts.lock_parent(tx)?;
            let result = read(&accounts);
            tx.finish(&accounts.write_back()?)?;
            Ok(result)
        })
    }
}

/// Refuses an amount above [`Credits::MAX_AMOUNT`].
pub(super) fn check_amount(amount: Credits) -> Result<()> {
    let limit = Credits::MAX_AMOUNT;
    if amount > limit { Err(StoreError::TooManyCredits { limit }) } else { Ok(()) }
}

/// The statement that opens the account of a new org.
pub(crate) fn open_account(org: OrgId) -> Statement {
    Statement { sql: &OPEN, params: vec![org.into()], on_no_rows: None }
}

/// Moves an org's account to another plan; returns the statements that write it.
pub(crate) fn change_plan(tx: &Tx, org: OrgId, credits: PeriodCredits) -> Result<Vec<Statement>> {
    let mut accounts = LockedAccounts::open(tx, org)?;
    accounts.account_mut()?.change_plan(credits);
    accounts.write_back()
}

/// Returns whether a grant was made before, and locks the account until the transaction
/// ends.
pub(crate) fn is_granted(tx: &Tx, org: OrgId, new: &NewGrant) -> Result<bool> {
    LockedAccounts::open(tx, org)?;
    Ok(lines::granted(tx, org, &new.reference)? == Some((new.pool, new.amount)))
}

/// Adds credits to a pool and ends the transaction. Fails if the grant is not allowed.
pub(crate) fn grant(tx: &Tx, org: OrgId, new: &NewGrant) -> Result<()> {
    tx.finish(&grant_statements(tx, org, new)?).map(drop)
}

/// Returns the statements that add credits to a pool. Fails if the grant is not allowed.
pub(crate) fn grant_statements(tx: &Tx, org: OrgId, new: &NewGrant) -> Result<Vec<Statement>> {
    check_amount(new.amount)?;
    if new.reference.len() > MAX_REFERENCE_BYTES {
        return Err(StoreError::TooLarge { what: "reference", limit: MAX_REFERENCE_BYTES });
    }
    if !PoolKind::DRAW_ORDER.contains(&new.pool) {
        return Err(StoreError::NotFound("pool to grant credits to"));
    }
    let mut accounts = LockedAccounts::open(tx, org)?;
    match lines::granted(tx, org, &new.reference)? {
        Some(before) if before == (new.pool, new.amount) => return Ok(Vec::new()),
        Some(_) => {
            let what = format!("another grant with the reference `{}`", new.reference);
            return Err(StoreError::Conflict(what));
        }
        None => accounts.grant(new.clone())?,
    }
    accounts.write_back()
}

/// Returns the statements that set what an org pays for its children.
pub(crate) fn sharing_statements(
    tx: &Tx,
    org: OrgId,
    policy: &SharingPolicy,
) -> Result<Vec<Statement>> {
    let mut accounts = LockedAccounts::open(tx, org)?;
    accounts.set_sharing(policy.clone());
    accounts.write_back()
}

/// Returns what an org pays for its children.
pub(crate) fn sharing(tx: &Tx, org: OrgId) -> Result<SharingPolicy> {
    let row = tx.first(&SHARING, &[org.into()])?;
    match row.as_ref().map(|row| row.text(0)).transpose()? {
        None | Some("") => Ok(SharingPolicy::default()),
        Some(_) => row.map_or_else(|| Ok(SharingPolicy::default()), |row| row.json(0, "account")),
    }
}
