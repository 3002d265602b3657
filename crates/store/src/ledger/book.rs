//! The accounts that an operation holds, as the rule sees them.

use std::collections::BTreeSet;

use ostler_domain::id::{NoticeId, OrgId, ReservationId};
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::{Ledger, Reservation};
use ostler_domain::money::pools::{Account, PoolKind};
use ostler_domain::money::sharing::{SharedDays, SharingPolicy};
use ostler_domain::notice::{NoticeKind, Recipient, low_credits};
use ostler_domain::org::Org;
use ostler_domain::time::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::accounts::NewGrant;
use super::lines;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Statement, Tx};
use crate::error::{Result, StoreError};
use crate::notices::NewNotice;

/// Holds the account's row until the transaction ends.
const HOLD: Sql = Sql {
    sqlite: "SELECT account, shared, sharing FROM credit_accounts WHERE org = ?1",
    postgres: "SELECT account, shared, sharing FROM credit_accounts WHERE org = $1 FOR UPDATE",
};
/// Read after the account is held, by a statement of its own: whoever changes
/// the org's plan or parent holds the account, and may have been waited for.
const ORG: Sql = sql!("SELECT data, now_ms() FROM orgs WHERE id = ?1");
/// Lets the transaction touch the rows of those who pay, too.
const ALSO: Sql =
    Sql { sqlite: "SELECT ?1", postgres: "SELECT set_config('ostler.also', $1, true)" };
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

/// The accounts of an org and, once they are needed, of those who pay for it.
pub(super) struct Book {
    /// The rule, with what was read.
    pub(super) ledger: Ledger,
    /// The time, by the database's clock.
    pub(super) now: Timestamp,
    org: Org,
    pages: Vec<Page>,
    grant: Option<NewGrant>,
}

impl Book {
    /// Holds an org's account and starts the periods that are due.
    pub(super) async fn open<T: Tx>(tx: &T, org: OrgId) -> Result<Self> {
        let held = hold(tx, org).await?;
        let (ledger, org) = (Ledger::default(), held.org.clone());
        let mut book = Self { ledger, now: held.now, org, pages: Vec::new(), grant: None };
        book.add(&held)?;
        Ok(book)
    }

    /// Holds the account of the present parent as well, and says whether that
    /// made a difference: there may be none, or it may be held.
    pub(super) async fn with_parent<T: Tx>(&mut self, tx: &T) -> Result<bool> {
        let Some(parent) = self.org.parent().filter(|&parent| !self.holds(parent)) else {
            return Ok(false);
        };
        self.hold_others(tx, [parent].into()).await?;
        Ok(true)
    }

    fn holds(&self, org: OrgId) -> bool {
        self.pages.iter().any(|page| page.org == org)
    }

    /// Holds the accounts of others, always after the org's own and in the
    /// order of their ids, so that hardly ever two wait for each other.
    async fn hold_others<T: Tx>(&mut self, tx: &T, mut others: BTreeSet<OrgId>) -> Result<()> {
        others.retain(|&org| !self.holds(org));
        if others.is_empty() {
            return Ok(());
        }
        let before = self.pages.iter().skip(1).map(|page| page.org);
        let also: Vec<String> = before
            .chain(others.iter().copied())
            .map(|org| format!("{:032x}", org.as_u128()))
            .collect();
        tx.query(&ALSO, &[also.join(",").into()]).await?;
        for other in others {
            let held = hold(tx, other).await?;
            self.add(&held)?;
        }
        if let Some(parent) = self.org.parent().filter(|&parent| self.holds(parent)) {
            // The org's account is open and stays as it is.
            self.ledger.open(self.org.id, Some(parent), Account::default());
        }
        Ok(())
    }

    fn add(&mut self, held: &Held) -> Result<()> {
        let (id, row) = (held.org.id, &held.account);
        let account: Account = or_default(row, 0, "account")?;
        let shared: SharedDays = or_default(row, 1, "account")?;
        let sharing: SharingPolicy = or_default(row, 2, "account")?;
        let mut rolled = account.clone();
        rolled.roll(held.org.plan, self.now);
        self.ledger.open(id, None, rolled);
        self.ledger.set_shared(id, shared.clone());
        self.ledger.set_sharing(id, sharing.clone());
        self.pages.push(Page { org: id, account, shared, sharing, new_sharing: None });
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

    /// Adds credits to a pool; they have a line of their own.
    pub(super) fn grant(&mut self, new: NewGrant) -> Result<()> {
        self.account_mut()?.grant(new.pool, new.amount);
        self.grant = Some(new);
        Ok(())
    }

    /// Takes up reservations, and holds the accounts that they draw on: those
    /// of the parents of then, which need not be the parent of now. That one is
    /// held with them, since more may be drawn from it.
    pub(super) async fn take_up<T: Tx>(
        &mut self,
        tx: &T,
        reservations: Vec<(ReservationId, Reservation)>,
    ) -> Result<()> {
        let draws = reservations.iter().flat_map(|(_, reservation)| reservation.held());
        let mut payers: BTreeSet<OrgId> = draws.map(|(payer, _)| payer).collect();
        payers.remove(&self.org.id);
        if !payers.is_empty() {
            payers.extend(self.org.parent());
        }
        self.hold_others(tx, payers).await?;
        for (id, reservation) in reservations {
            self.ledger.take_up(id, reservation);
        }
        Ok(())
    }

    /// What writes the changed accounts back, with a line for every grant.
    pub(super) fn write_back(&self) -> Result<Vec<Statement>> {
        let mut all = Vec::new();
        for page in &self.pages {
            let account = self.ledger.account(page.org).cloned().unwrap_or_default();
            let shared = self.ledger.shared(page.org);
            let grants = self.grants(page, &account)?;
            let same = account == page.account && shared == page.shared;
            if same && grants.is_empty() && page.new_sharing.is_none() {
                continue;
            }
            if PoolKind::ALL.iter().any(|&kind| account.pool(kind).granted > Credits::MOST_EVER) {
                return Err(StoreError::TooManyCredits { most: Credits::MOST_EVER });
            }
            all.extend(grants);
            let sharing = page.new_sharing.as_ref().unwrap_or(&page.sharing);
            let [account, shared] = [Value::json(&account)?, Value::json(&shared)?];
            let params = vec![page.org.into(), account, shared, Value::json(sharing)?];
            all.push(Statement { sql: &SAVE, params, must: None });
        }
        Ok(all)
    }

    /// A line for what a period or a plan brought, and one for a grant.
    fn grants(&self, page: &Page, account: &Account) -> Result<Vec<Statement>> {
        let given = self.grant.as_ref().filter(|_| page.org == self.org.id);
        let mut all = Vec::new();
        for kind in PoolKind::ORDER {
            let apart = given.filter(|given| given.pool == kind).map(|given| given.amount);
            let known = page.account.pool(kind).granted + apart.unwrap_or_default();
            let new = account.pool(kind).granted.saturating_sub(known);
            if !new.is_zero() {
                all.push(lines::grant(page.org, kind, new, None)?);
            }
        }
        if let Some(NewGrant { reference, pool, amount }) = given {
            all.push(lines::grant(page.org, *pool, *amount, Some(reference))?);
        }
        Ok(all)
    }

    /// What owners are told whose monthly credits have come to a new level since
    /// the accounts were read. The notice has the number of what brought it there.
    pub(super) fn low_credits(&self, by: ReservationId) -> Result<Vec<(OrgId, NewNotice)>> {
        let mut all = Vec::new();
        for page in &self.pages {
            let monthly = |account: &Account| {
                let pool = account.pool(PoolKind::Monthly);
                (pool.granted_now, pool.available + pool.reserved, pool.period)
            };
            let account = self.ledger.account(page.org).cloned().unwrap_or_default();
            let ((_, before, was), (granted, left, is)) =
                (monthly(&page.account), monthly(&account));
            let before = if was == is { before } else { granted };
            let Some(level) = low_credits(granted, before, left) else { continue };
            let data = serde_json::json!({"organization": page.org, "left": left, "of": granted});
            let notice = NewNotice {
                id: NoticeId::from_u128(by.as_u128()),
                kind: NoticeKind::LowCredits(level),
                recipient: Recipient::Owner,
                subject: page.org.to_string(),
                data: data.to_string(),
            };
            all.push((page.org, notice));
        }
        Ok(all)
    }

    /// What the org could spend, its parent's share included.
    pub(super) fn affordable(&self) -> Option<Credits> {
        self.ledger.affordable(self.org.id, self.now)
    }
}

/// An account that is held, and its org.
struct Held {
    account: Row,
    org: Org,
    now: Timestamp,
}

async fn hold<T: Tx>(tx: &T, org: OrgId) -> Result<Held> {
    let id = [Value::from(org)];
    let answers = tx.query_in_order(&[(&HOLD, &id), (&ORG, &id)]).await?;
    let mut answers = answers.into_iter().map(|rows| rows.into_iter().next());
    let (Some(Some(account)), Some(Some(row))) = (answers.next(), answers.next()) else {
        return Err(StoreError::NotFound("organization"));
    };
    let now = Timestamp::from_millis(row.int(1)?);
    Ok(Held { account, org: row.json(0, "organization")?, now })
}

/// What is stored, or the beginning of an account where nothing is.
fn or_default<V: DeserializeOwned + Default + Serialize>(
    row: &Row,
    column: usize,
    what: &'static str,
) -> Result<V> {
    if row.text(column)?.is_empty() { Ok(V::default()) } else { row.json(column, what) }
}
