//! Consistency check: every credit of the accounts against the reservations and the
//! ledger lines, which are written independently.

use std::collections::BTreeMap;

use ostler_domain::id::OrgId;
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::Reservation;
use ostler_domain::money::pools::{CreditAccount, PoolKind};

use crate::Store;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::error::Result;

const ACCOUNTS: Sql = sql!("SELECT org, account FROM credit_accounts WHERE account <> ''");
const LINES: Sql = Sql {
    sqlite: "SELECT org, sum(CASE kind WHEN 'grant' THEN amount ELSE 0 END), sum(debit)
       FROM ledger_lines GROUP BY org",
    postgres: "SELECT org, sum(CASE kind WHEN 'grant' THEN amount ELSE 0 END)::bigint,
         sum(debit)::bigint
       FROM ledger_lines GROUP BY org",
};
const RESERVATIONS: Sql = sql!("SELECT data FROM reservations");

/// The result of checking all accounts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LedgerCheck {
    /// The number of accounts checked.
    pub accounts: u64,
    pub mismatches: Vec<AccountMismatch>,
}

/// An account that does not match the ledger. Pairs hold the account's value and the
/// one derived from the other tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountMismatch {
    pub org: OrgId,
    /// Whether `granted = available + reserved + spent + expired` in each pool.
    pub pools_balance: bool,
    /// Account, ledger lines.
    pub granted: (Credits, Credits),
    /// Account, reservations.
    pub reserved: (Credits, Credits),
    /// Account, ledger lines.
    pub spent: (Credits, Credits),
}

impl Store {
    /// Checks all accounts against all reservations and ledger lines.
    pub fn check_ledger(&self) -> StoreFuture<LedgerCheck> {
        self.read_all_orgs(check_ledger)
    }
}

fn check_ledger(tx: &Tx) -> Result<LedgerCheck> {
    let mut lines: BTreeMap<OrgId, (Credits, Credits)> = BTreeMap::new();
    for row in tx.query(&LINES, &[])? {
        lines.insert(row.id(0)?, (credits(row.int(1)?), credits(row.int(2)?)));
    }
    let mut held: BTreeMap<OrgId, Credits> = BTreeMap::new();
    for row in tx.query(&RESERVATIONS, &[])? {
        let reservation: Reservation = row.json(0, "reservation")?;
        for (org, amount) in reservation.held_by_org() {
            let sum = held.entry(org).or_default();
            *sum = *sum + amount;
        }
    }
    let mut check = LedgerCheck::default();
    for row in tx.query(&ACCOUNTS, &[])? {
        let org: OrgId = row.id(0)?;
        let (granted, spent) = lines.get(&org).copied().unwrap_or_default();
        let reserved = held.get(&org).copied().unwrap_or_default();
        let account = row.json(1, "account")?;
        check.accounts += 1;
        check.mismatches.extend(find_mismatch(org, &account, granted, reserved, spent));
    }
    Ok(check)
}

fn credits(number: i64) -> Credits {
    Credits::new(u64::try_from(number).unwrap_or_default())
}

/// Compares an account with the other tables. Grants of an unlimited plan have no
/// ledger lines.
fn find_mismatch(
    org: OrgId,
    account: &CreditAccount,
    granted: Credits,
    reserved: Credits,
    spent: Credits,
) -> Option<AccountMismatch> {
    let pools =
        |kinds: &[PoolKind]| kinds.iter().map(|&kind| *account.pool(kind)).collect::<Vec<_>>();
    let found = AccountMismatch {
        org,
        pools_balance: account.is_balanced(),
        granted: (pools(&PoolKind::DRAW_ORDER).iter().map(|pool| pool.granted).sum(), granted),
        reserved: (pools(&PoolKind::ALL).iter().map(|pool| pool.reserved).sum(), reserved),
        spent: (pools(&PoolKind::ALL).iter().map(|pool| pool.spent).sum(), spent),
    };
    let same = |(a, b): (Credits, Credits)| a == b;
    let matches =
        found.pools_balance && same(found.granted) && same(found.reserved) && same(found.spent);
    (!matches).then_some(found)
}
