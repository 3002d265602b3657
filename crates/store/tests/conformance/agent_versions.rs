//! What an agent was when a run ran with it.

use std::collections::BTreeSet;

use ostler_domain::agent::Agent;
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::tool::ToolName;
use ostler_store::{Store, StoreError};

use crate::on_every_backend;
use crate::world::{Backend, agent, with_org};

on_every_backend!(a_change_of_an_agent_is_a_version_of_it);
async fn a_change_of_an_agent_is_a_version_of_it(store: &Store) {
    let org = with_org(store, 1).await;
    let first = agent(org, "gia");
    assert_eq!(store.org(org).save_agent(first.clone()).await.unwrap(), 1);
    assert_eq!(store.org(org).save_agent(first.clone()).await.unwrap(), 1);
    let mut second = first.clone();
    second.tools.policy =
        ToolPolicy { deny: [ToolName::from_static("send_email")].into(), ..ToolPolicy::default() };
    assert_eq!(store.org(org).save_agent(second.clone()).await.unwrap(), 2);
    // Back to what it was is a change as well.
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

on_every_backend!(agents_that_are_saved_together_lose_no_version);
async fn agents_that_are_saved_together_lose_no_version(store: &Store) {
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

/// The agents of an older database begin with version 1.
#[tokio::test(flavor = "multi_thread")]
async fn agents_of_an_older_database_have_a_version() {
    for backend in [Backend::sqlite_file(), Backend::postgres().await] {
        let store = Store::connect(&backend.url).unwrap();
        store.migrate_to(4).await.unwrap();
        let org = backend.with_old_org(1).await;
        let mut gia = agent(org, "gia");
        let data = serde_json::to_string(&gia).unwrap();
        let (org_id, id) = (backend.id(1), backend.id(gia.id.as_u128()));
        backend
            .execute(&format!(
                "INSERT INTO agents (org, id, slug, data) VALUES ({org_id}, {id}, 'gia', '{data}')"
            ))
            .await;
        store.migrate().await.unwrap();
        let before = store.org(org).agent_version(gia.id).await.unwrap();
        assert_eq!((before.version, &before.agent), (1, &gia));
        gia.display_name = "Gia Rossi".into();
        assert_eq!(store.org(org).save_agent(gia).await.unwrap(), 2);
    }
}
