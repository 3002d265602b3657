//! The lines of the ledger: every grant and every expense, once.

use ostler_domain::id::{AgentId, OrgId};
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::{Bearer, LedgerEntry};
use ostler_domain::money::pools::PoolKind;
use ostler_domain::time::Timestamp;

use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Statement, Tx};
use crate::error::{Result, StoreError};

/// A line of an org's ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerLine {
    /// Its place: lines are listed by it.
    pub id: i64,
    /// When it was written.
    pub at: Timestamp,
    /// How many credits.
    pub amount: Credits,
    /// What happened to them.
    pub kind: LineKind,
    /// What they were granted for, if somebody granted them.
    pub reference: Option<String>,
}

/// What a line tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineKind {
    /// Credits came into a pool.
    Grant(PoolKind),
    /// Credits were spent, or somebody else bore a cost.
    Expense(LedgerEntry),
}

const ADD: Sql = sql!(
    "INSERT INTO ledger_lines (org, agent, at, kind, amount, moved, data, reference)
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

const fn kind(bearer: Bearer) -> &'static str {
    match bearer {
        Bearer::Own => "own",
        Bearer::ForChild(_) => "for_child",
        Bearer::PaidByParent(_) => "paid_by_parent",
        Bearer::Overrun => "overrun",
    }
}

fn number(credits: Credits) -> Value {
    Value::Int(i64::try_from(credits.get()).unwrap_or(i64::MAX))
}

/// The line of a grant; what a plan grants has no reference.
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
    Ok(Statement { sql: &ADD, params, must: None })
}

/// What was granted with a reference, if anything was.
pub(super) async fn granted<T: Tx>(
    tx: &T,
    org: OrgId,
    reference: &str,
) -> Result<Option<(PoolKind, Credits)>> {
    let row = tx.first(&GRANTED, &[org.into(), reference.into()]).await?;
    row.map(|row| Ok((row.json(0, "ledger line")?, credits(row.int(1)?)))).transpose()
}

/// The line of an expense.
pub(super) fn expense(entry: &LedgerEntry) -> Result<Statement> {
    let moved = if entry.bearer.moves_credits() { entry.amount } else { Credits::ZERO };
    let params = vec![
        entry.org.into(),
        entry.budget_owner.into(),
        kind(entry.bearer).into(),
        number(entry.amount),
        number(moved),
        Value::json(entry)?,
        Value::Null,
    ];
    Ok(Statement { sql: &ADD, params, must: None })
}

impl OrgStore<'_> {
    /// The lines of this org's ledger, newest first, from before a place on;
    /// none means from the newest. Charges that are settled are in it.
    pub async fn ledger_lines(&self, before: Option<i64>, most: u32) -> Result<Vec<LedgerLine>> {
        self.apply_settlements().await?;
        self.store.read(List(self.org, before.unwrap_or(i64::MAX), most)).await
    }

    /// What an agent has cost this org since a moment, whoever paid.
    pub async fn spent_since(&self, agent: AgentId, since: Timestamp) -> Result<Credits> {
        self.apply_settlements().await?;
        self.store.read(SpentSince(self.org, agent, since)).await
    }
}

struct List(OrgId, i64, u32);

impl Operation for List {
    type Output = Vec<LedgerLine>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<LedgerLine>> {
        let rows = tx.query(&LIST, &[self.0.into(), self.1.into(), self.2.into()]).await?;
        rows.iter().map(line).collect()
    }
}

fn line(row: &Row) -> Result<LedgerLine> {
    let kind = match row.text(3)? {
        GRANT => LineKind::Grant(row.json(4, "ledger line")?),
        _ => LineKind::Expense(row.json(4, "ledger line")?),
    };
    Ok(LedgerLine {
        id: row.int(0)?,
        at: Timestamp::from_millis(row.int(1)?),
        amount: credits(row.int(2)?),
        kind,
        reference: row.opt_written(5, "reference")?,
    })
}

fn credits(number: i64) -> Credits {
    Credits::new(u64::try_from(number).unwrap_or_default())
}

struct SpentSince(OrgId, AgentId, Timestamp);

impl Operation for SpentSince {
    type Output = Credits;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Credits> {
        let params = [self.0.into(), self.1.into(), self.2.as_millis().into()];
        let row = tx.first(&SPENT_SINCE, &params).await?;
        Ok(credits(row.ok_or(StoreError::NotFound("ledger"))?.int(0)?))
    }
}
