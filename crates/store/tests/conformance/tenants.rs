//! Orgs, agents and souls, and tenant isolation.

use ostler_domain::id::OrgId;
use ostler_domain::soul::{Soul, SoulHistory, SoulOrigin};
use ostler_domain::time::Timestamp;
use ostler_store::{Store, StoreError};

use crate::on_every_backend;
use crate::support::{agent, org, with_org};

on_every_backend!(orgs_and_agents_round_trip);
async fn orgs_and_agents_round_trip(store: &Store) {
    let id = with_org(store, 1).await;
    let gia = agent(id, "gia");
    store.org(id).save_agent(gia.clone()).await.unwrap();
    assert_eq!(store.org(id).org().await.unwrap(), org(1));
    assert_eq!(store.org(id).agent(gia.id).await.unwrap(), gia);
    let mut changed = gia.clone();
    changed.display_name = "Gia Rossi".into();
    store.org(id).save_agent(changed.clone()).await.unwrap();
    assert_eq!(store.org(id).agents().await.unwrap(), [changed]);
    assert_eq!(store.orgs().await.unwrap(), [org(1)]);
}

on_every_backend!(duplicate_slugs_conflict);
async fn duplicate_slugs_conflict(store: &Store) {
    let id = with_org(store, 1).await;
    let again = store.create_org(org(1)).await;
    assert!(matches!(again, Err(StoreError::Conflict(what)) if what == "org `org1`"));
    store.org(id).save_agent(agent(id, "gia")).await.unwrap();
    let twin = store.org(id).save_agent(agent(id, "gia")).await;
    assert!(matches!(twin, Err(StoreError::Conflict(what)) if what == "agent `gia`"));
    let other = with_org(store, 2).await;
    store.org(other).save_agent(agent(other, "gia")).await.unwrap();
}

on_every_backend!(
    /// A05: an id of another org is found neither for reading nor for writing.
    a05_an_id_of_another_org_is_not_found
);
async fn a05_an_id_of_another_org_is_not_found(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    let gia = agent(here, "gia");
    store.org(here).save_agent(gia.clone()).await.unwrap();
    let read = store.org(there).agent(gia.id).await;
    assert!(matches!(read, Err(StoreError::NotFound("agent"))));
    let written = store.org(there).save_agent(gia).await;
    assert!(matches!(written, Err(StoreError::NotFound("agent"))));
    let renamed = store.org(there).update_org(org(1)).await;
    assert!(matches!(renamed, Err(StoreError::NotFound("organization"))));
    assert!(store.org(there).agents().await.unwrap().is_empty());
    let nobody = store.org(OrgId::from_u128(9)).org().await;
    assert!(matches!(nobody, Err(StoreError::NotFound("organization"))));
}

on_every_backend!(
    /// A19, H07: soul versions round-trip with all fields, and a stale version is
    /// refused.
    a19_h07_soul_versions_round_trip_and_stale_ones_conflict
);
async fn a19_h07_soul_versions_round_trip_and_stale_ones_conflict(store: &Store) {
    let id = with_org(store, 1).await;
    let owner = agent(id, "gia").id;
    let soul = |text: &str| Soul { personality: text.into(), ..Soul::default() };
    let mut history = SoulHistory::new(soul("warm"), Timestamp::from_millis(1));
    history.push(soul("warmer"), SoulOrigin::Edited, Timestamp::from_millis(2));
    history.rollback(1, Timestamp::from_millis(3)).unwrap();
    for version in history.versions() {
        store.org(id).push_soul(owner, version.clone()).await.unwrap();
    }
    let stored = store.org(id).soul_versions(owner).await.unwrap();
    assert_eq!(stored.iter().collect::<Vec<_>>(), history.versions().collect::<Vec<_>>());
    let late = store.org(id).push_soul(owner, history.current().clone()).await;
    assert!(matches!(late, Err(StoreError::Conflict(_))));
}
