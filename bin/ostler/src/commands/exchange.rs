//! What the commands for issues, delegations to orgs and insights share.

use ostler_api::hierarchy::Exchanged;
use ostler_domain::id::RecordId;

use super::args::match_id;
use crate::refused_command::NotHere;
use crate::screen::DIM;

/// The most records that are listed.
pub(super) const LIST_LIMIT: usize = 10_000;

/// Returns the record that a text names: an id, or the end of one.
pub(super) fn find<'r, T>(
    all: &'r [Exchanged<T>],
    name: &str,
    what: &str,
) -> anyhow::Result<&'r Exchanged<T>> {
    let known: Vec<RecordId> = all.iter().map(|one| one.id).collect();
    let id = match_id(name, &known)?;
    let found = id.and_then(|id| all.iter().find(|one| one.id == id));
    found.ok_or_else(|| {
        anyhow::anyhow!(NotHere(format!("this organization has no {what} `{name}`")))
    })
}

/// Returns the receiver in words.
pub(super) fn direction(is_here: bool, elsewhere: &str) -> String {
    if is_here { "here".to_owned() } else { elsewhere.to_lowercase() }
}

/// Prints fields that have a value, one below the other.
pub(super) fn print_fields(fields: &[(&str, String)]) {
    let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
        anstream::println!("{DIM}{name:width$}{DIM:#}  {value}");
    }
}
