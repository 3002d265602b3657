//! Accounts: what an org has, is granted, and pays for its children.

use ostler_domain::id::OrgId;
use ostler_domain::money::Credits;
use ostler_domain::money::caps::{BudgetView, SessionBudget};
use ostler_domain::money::pools::{Account, PoolKind};
use ostler_domain::money::sharing::SharingPolicy;
use ostler_domain::org::plan::Plan;

use super::book::Book;
use super::settle::apply;
use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::{Operation, Scope, Statement, Tx};
use crate::error::Result;

const OPEN: Sql =
    sql!("INSERT INTO credit_accounts (org, account, shared, sharing) VALUES (?1, '', '', '')");

impl OrgStore<'_> {
    /// The org's account: its periods started, its settled turns applied.
    pub async fn account(&self) -> Result<Account> {
        self.store.write(Look(self.org, |book: &Book| book.account())).await
    }

    /// What the org could spend now, its parent's share included; none means
    /// without a limit.
    pub async fn affordable(&self) -> Result<Option<Credits>> {
        self.store.write(Look(self.org, Book::affordable)).await
    }

    /// The three budgets that a harness shows.
    pub async fn budget(&self, session: SessionBudget) -> Result<BudgetView> {
        let org = self.org;
        let view = move |book: &Book| book.ledger.view(org, &session, book.now);
        self.store.write(Look(org, view)).await
    }

    /// Adds bought or granted credits to a pool.
    pub async fn grant(&self, pool: PoolKind, amount: Credits) -> Result<()> {
        self.store
            .write(Change(self.org, move |book: &mut Book| {
                book.account_mut()?.grant(pool, amount);
                Ok(())
            }))
            .await
    }

    /// Sets what the org pays for its children.
    pub async fn set_sharing(&self, policy: SharingPolicy) -> Result<()> {
        self.store
            .write(Change(self.org, move |book: &mut Book| {
                book.set_sharing(policy.clone());
                Ok(())
            }))
            .await
    }
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

/// Looks at an account that is up to date, and the parent's beside it.
struct Look<F>(OrgId, F);

impl<R: Send + 'static, F: Fn(&Book) -> R + Send + Sync + 'static> Operation for Look<F> {
    type Output = R;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<R> {
        let mut book = Book::open(tx, self.0).await?;
        let (_, mut all) = apply(tx, self.0, &mut book).await?;
        book.with_parent(tx).await?;
        let seen = (self.1)(&book);
        all.extend(book.write_back()?);
        tx.finish(&all).await?;
        Ok(seen)
    }
}

/// Changes an account.
struct Change<F>(OrgId, F);

impl<F: Fn(&mut Book) -> Result<()> + Send + Sync + 'static> Operation for Change<F> {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let mut book = Book::open(tx, self.0).await?;
        (self.1)(&mut book)?;
        tx.finish(&book.write_back()?).await.map(|_| ())
    }
}
