//! Accounts and ledgers.

use ostler_domain::money::Credits;
use ostler_domain::money::pools::PoolKind;
use ostler_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

/// An org's account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// What can be spent; nothing if there is no limit.
    pub available: Option<Credits>,
    /// The pools, in the order they are drawn on.
    pub pools: Vec<Pool>,
}

/// A pool: `granted = available + reserved + spent + expired`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    /// Which one.
    pub pool: PoolKind,
    /// All that was ever granted.
    pub granted: Credits,
    /// Free to be reserved.
    pub available: Credits,
    /// Held for turns that are running.
    pub reserved: Credits,
    /// Gone.
    pub spent: Credits,
    /// Not used in its period.
    pub expired: Credits,
}

/// A line of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Its place: lines are listed by it.
    pub id: i64,
    /// When it was written.
    pub at: Timestamp,
    /// How many credits.
    pub amount: Credits,
    /// Whether they came or went.
    pub kind: LineKind,
    /// The pool that they came into.
    pub pool: Option<PoolKind>,
    /// What they were granted for, if somebody granted them.
    pub reference: Option<String>,
}

/// Whether credits came or went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// They came.
    Grant,
    /// They went.
    Expense,
}

/// Credits for an org.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// What for. A repeat with the same one changes nothing.
    pub reference: String,
    /// The pool that they go to.
    pub pool: PoolKind,
    /// How many.
    pub amount: Credits,
}
