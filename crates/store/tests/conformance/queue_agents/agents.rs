//! The registry of queue agents.

use ostler_domain::queue_agent::selection::{AgentSkill, Availability, Placement, SkillCoverage};
use ostler_store::{Store, StoreError, StoredQueueAgent};

use super::{at, name};
use crate::on_every_backend;
use crate::support::{TestDatabase, with_org};

pub(super) fn agent(name_text: &str, capabilities: &[&str]) -> StoredQueueAgent {
    StoredQueueAgent {
        name: name(name_text),
        agent_type: "echo".into(),
        placement: Placement::Pinned,
        capabilities: capabilities.iter().map(|text| AgentSkill::from(*text)).collect(),
        availability: Availability::Available,
        available_until: Some(at(1000)),
        concurrency: 4,
        load: 0,
        config: r#"{"tone":"dry"}"#.into(),
        shares_work: false,
    }
}

async fn with_capability(
    store: &Store,
    org: ostler_domain::id::OrgId,
    what: &str,
    now: i64,
) -> Vec<String> {
    let found =
        store.org(org).queue_agents_with_capability(&what.into(), at(now), 10).await.unwrap();
    found.into_iter().map(|agent| agent.name.to_string()).collect()
}

on_every_backend!(
    /// X22: agents are found by name and by capability, ignoring case; unavailable
    /// agents come last.
    x22_agents_are_found_by_name_and_capability
);
async fn x22_agents_are_found_by_name_and_capability(store: &Store) {
    let org = with_org(store, 1).await;
    let org_store = store.org(org);
    let mut busy = agent("busy", &["Review"]);
    busy.load = 3;
    let mut away = agent("away", &["REVIEW", "cook"]);
    away.availability = Availability::Unavailable;
    let hosted = StoredQueueAgent {
        placement: Placement::Hosted,
        available_until: None,
        ..agent("hosted", &["review"])
    };
    for agent in [busy.clone(), away.clone(), hosted.clone(), agent("zoe", &["sing"])] {
        org_store.save_queue_agent(agent).await.unwrap();
    }
    assert_eq!(org_store.queue_agent(&name("hosted")).await.unwrap(), Some(hosted));
    assert_eq!(org_store.queue_agent(&name("nobody")).await.unwrap(), None);
    assert_eq!(with_capability(store, org, "reVIEW", 999).await, ["hosted", "busy", "away"]);
    // The availability of `busy` has lapsed.
    assert_eq!(with_capability(store, org, "review", 1000).await, ["hosted", "away", "busy"]);
    assert!(with_capability(store, org, "dance", 0).await.is_empty());
    let coverage = org_store.capability_coverage(at(999), 2).await.unwrap();
    let covered = |capability: &str, available, unavailable| SkillCoverage {
        capability: capability.into(),
        available,
        unavailable,
    };
    assert_eq!(coverage, [covered("cook", 0, 1), covered("review", 2, 1)]);
    let page = org_store.queue_agents(Some(&name("away")), 2).await.unwrap();
    assert_eq!(
        page.iter().map(|agent| agent.name.as_str()).collect::<Vec<_>>(),
        ["busy", "hosted"]
    );
    let other = with_org(store, 2).await;
    assert!(with_capability(store, other, "review", 0).await.is_empty());
    assert_eq!(store.org(other).queue_agent(&name("busy")).await.unwrap(), None);
}

on_every_backend!(a_queue_agent_is_replaced_renewed_withdrawn_and_deleted);
async fn a_queue_agent_is_replaced_renewed_withdrawn_and_deleted(store: &Store) {
    let org = with_org(store, 1).await;
    let org_store = store.org(org);
    org_store.save_queue_agent(agent("ada", &["review", "cook"])).await.unwrap();
    let changed =
        StoredQueueAgent { concurrency: 9, shares_work: true, ..agent("ada", &["review", "sing"]) };
    org_store.save_queue_agent(changed.clone()).await.unwrap();
    assert_eq!(org_store.queue_agent(&name("ada")).await.unwrap(), Some(changed));
    assert!(with_capability(store, org, "cook", 0).await.is_empty());
    let elsewhere = StoredQueueAgent { placement: Placement::Hosted, ..agent("ada", &["cook"]) };
    let refused = org_store.save_queue_agent(elsewhere).await.unwrap_err();
    assert!(matches!(refused, StoreError::Conflict(_)), "{refused}");
    assert!(with_capability(store, org, "cook", 0).await.is_empty());

    let loads = vec![(name("nobody"), 1), (name("ada"), 7)];
    org_store.renew_queue_agents(loads, at(5000)).await.unwrap();
    let ada = org_store.queue_agent(&name("ada")).await.unwrap().unwrap();
    assert_eq!((ada.load, ada.available_until), (7, Some(at(5000))));
    assert!(org_store.withdraw_queue_agent(&name("ada")).await.unwrap());
    let ada = org_store.queue_agent(&name("ada")).await.unwrap().unwrap();
    assert_eq!(ada.availability, Availability::Unavailable);
    assert!(org_store.delete_queue_agent(&name("ada")).await.unwrap());
    assert!(!org_store.delete_queue_agent(&name("ada")).await.unwrap());
    assert!(!org_store.withdraw_queue_agent(&name("ada")).await.unwrap());
    assert!(org_store.capability_coverage(at(0), 10).await.unwrap().is_empty());
    let huge = StoredQueueAgent { config: "x".repeat(300_000), ..agent("ada", &[]) };
    let refused = org_store.save_queue_agent(huge).await.unwrap_err();
    assert!(matches!(refused, StoreError::TooLarge { .. }), "{refused}");
}

/// X22: after a thousand concurrent operations through two handles the agents and
/// the capability index agree.
#[tokio::test(flavor = "multi_thread")]
async fn x22_a_thousand_concurrent_operations_keep_the_registry_consistent() {
    for backend in TestDatabase::both().await {
        let stores = [backend.migrated().await, Store::open(&backend.url).await.unwrap()];
        let org = with_org(&stores[0], 1).await;
        let operation = |n: usize| {
            let store = stores[n % 2].clone();
            async move {
                let org_store = store.org(org);
                let name_text = format!("a{}", n % 50);
                match n % 5 {
                    0..=2 => org_store
                        .save_queue_agent(agent(&name_text, &["all", "odd"]))
                        .await
                        .unwrap(),
                    3 => org_store.save_queue_agent(agent(&name_text, &["all"])).await.unwrap(),
                    _ => drop(org_store.delete_queue_agent(&name(&name_text)).await.unwrap()),
                }
            }
        };
        let mut running = tokio::task::JoinSet::new();
        for n in 0..1000 {
            running.spawn(operation(n));
        }
        while let Some(done) = running.join_next().await {
            done.unwrap();
        }
        // For every fifth name only the deletion may be the last operation.
        let org_store = stores[1].org(org);
        let agents = org_store.queue_agents(None, 1000).await.unwrap();
        for what in ["all", "odd"] {
            let with = agents.iter().filter(|agent| agent.capabilities.contains(&what.into()));
            let mut expected: Vec<_> = with.cloned().collect();
            expected.sort_by(|agent, other| agent.name.cmp(&other.name));
            let found =
                org_store.queue_agents_with_capability(&what.into(), at(0), 1000).await.unwrap();
            assert_eq!(found, expected, "{what}");
        }
    }
}
