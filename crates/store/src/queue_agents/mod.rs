//! Queue agents: their registry, delegations, teams and held messages. The rules are in
//! `ostler_domain::queue_agent`; the store makes each change one short transaction.
//!
//! | file | holds |
//! |---|---|
//! | `agents`      | the registry of queue agents and their capabilities |
//! | `audited`     | changes by people, with their audit entries |
//! | `delegations` | delegations, their blockers and SLA watches |
//! | `held`        | messages held for a decision |
//! | `teams`       | teams and their members |

pub(crate) mod agents;
mod audited;
pub(crate) mod delegations;
pub(crate) mod held;
pub(crate) mod teams;

use serde::Serialize;

use crate::backend::value::Value;
use crate::error::{Result, StoreError};

/// The most bytes of a description or configuration.
const MAX_BYTES: usize = 256 * 1024;
/// The most entries of a list stored in one value: capabilities, blockers, team members.
const MAX_ENTRIES: usize = 1000;

const fn check_size(what: &'static str, text: &str, limit: usize) -> Result<()> {
    if text.len() > limit {
        return Err(StoreError::TooLarge { what, limit });
    }
    Ok(())
}

const fn check_count(what: &'static str, count: usize) -> Result<()> {
    if count > MAX_ENTRIES {
        return Err(StoreError::TooMany { what, limit: MAX_ENTRIES });
    }
    Ok(())
}

/// A unit variant by its JSON name, without the quotes.
fn variant_name(variant: &impl Serialize) -> Result<Value> {
    Ok(match Value::json(variant)? {
        Value::Text(text) => Value::Text(text.trim_matches('"').to_owned()),
        other => other,
    })
}
