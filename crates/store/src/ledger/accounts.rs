//! Accounts: what an org has, is granted, and pays for its children.

use ostler_domain::id::OrgId;
use ostler_domain::money::Credits;
use ostler_domain::money::caps::{BudgetView, SessionBudget};
use ostler_domain::money::pools::{Account, PoolKind};
use ostler_domain::money::sharing::SharingPolicy;
use ostler_domain::org::plan::Plan;

use super::book::Book;
use super::lines;
use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::{Operation, Scope, Statement, Tx};
use crate::error::{Result, StoreError};

const OPEN: Sql =
    sql!("INSERT INTO credit_accounts (org, account, shared, sharing) VALUES (?1, '', '', '')");

/// The longest reference of a grant.
const MOST_REFERENCE: usize = 200;

/// Credits to add to an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewGrant {
    /// What it is granted for: the id of a payment, of an order. An org is
    /// granted nothing twice for the same.
    pub reference: String,
    /// The pool that they come into.
    pub pool: PoolKind,
    /// How many.
    pub amount: Credits,
}

impl OrgStore<'_> {
    /// The org's account: its periods started, its settled turns applied.
    pub async fn account(&self) -> Result<Account> {
        self.apply_settlements().await?;
        self.store.write(Look(self.org, |book: &Book| book.account())).await
    }

    /// What the org could spend now, its parent's share included; none means
    /// without a limit.
    pub async fn affordable(&self) -> Result<Option<Credits>> {
        self.settle_up().await?;
        self.store.write(Look(self.org, Book::affordable)).await
    }

    /// The three budgets that a harness shows.
    pub async fn budget(&self, session: SessionBudget) -> Result<BudgetView> {
        self.settle_up().await?;
        let org = self.org;
        let view = move |book: &Book| book.ledger.view(org, &session, book.now);
        self.store.write(Look(org, view)).await
    }

    /// Adds bought or granted credits to a pool. A repeat, which has the same
    /// reference, changes nothing; another grant with it is a conflict.
    pub async fn grant(&self, new: NewGrant) -> Result<()> {
        self.store.write(Grant::new(self.org, new)?).await
    }

    /// Sets what the org pays for its children.
    pub async fn set_sharing(&self, policy: SharingPolicy) -> Result<()> {
        self.store
            .write(Change(self.org, move |book: &mut Book| book.set_sharing(policy.clone())))
            .await
    }
}

/// Refuses what nobody grants, holds or spends at once.
pub(super) fn at_once(amount: Credits) -> Result<()> {
    let most = Credits::MOST_AT_ONCE;
    if amount > most { Err(StoreError::TooManyCredits { most }) } else { Ok(()) }
}

/// The account of a new org.
pub(crate) fn open_account(org: OrgId) -> Statement {
    Statement { sql: &OPEN, params: vec![org.into()], must: None }
}

/// Takes an org's account over to another plan.
pub(crate) async fn change_plan<T: Tx>(tx: &T, org: OrgId, plan: Plan) -> Result<Vec<Statement>> {
    let mut book = Book::open(tx, org).await?;
    book.account_mut()?.change_plan(plan);
    book.write_back()
}

/// Looks at an account, its periods started, and the parent's beside it.
struct Look<F>(OrgId, F);

impl<R: Send + 'static, F: Fn(&Book) -> R + Send + Sync + 'static> Operation for Look<F> {
    type Output = R;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<R> {
        let mut book = Book::open(tx, self.0).await?;
        book.with_parent(tx).await?;
        let seen = (self.1)(&book);
        tx.finish(&book.write_back()?).await?;
        Ok(seen)
    }
}

/// Changes an account.
struct Change<F>(OrgId, F);

impl<F: Fn(&mut Book) + Send + Sync + 'static> Operation for Change<F> {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let mut book = Book::open(tx, self.0).await?;
        (self.1)(&mut book);
        tx.finish(&book.write_back()?).await.map(|_| ())
    }
}

pub(crate) struct Grant(OrgId, NewGrant);

impl Grant {
    /// A grant that may be made.
    pub(crate) fn new(org: OrgId, new: NewGrant) -> Result<Self> {
        at_once(new.amount)?;
        if new.reference.len() > MOST_REFERENCE {
            return Err(StoreError::TooLarge { what: "reference", limit: MOST_REFERENCE });
        }
        if !PoolKind::ORDER.contains(&new.pool) {
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

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let Self(org, new) = self;
        let mut book = Book::open(tx, *org).await?;
        match lines::granted(tx, *org, &new.reference).await? {
            Some(before) if before == (new.pool, new.amount) => return Ok(()),
            Some(_) => {
                let what = format!("another grant with the reference `{}`", new.reference);
                return Err(StoreError::Conflict(what));
            }
            None => book.grant(new.clone())?,
        }
        tx.finish(&book.write_back()?).await.map(|_| ())
    }
}
