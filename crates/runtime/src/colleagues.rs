//! The names of people without an account who work in an org's conversations from its chats,
//! such as the team's group. Their ids are derived from the channel's identifier, so what
//! shows who did something finds the name here.

use std::collections::BTreeMap;

use ostler_domain::id::{RecordId, UserId};
use ostler_store::{OrgStore, Record, StoreError};
use serde::{Deserialize, Serialize};

use crate::records::{decode, encode};

/// The record kind of [`ColleagueName`].
const COLLEAGUE: &str = "colleague";
/// The most colleagues whose names are read at once.
const MAX_COLLEAGUES: u32 = 1_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ColleagueName {
    name: String,
}

const fn record_id(user: UserId) -> RecordId {
    RecordId::from_u128(user.as_u128())
}

/// Stores the name of a colleague as the channel says it now.
pub(crate) async fn store_name(
    store: OrgStore<'_>,
    user: UserId,
    name: &str,
) -> Result<(), StoreError> {
    let (id, data) = (record_id(user), encode(&ColleagueName { name: name.to_owned() }));
    let written = match store.record(COLLEAGUE, id).await {
        Ok(stored) if stored.data == data => return Ok(()),
        Ok(stored) => store.update_record(COLLEAGUE, &stored, data).await,
        Err(StoreError::NotFound(_)) => store.create_record(COLLEAGUE, id, data).await,
        Err(other) => Err(other),
    };
    match written {
        // Another message of the same person came at the same time.
        Err(StoreError::Conflict(_)) => Ok(()),
        other => other,
    }
}

/// Returns the name of a colleague; `None` if the id is not one of theirs.
pub(crate) async fn name(store: OrgStore<'_>, user: UserId) -> Result<Option<String>, StoreError> {
    match store.record(COLLEAGUE, record_id(user)).await {
        Ok(stored) => Ok(Some(read(&stored)?)),
        Err(StoreError::NotFound(_)) => Ok(None),
        Err(other) => Err(other),
    }
}

/// Returns the names of all colleagues.
pub(crate) async fn names(store: OrgStore<'_>) -> Result<BTreeMap<UserId, String>, StoreError> {
    let stored = store.newest_records(COLLEAGUE, None, MAX_COLLEAGUES).await?;
    stored.iter().map(|one| Ok((UserId::from_u128(one.id.as_u128()), read(one)?))).collect()
}

fn read(stored: &Record) -> Result<String, StoreError> {
    let named: Result<ColleagueName, _> = decode("colleague", &stored.data);
    named.map(|one| one.name).map_err(|error| StoreError::Backend(error.to_string()))
}
