//! Credit accounts: balances, grants and what an org pays for its children.

use ostler_domain::id::OrgId;
use ostler_domain::money::Credits;
use ostler_domain::money::caps::{BudgetView, SessionBudget};
use ostler_domain::money::pools::{CreditAccount, PoolKind};
use ostler_domain::money::sharing::SharingPolicy;
use ostler_domain::org::plan::LicencePlan;

use super::lines;
use super::locked_accounts::LockedAccounts;
use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::{Operation, Scope, Statement, Tx};
use crate::error::{Result, StoreError};

const OPEN: Sql = sql!(
    "INSERT INTO credit_accounts (org, account, shared_usage, sharing_policy)
     VALUES (?1, '', '', '')"
);

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
        self.store
            .write(ReadAccounts(self.org, |accounts: &LockedAccounts| accounts.account()))
            .await
    }

    /// Returns what the org can spend now, including its parent's share; `None` means
    /// no limit.
    pub async fn affordable(&self) -> Result<Option<Credits>> {
        self.apply_settlements_with_parent().await?;
        self.store.write(ReadAccounts(self.org, LockedAccounts::affordable)).await
    }

    /// Returns the three budgets that a harness shows.
    pub async fn budget(&self, session: SessionBudget) -> Result<BudgetView> {
        self.apply_settlements_with_parent().await?;
        let org = self.org;
        let view = move |accounts: &LockedAccounts| {
            accounts.ledger.budget_view(org, &session, accounts.now)
        };
        self.store.write(ReadAccounts(org, view)).await
    }

    /// Adds credits to a pool. Repeating a grant changes nothing; a different grant
    /// with the same reference fails with [`StoreError::Conflict`].
    pub async fn grant_credits(&self, new: NewGrant) -> Result<()> {
        self.store.write(Grant::new(self.org, new)?).await
    }

    /// Sets what the org pays for its children.
    pub async fn set_sharing(&self, policy: SharingPolicy) -> Result<()> {
        self.store
            .write(UpdateAccount(self.org, move |accounts: &mut LockedAccounts| {
                accounts.set_sharing(policy.clone());
            }))
            .await
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
pub(crate) fn change_plan(tx: &Tx, org: OrgId, plan: LicencePlan) -> Result<Vec<Statement>> {
    let mut accounts = LockedAccounts::open(tx, org)?;
    accounts.account_mut()?.change_plan(plan);
    accounts.write_back()
}

/// Reads from an account with due periods started, and from the parent's.
struct ReadAccounts<F>(OrgId, F);

impl<R: Send + 'static, F: Fn(&LockedAccounts) -> R + Send + Sync + 'static> Operation
    for ReadAccounts<F>
{
    type Output = R;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<R> {
        let mut accounts = LockedAccounts::open(tx, self.0)?;
        accounts.lock_parent(tx)?;
        let result = (self.1)(&accounts);
        tx.finish(&accounts.write_back()?)?;
        Ok(result)
    }
}

/// Changes an account in place.
struct UpdateAccount<F>(OrgId, F);

impl<F: Fn(&mut LockedAccounts) + Send + Sync + 'static> Operation for UpdateAccount<F> {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<()> {
        let mut accounts = LockedAccounts::open(tx, self.0)?;
        (self.1)(&mut accounts);
        tx.finish(&accounts.write_back()?).map(|_| ())
    }
}

pub(crate) struct Grant(OrgId, NewGrant);

impl Grant {
    /// Fails if the grant is not allowed.
    pub(crate) fn new(org: OrgId, new: NewGrant) -> Result<Self> {
        check_amount(new.amount)?;
        if new.reference.len() > MAX_REFERENCE_BYTES {
            return Err(StoreError::TooLarge { what: "reference", limit: MAX_REFERENCE_BYTES });
        }
        if !PoolKind::DRAW_ORDER.contains(&new.pool) {
            return Err(StoreError::NotFound("pool to grant credits to"));
        }
        Ok(Self(org, new))
    }
}

impl Operation for Grant {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<()> {
        let Self(org, new) = self;
        let mut accounts = LockedAccounts::open(tx, *org)?;
        match lines::granted(tx, *org, &new.reference)? {
            Some(before) if before == (new.pool, new.amount) => return Ok(()),
            Some(_) => {
                let what = format!("another grant with the reference `{}`", new.reference);
                return Err(StoreError::Conflict(what));
            }
            None => accounts.grant(new.clone())?,
        }
        tx.finish(&accounts.write_back()?).map(|_| ())
    }
}
