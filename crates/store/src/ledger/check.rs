//! Whether every credit is accounted for: the accounts against the reservations
//! and the lines, which were written by different hands.

use std::collections::BTreeMap;

use ostler_domain::id::OrgId;
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::Reservation;
use ostler_domain::money::pools::{Account, PoolKind};

use crate::Store;
use crate::backend::sql::{Sql, sql};
use crate::backend::{Operation, Scope, Tx};
use crate::error::Result;

const ACCOUNTS: Sql = sql!("SELECT org, account FROM credit_accounts WHERE account <> ''");
const LINES: Sql = Sql {
    sqlite: "SELECT org, sum(CASE kind WHEN 'grant' THEN amount ELSE 0 END), sum(moved)
       FROM ledger_lines GROUP BY org",
    postgres: "SELECT org, sum(CASE kind WHEN 'grant' THEN amount ELSE 0 END)::bigint,
         sum(moved)::bigint
       FROM ledger_lines GROUP BY org",
};
const RESERVATIONS: Sql = sql!("SELECT data FROM reservations");

/// What a check of all accounts found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LedgerCheck {
    /// How many accounts there are.
    pub accounts: u64,
    /// Those that do not add up.
    pub wrong: Vec<Imbalance>,
}

/// An account that does not add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Imbalance {
    /// Whose account.
    pub org: OrgId,
    /// Whether `granted = available + reserved + spent + expired` in each pool.
    pub pools_balance: bool,
    /// Granted by the account, and by the lines of the ledger.
    pub granted: (Credits, Credits),
    /// Reserved by the account, and by the reservations.
    pub reserved: (Credits, Credits),
    /// Spent by the account, and by the lines of the ledger.
    pub spent: (Credits, Credits),
}

impl Store {
    /// Checks all accounts against all reservations and lines.
    pub async fn check_ledger(&self) -> Result<LedgerCheck> {
        self.read(Check).await
    }
}

struct Check;

impl Operation for Check {
    type Output = LedgerCheck;

    fn scope(&self) -> Scope {
        Scope::All
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<LedgerCheck> {
        let mut lines: BTreeMap<OrgId, (Credits, Credits)> = BTreeMap::new();
        for row in tx.query(&LINES, &[]).await? {
            lines.insert(row.id(0)?, (credits(row.int(1)?), credits(row.int(2)?)));
        }
        let mut held: BTreeMap<OrgId, Credits> = BTreeMap::new();
        for row in tx.query(&RESERVATIONS, &[]).await? {
            let reservation: Reservation = row.json(0, "reservation")?;
            for (org, amount) in reservation.held() {
                let sum = held.entry(org).or_default();
                *sum = *sum + amount;
            }
        }
        let mut check = LedgerCheck::default();
        for row in tx.query(&ACCOUNTS, &[]).await? {
            let org: OrgId = row.id(0)?;
            let (granted, spent) = lines.get(&org).copied().unwrap_or_default();
            let reserved = held.get(&org).copied().unwrap_or_default();
            check.accounts += 1;
            check.wrong.extend(imbalance(org, &row.json(1, "account")?, granted, reserved, spent));
        }
        Ok(check)
    }
}

fn credits(number: i64) -> Credits {
    Credits::new(u64::try_from(number).unwrap_or_default())
}

/// Compares an account with what the other tables say of it. What an unlimited
/// plan grants itself as it goes has no lines.
fn imbalance(
    org: OrgId,
    account: &Account,
    granted: Credits,
    reserved: Credits,
    spent: Credits,
) -> Option<Imbalance> {
    let pools =
        |kinds: &[PoolKind]| kinds.iter().map(|&kind| *account.pool(kind)).collect::<Vec<_>>();
    let found = Imbalance {
        org,
        pools_balance: account.balances(),
        granted: (pools(&PoolKind::ORDER).iter().map(|pool| pool.granted).sum(), granted),
        reserved: (pools(&PoolKind::ALL).iter().map(|pool| pool.reserved).sum(), reserved),
        spent: (pools(&PoolKind::ALL).iter().map(|pool| pool.spent).sum(), spent),
    };
    let same = |(a, b): (Credits, Credits)| a == b;
    let adds_up =
        found.pools_balance && same(found.granted) && same(found.reserved) && same(found.spent);
    (!adds_up).then_some(found)
}
