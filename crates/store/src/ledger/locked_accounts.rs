//! The accounts that an operation has locked, as the domain's `Ledger` sees them.

use std::collections::BTreeSet;

use ostler_domain::id::{NoticeId, OrgId, ReservationId};
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::{Ledger, Reservation};
use ostler_domain::money::pools::{CreditAccount, PoolKind};
use ostler_domain::money::sharing::{SharedSpending, SharingNotice, SharingPolicy};
use ostler_domain::notice::{NoticeKind, NoticeRecipient, low_credits_reached};
use ostler_domain::org::Org;
use ostler_domain::time::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::accounts::NewGrant;
use super::lines;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Statement, Tx};
use crate::delivery::notices::NewNotice;
use crate::error::{Result, StoreError};

/// Locks the account's row until the transaction ends.
const LOCK: Sql = Sql {
    sqlite: "SELECT account, shared_usage, sharing_policy FROM credit_accounts WHERE org = ?1",
    postgres: "SELECT account, shared_usage, sharing_policy FROM credit_accounts
       WHERE org = $1 FOR UPDATE",
};
/// Read by a separate statement after the account is locked: a change of the
/// org's plan or parent locks the account too, and may have committed meanwhile.
const ORG: Sql = sql!("SELECT data, now_ms() FROM orgs WHERE id = ?1");
/// Extends the transaction's row-level security scope to the paying orgs.
const EXTEND_SCOPE: Sql =
    Sql { sqlite: "SELECT ?1", postgres: "SELECT set_config('ostler.other_orgs', $1, true)" };
const SAVE: Sql = sql!(
    "UPDATE credit_accounts SET account = ?2, shared_usage = ?3, sharing_policy = ?4
     WHERE org = ?1"
);

/// An account as it was read, to detect changes.
struct AccountSnapshot {
    org: OrgId,
    account: CreditAccount,
    shared: SharedSpending,
    sharing: SharingPolicy,
    new_sharing: Option<SharingPolicy>,
}

/// The locked account of an org and, once needed, of the orgs that pay for it.
pub(super) struct LockedAccounts {
    pub(super) ledger: Ledger,
    /// By the database's clock.
    pub(super) now: Timestamp,
    org: Org,
    snapshots: Vec<AccountSnapshot>,
    grant: Option<NewGrant>,
}

impl LockedAccounts {
    /// Locks an org's account and starts the periods that are due.
    pub(super) fn open(tx: &Tx, org: OrgId) -> Result<Self> {
        let locked = lock_account(tx, org)?;
        let (ledger, org) = (Ledger::default(), locked.org.clone());
        let mut accounts =
            Self { ledger, now: locked.now, org, snapshots: Vec::new(), grant: None };
        accounts.add(&locked)?;
        Ok(accounts)
    }

    /// Locks the current parent's account too. Returns false if there is no parent or
    /// it is locked already.
    pub(super) fn lock_parent(&mut self, tx: &Tx) -> Result<bool> {
        let Some(parent) = self.org.parent().filter(|&parent| !self.has_locked(parent)) else {
            return Ok(false);
        };
        self.lock_others(tx, [parent].into())?;
        Ok(true)
    }

    fn has_locked(&self, org: OrgId) -> bool {
        self.snapshots.iter().any(|snapshot| snapshot.org == org)
    }

    /// Locks the accounts of other orgs, always after the org's own and in the order of
    /// their ids, so that deadlocks are rare.
    fn lock_others(&mut self, tx: &Tx, mut others: BTreeSet<OrgId>) -> Result<()> {
        others.retain(|&org| !self.has_locked(org));
        if others.is_empty() {
            return Ok(());
        }
        let before = self.snapshots.iter().skip(1).map(|snapshot| snapshot.org);
        let orgs: Vec<String> = before
            .chain(others.iter().copied())
            .map(|org| format!("{:032x}", org.as_u128()))
            .collect();
        tx.query(&EXTEND_SCOPE, &[orgs.join(",").into()])?;
        for other in others {
            let locked = lock_account(tx, other)?;
            self.add(&locked)?;
        }
        if let Some(parent) = self.org.parent().filter(|&parent| self.has_locked(parent)) {
            // The org's account is open already and stays as it is.
            self.ledger.open_account(self.org.id, Some(parent), CreditAccount::default());
        }
        Ok(())
    }

    fn add(&mut self, locked: &LockedRow) -> Result<()> {
        let (id, row) = (locked.org.id, &locked.account);
        let account: CreditAccount = or_default(row, 0, "account")?;
        let shared: SharedSpending = or_default(row, 1, "account")?;
        let sharing: SharingPolicy = or_default(row, 2, "account")?;
        let mut rolled = account.clone();
        rolled.start_due_periods(locked.org.period_credits(), self.now);
        self.ledger.open_account(id, None, rolled);
        self.ledger.set_shared_spending(id, shared.clone());
        self.ledger.set_sharing_policy(id, sharing.clone());
        self.snapshots.push(AccountSnapshot {
            org: id,
            account,
            shared,
            sharing,
            new_sharing: None,
        });
        Ok(())
    }

    /// Returns the org's account.
    pub(super) fn account(&self) -> CreditAccount {
        self.ledger.account(self.org.id).cloned().unwrap_or_default()
    }

    /// Returns the org's account for changes.
    pub(super) fn account_mut(&mut self) -> Result<&mut CreditAccount> {
        self.ledger.account_mut(self.org.id).ok_or(StoreError::NotFound("account"))
    }

    /// Changes what the org pays for its children.
    pub(super) fn set_sharing(&mut self, policy: SharingPolicy) {
        if let Some(snapshot) = self.snapshots.first_mut() {
            snapshot.new_sharing = Some(policy);
        }
    }

    /// Adds credits to a pool; they get a ledger line of their own.
    pub(super) fn grant(&mut self, new: NewGrant) -> Result<()> {
        self.account_mut()?.grant(new.pool, new.amount);
        self.grant = Some(new);
        Ok(())
    }

    /// Adds open reservations and locks the accounts that they draw on. These are the
    /// parents at the time of the reservation; the current parent is locked with them,
    /// since more may be drawn from it.
    pub(super) fn add_reservations(
        &mut self,
        tx: &Tx,
        reservations: Vec<(ReservationId, Reservation)>,
    ) -> Result<()> {
        let draws = reservations.iter().flat_map(|(_, reservation)| reservation.held_by_org());
        let mut payers: BTreeSet<OrgId> = draws.map(|(payer, _)| payer).collect();
        payers.remove(&self.org.id);
        if !payers.is_empty() {
            payers.extend(self.org.parent());
        }
        self.lock_others(tx, payers)?;
        for (id, reservation) in reservations {
            self.ledger.insert_reservation(id, reservation);
        }
        Ok(())
    }

    /// The statements that write the changed accounts back, with a ledger line for every
    /// grant.
    pub(super) fn write_back(&self) -> Result<Vec<Statement>> {
        let mut all = Vec::new();
        for snapshot in &self.snapshots {
            let account = self.ledger.account(snapshot.org).cloned().unwrap_or_default();
            let shared = self.ledger.shared_spending(snapshot.org);
            let grants = self.grants(snapshot, &account)?;
            let same = account == snapshot.account && shared == snapshot.shared;
            if same && grants.is_empty() && snapshot.new_sharing.is_none() {
                continue;
            }
            if PoolKind::ALL.iter().any(|&kind| account.pool(kind).granted > Credits::MAX_TOTAL) {
                return Err(StoreError::TooManyCredits { limit: Credits::MAX_TOTAL });
            }
            all.extend(grants);
            let sharing = snapshot.new_sharing.as_ref().unwrap_or(&snapshot.sharing);
            let [account, shared] = [Value::json(&account)?, Value::json(&shared)?];
            let params = vec![snapshot.org.into(), account, shared, Value::json(sharing)?];
            all.push(Statement { sql: &SAVE, params, on_no_rows: None });
        }
        Ok(all)
    }

    /// The ledger lines for credits from a period or plan, and for a grant.
    fn grants(
        &self,
        snapshot: &AccountSnapshot,
        account: &CreditAccount,
    ) -> Result<Vec<Statement>> {
        let grant = self.grant.as_ref().filter(|_| snapshot.org == self.org.id);
        let mut all = Vec::new();
        for kind in PoolKind::DRAW_ORDER {
            let apart = grant.filter(|grant| grant.pool == kind).map(|grant| grant.amount);
            let known = snapshot.account.pool(kind).granted + apart.unwrap_or_default();
            let new = account.pool(kind).granted.saturating_sub(known);
            if !new.is_zero() {
                all.push(lines::grant(snapshot.org, kind, new, None)?);
            }
        }
        if let Some(NewGrant { reference, pool, amount }) = grant {
            all.push(lines::grant(snapshot.org, *pool, *amount, Some(reference))?);
        }
        Ok(all)
    }

    /// The notices to owners whose monthly credits have reached a new low level since the
    /// accounts were read. A notice takes its id from the reservation that caused it.
    pub(super) fn low_credits(&self, by: ReservationId) -> Result<Vec<(OrgId, NewNotice)>> {
        let mut all = Vec::new();
        for snapshot in &self.snapshots {
            let monthly = |account: &CreditAccount| {
                let pool = account.pool(PoolKind::Monthly);
                (pool.granted_this_period, pool.available + pool.reserved, pool.period)
            };
            let account = self.ledger.account(snapshot.org).cloned().unwrap_or_default();
            let ((_, before, was), (granted, left, is)) =
                (monthly(&snapshot.account), monthly(&account));
            let before = if was == is { before } else { granted };
            let Some(level) = low_credits_reached(granted, before, left) else { continue };
            let data =
                serde_json::json!({"organization": snapshot.org, "left": left, "of": granted});
            let notice = NewNotice {
                id: NoticeId::from_u128(by.as_u128()),
                kind: NoticeKind::LowCredits(level),
                recipient: NoticeRecipient::Owner,
                subject: snapshot.org.to_string(),
                data: data.to_string(),
            };
            all.push((snapshot.org, notice));
        }
        Ok(all)
    }

    /// The notices to parents for whom this org has nearly used up a cap, one for each cap
    /// and day.
    pub(super) fn nearly_used_caps(&self, by: ReservationId) -> Vec<(OrgId, NewNotice)> {
        let (child, day) = (self.org.id, self.now.utc_day());
        let mut all = Vec::new();
        for snapshot in self.snapshots.iter().filter(|snapshot| snapshot.org != child) {
            let shared = self.ledger.shared_spending(snapshot.org);
            for near in shared.nearly_used_caps(&snapshot.sharing, child, day) {
                let (id, about, used, cap) = match near {
                    SharingNotice::ChildNearsCap(_) => {
                        let cap = snapshot.sharing.cap_of(child);
                        (by.as_u128() ^ 1, child.to_string(), shared.used_by(child, day), cap)
                    }
                    SharingNotice::AllNearCap => {
                        let (used, cap) = (shared.total_used(day), snapshot.sharing.max_total);
                        (by.as_u128() ^ 2, "all".to_owned(), used, cap)
                    }
                };
                let child = matches!(near, SharingNotice::ChildNearsCap(_)).then_some(child);
                let data = serde_json::json!({"child": child, "used": used, "cap": cap});
                let notice = NewNotice {
                    id: NoticeId::from_u128(id),
                    kind: NoticeKind::SharingNearCap,
                    recipient: NoticeRecipient::Owner,
                    subject: format!("{about} {}", day.number()),
                    data: data.to_string(),
                };
                all.push((snapshot.org, notice));
            }
        }
        all
    }

    /// Returns what the org can spend, including its parent's share.
    pub(super) fn affordable(&self) -> Option<Credits> {
        self.ledger.affordable(self.org.id, self.now)
    }
}

/// A locked account row and its org.
struct LockedRow {
    account: Row,
    org: Org,
    now: Timestamp,
}

fn lock_account(tx: &Tx, org: OrgId) -> Result<LockedRow> {
    let id = [Value::from(org)];
    let answers = tx.query_in_order(&[(&LOCK, &id), (&ORG, &id)])?;
    let mut answers = answers.into_iter().map(|rows| rows.into_iter().next());
    let (Some(Some(account)), Some(Some(row))) = (answers.next(), answers.next()) else {
        return Err(StoreError::NotFound("organization"));
    };
    let now = Timestamp::from_millis(row.int(1)?);
    Ok(LockedRow { account, org: row.json(0, "organization")?, now })
}

/// The stored value, or the default of an account that was never written.
fn or_default<V: DeserializeOwned + Default + Serialize>(
    row: &Row,
    column: usize,
    what: &'static str,
) -> Result<V> {
    if row.text(column)?.is_empty() { Ok(V::default()) } else { row.json(column, what) }
}
