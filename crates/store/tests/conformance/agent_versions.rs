//! Agent versions.

use std::collections::BTreeSet;

use ostler_domain::agent::Agent;
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::tool::ToolName;
use ostler_store::{Store, StoreError};

use crate::on_every_backend;
use crate::support::{agent, with_org};

on_every_backend!(each_agent_change_creates_a_version);
async fn each_agent_change_creates_a_version(store: &Store) {
    let org = with_org(store, 1).await;
    let first = agent(org, "gia");
    assert_eq!(store.org(org).save_agent(first.clone()).await.unwrap(), 1);
    assert_eq!(store.org(org).save_agent(first.clone()).await.unwrap(), 1);
    let mut second = first.clone();
    second.tools.policy =
        ToolPolicy { deny: [ToolName::from_static("send_email")].into(), ..ToolPolicy::default() };
    assert_eq!(store.org(org).save_agent(second.clone()).await.unwrap(), 2);
    // Reverting is a change as well.
    assert_eq!(store.org(org).save_agent(first.clone()).await.unwrap(), 3);
    let now = store.org(org).agent_version(first.id).await.unwrap();
    assert_eq!((now.version, &now.agent), (3, &first));
    assert_eq!(store.org(org).agent_at(first.id, 2).await.unwrap().agent, second);
    for version in [0, 4] {
        let missing = store.org(org).agent_at(first.id, version).await;
        assert!(matches!(missing, Err(StoreError::NotFound("version of this agent"))));
    }
    let history = store.org(org).agent_versions(first.id, 2, 10).await.unwrap();
    let history: Vec<(u32, Agent)> =
        history.into_iter().map(|version| (version.version, version.agent)).collect();
    assert_eq!(history, [(2, second), (1, first)]);
}

on_every_backend!(concurrent_agent_saves_each_create_a_version);
async fn concurrent_agent_saves_each_create_a_version(store: &Store) {
    let org = with_org(store, 1).await;
    let gia = agent(org, "gia");
    let writers = (0..8).map(|n| {
        let (store, mut gia) = (store.clone(), gia.clone());
        gia.display_name = format!("Gia {n}");
        tokio::spawn(async move { (store.org(org).save_agent(gia.clone()).await.unwrap(), gia) })
    });
    let mut seen = BTreeSet::new();
    for writer in writers.collect::<Vec<_>>() {
        let (version, saved) = writer.await.unwrap();
        assert_eq!(store.org(org).agent_at(gia.id, version).await.unwrap().agent, saved);
        seen.insert(version);
    }
    assert_eq!(seen, (1..=8).collect());
    let now = store.org(org).agent_version(gia.id).await.unwrap();
    assert_eq!((now.version, now.agent), (8, store.org(org).agent(gia.id).await.unwrap()));
}

on_every_backend!(
    /// A05: the versions of another org's agent are not found.
    a05_versions_of_a_foreign_agent_are_not_found
);
async fn a05_versions_of_a_foreign_agent_are_not_found(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    let gia = agent(here, "gia");
    store.org(here).save_agent(gia.clone()).await.unwrap();
    let current = store.org(there).agent_version(gia.id).await;
    assert!(matches!(current, Err(StoreError::NotFound("agent"))));
    let first = store.org(there).agent_at(gia.id, 1).await;
    assert!(matches!(first, Err(StoreError::NotFound("version of this agent"))));
    assert!(store.org(there).agent_versions(gia.id, u32::MAX, 10).await.unwrap().is_empty());
}
