//! Agents on queues: who there is, the work that was given to them, their teams,
//! and messages that wait for somebody's decision. The rules are `ostler_domain::dispatch`'s; what is here makes one
//! short transaction of each change.

pub(crate) mod agents;
pub(crate) mod delegations;
pub(crate) mod held;
pub(crate) mod teams;

use serde::Serialize;

use crate::backend::value::Value;
use crate::error::{Result, StoreError};

/// The most bytes of a text that describes or configures something.
const MOST_BYTES: usize = 256 * 1024;
/// The most entries of a list that is stored as one: what an agent can do, what
/// a piece of work waits for, who is in a team.
const MOST_ENTRIES: usize = 1000;

const fn check_size(what: &'static str, text: &str, limit: usize) -> Result<()> {
    if text.len() > limit {
        return Err(StoreError::TooLarge { what, limit });
    }
    Ok(())
}

const fn check_count(what: &'static str, count: usize) -> Result<()> {
    if count > MOST_ENTRIES {
        return Err(StoreError::TooMany { what, limit: MOST_ENTRIES });
    }
    Ok(())
}

/// A unit of an enum by the name that its JSON has, without the quotes.
fn name_of(unit: &impl Serialize) -> Result<Value> {
    Ok(match Value::json(unit)? {
        Value::Text(text) => Value::Text(text.trim_matches('"').to_owned()),
        other => other,
    })
}
