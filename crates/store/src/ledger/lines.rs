//! Ledger lines: every grant and every expense, once.

use ostler_domain::id::{AgentId, OrgId};
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::{CostBearer, LedgerEntry};
use ostler_domain::money::pools::PoolKind;
use ostler_domain::time::Timestamp;

use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Statement, Tx};
use crate::error::Result;

/// A line of an org's ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerLine {
    /// The position in the listing.
    pub id: i64,
    pub at: Timestamp,
    pub amount: Credits,
    pub kind: LedgerLineKind,
    /// The reference of the grant, if any.
    pub reference: Option<String>,
}

/// What a ledger line records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerLineKind {
    /// Credits added to a pool.
    Grant(PoolKind),
    /// Credits spent, or a cost borne by another org or the platform.
    Expense(LedgerEntry),
}

const ADD: Sql = sql!(
    "INSERT INTO ledger_lines (org, agent, at, kind, amount, debit, data, reference)
     VALUES (?1, ?2, now_ms(), ?3, ?4, ?5, ?6, ?7)"
);
const LIST: Sql = sql!(
    "SELECT id, at, amount, kind, data, reference FROM ledger_lines
     WHERE org = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3"
);
const GRANTED: Sql =
    sql!("SELECT data, amount FROM ledger_lines WHERE org = ?1 AND reference = ?2");
const SPENT_SINCE: Sql = Sql {
    sqlite: "SELECT coalesce(sum(amount), 0) FROM ledger_lines
       WHERE org = ?1 AND agent = ?2 AND at >= ?3 AND kind <> 'for_child'",
    postgres: "SELECT coalesce(sum(amount), 0)::bigint FROM ledger_lines
       WHERE org = $1 AND agent = $2 AND at >= $3 AND kind <> 'for_child'",
};

const GRANT: &str = "grant";

const fn bearer_name(bearer: CostBearer) -> &'static str {
    match bearer {
        CostBearer::Own => "own",
        CostBearer::ForChild(_) => "for_child",
        CostBearer::PaidByParent(_) => "paid_by_parent",
        CostBearer::Overrun => "overrun",
    }
}

fn number(credits: Credits) -> Value {
    Value::Int(i64::try_from(credits.get()).unwrap_or(i64::MAX))
}

/// The statement that records a grant; grants of a plan have no reference.
pub(super) fn grant(
    org: OrgId,
    pool: PoolKind,
    amount: Credits,
    reference: Option<&str>,
) -> Result<Statement> {
    let params = vec![
        org.into(),
        Value::Null,
        GRANT.into(),
        number(amount),
        Value::Int(0),
        Value::json(&pool)?,
        reference.into(),
    ];
    Ok(Statement { sql: &ADD, params, on_no_rows: None })
}

/// Returns the amount of the grant with a reference, if any.
pub(crate) fn granted_amount(tx: &Tx, org: OrgId, reference: &str) -> Result<Option<Credits>> {
    Ok(granted(tx, org, reference)?.map(|(_, amount)| amount))
}

/// Returns the grant with a reference, if any.
pub(super) fn granted(tx: &Tx, org: OrgId, reference: &str) -> Result<Option<(PoolKind, Credits)>> {
    let row = tx.first(&GRANTED, &[org.into(), reference.into()])?;
    row.map(|row| Ok((row.json(0, "ledger line")?, credits(row.int(1)?)))).transpose()
}

/// The statement that records an expense.
pub(super) fn expense(entry: &LedgerEntry) -> Result<Statement> {
    let moved = if entry.bearer.moves_credits() { entry.amount } else { Credits::ZERO };
    let params = vec![
        entry.org.into(),
        entry.budget_owner.into(),
        bearer_name(entry.bearer).into(),
        number(entry.amount),
        number(moved),
        Value::json(entry)?,
        Value::Null,
    ];
    Ok(Statement { sql: &ADD, params, on_no_rows: None })
}

impl OrgStore<'_> {
    /// Returns the lines of this org's ledger before `before`, newest first, with all
    /// settlements applied.
    pub async fn ledger_lines(&self, before: Option<i64>, limit: u32) -> Result<Vec<LedgerLine>> {
        self.apply_settlements().await?;
        self.rows(&LIST, [before.unwrap_or(i64::MAX).into(), limit.into()], read_line).await
    }

    /// Returns what an agent has cost this org since a moment, from any account.
    pub async fn spent_since(&self, agent: AgentId, since: Timestamp) -> Result<Credits> {
        self.apply_settlements().await?;
        let params = [agent.into(), since.into()];
        self.one("ledger", &SPENT_SINCE, params, |row| row.int(0).map(credits)).await
    }
}

fn read_line(row: &Row) -> Result<LedgerLine> {
    let kind = match row.text(3)? {
        GRANT => LedgerLineKind::Grant(row.json(4, "ledger line")?),
        _ => LedgerLineKind::Expense(row.json(4, "ledger line")?),
    };
    Ok(LedgerLine {
        id: row.int(0)?,
        at: Timestamp::from_millis(row.int(1)?),
        amount: credits(row.int(2)?),
        kind,
        reference: row.opt_parsed(5, "reference")?,
    })
}

fn credits(number: i64) -> Credits {
    Credits::new(u64::try_from(number).unwrap_or_default())
}
