//! The accounts that an operation holds, as the rule sees them.

use ostler_domain::id::{OrgId, ReservationId};
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::{Ledger, Reservation};
use ostler_domain::money::pools::{Account, PoolKind};
use ostler_domain::money::sharing::{SharedDays, SharingPolicy};
use ostler_domain::org::Org;
use ostler_domain::time::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::lines;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Statement, Tx};
use crate::error::{Result, StoreError};

/// Holds the account's row until the transaction ends.
const HOLD: Sql = Sql {
    sqlite: "SELECT a.account, a.shared, a.sharing, o.data, now_ms()
       FROM credit_accounts a JOIN orgs o ON o.id = a.org WHERE a.org = ?1",
    postgres: "SELECT a.account, a.shared, a.sharing, o.data, now_ms()
       FROM credit_accounts a JOIN orgs o ON o.id = a.org WHERE a.org = $1 FOR UPDATE OF a",
};
/// Lets the transaction touch the rows of the parent, too.
const WITH_PARENT: Sql = Sql {
    sqlite: "SELECT ?1",
    postgres: "SELECT set_config('ostler.also', encode($1, 'hex'), true)",
};
const SAVE: Sql =
    sql!("UPDATE credit_accounts SET account = ?2, shared = ?3, sharing = ?4 WHERE org = ?1");

/// One account as it was read, to tell what changed.
struct Page {
    org: OrgId,
    account: Account,
    shared: SharedDays,
    sharing: SharingPolicy,
    new_sharing: Option<SharingPolicy>,
}

/// The accounts of an org and, once it is needed, of its parent.
pub(super) struct Book {
    /// The rule, with what was read.
    pub(super) ledger: Ledger,
    /// The time, by the database's clock.
    pub(super) now: Timestamp,
    org: Org,
    pages: Vec<Page>,
}

impl Book {
    /// Holds an org's account and starts the periods that are due.
    pub(super) async fn open<T: Tx>(tx: &T, org: OrgId) -> Result<Self> {
        let row = hold(tx, org).await?;
        let now = Timestamp::from_millis(row.int(4)?);
        let org: Org = row.json(3, "organization")?;
        let mut book = Self { ledger: Ledger::default(), now, org, pages: Vec::new() };
        let org = book.org.clone();
        book.add(&org, &row, None)?;
        Ok(book)
    }

    /// Holds the account of the parent as well, unless there is none or it is
    /// held. Always after the child's, so that no two wait for each other.
    pub(super) async fn with_parent<T: Tx>(&mut self, tx: &T) -> Result<bool> {
        let Some(parent) = self.org.parent().filter(|_| self.pages.len() == 1) else {
            return Ok(false);
        };
        tx.query(&WITH_PARENT, &[parent.into()]).await?;
        let row = hold(tx, parent).await?;
        self.add(&row.json(3, "organization")?, &row, Some(self.org.id))?;
        Ok(true)
    }

    fn add(&mut self, org: &Org, row: &Row, child: Option<OrgId>) -> Result<()> {
        let account: Account = or_default(row, 0, "account")?;
        let shared: SharedDays = or_default(row, 1, "account")?;
        let sharing: SharingPolicy = or_default(row, 2, "account")?;
        let mut rolled = account.clone();
        rolled.roll(org.plan, self.now);
        self.ledger.open(org.id, None, rolled);
        self.ledger.set_shared(org.id, shared.clone());
        self.ledger.set_sharing(org.id, sharing.clone());
        if let Some(child) = child {
            // The child's account is open and stays as it is.
            self.ledger.open(child, Some(org.id), Account::default());
        }
        let page = Page { org: org.id, account, shared, sharing, new_sharing: None };
        self.pages.push(page);
        Ok(())
    }

    /// The org's account.
    pub(super) fn account(&self) -> Account {
        self.ledger.account(self.org.id).cloned().unwrap_or_default()
    }

    /// The account, to change it.
    pub(super) fn account_mut(&mut self) -> Result<&mut Account> {
        self.ledger.account_mut(self.org.id).ok_or(StoreError::NotFound("account"))
    }

    /// Changes what the org pays for its children.
    pub(super) fn set_sharing(&mut self, policy: SharingPolicy) {
        if let Some(page) = self.pages.first_mut() {
            page.new_sharing = Some(policy);
        }
    }

    /// Takes up a reservation, and holds the parent's account if it pays.
    pub(super) async fn take_up<T: Tx>(
        &mut self,
        tx: &T,
        id: ReservationId,
        reservation: Reservation,
    ) -> Result<()> {
        if reservation.draws_on_parent() {
            self.with_parent(tx).await?;
        }
        self.ledger.take_up(id, reservation);
        Ok(())
    }

    /// What writes the changed accounts back, with a line for every grant.
    pub(super) fn write_back(&self) -> Result<Vec<Statement>> {
        let mut all = Vec::new();
        for page in &self.pages {
            let account = self.ledger.account(page.org).cloned().unwrap_or_default();
            let shared = self.ledger.shared(page.org);
            if account == page.account && shared == page.shared && page.new_sharing.is_none() {
                continue;
            }
            for kind in PoolKind::ORDER {
                let granted = account.pool(kind).granted;
                let new = granted.saturating_sub(page.account.pool(kind).granted);
                if !new.is_zero() {
                    all.push(lines::grant(page.org, kind, new)?);
                }
            }
            let sharing = page.new_sharing.as_ref().unwrap_or(&page.sharing);
            let [account, shared] = [Value::json(&account)?, Value::json(&shared)?];
            let params = vec![page.org.into(), account, shared, Value::json(sharing)?];
            all.push(Statement { sql: &SAVE, params, must: None });
        }
        Ok(all)
    }

    /// What the org could spend, its parent's share included.
    pub(super) fn affordable(&self) -> Option<Credits> {
        self.ledger.affordable(self.org.id, self.now)
    }
}

async fn hold<T: Tx>(tx: &T, org: OrgId) -> Result<Row> {
    tx.first(&HOLD, &[org.into()]).await?.ok_or(StoreError::NotFound("organization"))
}

/// What is stored, or the beginning of an account where nothing is.
fn or_default<V: DeserializeOwned + Default + Serialize>(
    row: &Row,
    column: usize,
    what: &'static str,
) -> Result<V> {
    if row.text(column)?.is_empty() { Ok(V::default()) } else { row.json(column, what) }
}
