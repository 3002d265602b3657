//! The registry: by name, by what agents can do, and who is there.

use ostler_domain::dispatch::choice::{Availability, Capability};
use ostler_store::{AgentsAble, AgentsPlace, QueueAgent, Store, StoreError};

use super::{at, name};
use crate::on_every_backend;
use crate::world::{Backend, with_org};

fn agent(called: &str, capabilities: &[&str]) -> QueueAgent {
    QueueAgent {
        name: name(called),
        agent_type: "echo".into(),
        place: AgentsPlace::Pinned,
        capabilities: capabilities.iter().map(|text| Capability::from(*text)).collect(),
        availability: Availability::Available,
        available_until: Some(at(1000)),
        at_once: 4,
        load: 0,
        config: r#"{"tone":"dry"}"#.into(),
        shares_work: false,
    }
}

async fn able(store: &Store, org: ostler_domain::id::OrgId, what: &str, now: i64) -> Vec<String> {
    let found = store.org(org).queue_agents_able(&what.into(), at(now), 10).await.unwrap();
    found.into_iter().map(|one| one.name.to_string()).collect()
}

on_every_backend!(
    /// X22: agents are found by name and by capability, whatever its case; those
    /// that are away come last, and only in the list of who could.
    x22_agents_are_found_by_name_and_capability
);
async fn x22_agents_are_found_by_name_and_capability(store: &Store) {
    let org = with_org(store, 1).await;
    let there = store.org(org);
    let mut busy = agent("busy", &["Review"]);
    busy.load = 3;
    let mut away = agent("away", &["REVIEW", "cook"]);
    away.availability = Availability::Unavailable;
    let hosted = QueueAgent {
        place: AgentsPlace::Hosted,
        available_until: None,
        ..agent("hosted", &["review"])
    };
    for one in [busy.clone(), away.clone(), hosted.clone(), agent("zoe", &["sing"])] {
        there.save_queue_agent(one).await.unwrap();
    }
    assert_eq!(there.queue_agent(&name("hosted")).await.unwrap(), Some(hosted));
    assert_eq!(there.queue_agent(&name("nobody")).await.unwrap(), None);
    assert_eq!(able(store, org, "reVIEW", 999).await, ["hosted", "busy", "away"]);
    // What was promised until then holds no longer.
    assert_eq!(able(store, org, "review", 1000).await, ["hosted", "away", "busy"]);
    assert!(able(store, org, "dance", 0).await.is_empty());
    let coverage = there.queue_coverage(at(999), 2).await.unwrap();
    let covered = |what: &str, there, away| AgentsAble { capability: what.into(), there, away };
    assert_eq!(coverage, [covered("cook", 0, 1), covered("review", 2, 1)]);
    let page = there.queue_agents(Some(&name("away")), 2).await.unwrap();
    assert_eq!(page.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["busy", "hosted"]);
    let other = with_org(store, 2).await;
    assert!(able(store, other, "review", 0).await.is_empty());
    assert_eq!(store.org(other).queue_agent(&name("busy")).await.unwrap(), None);
}

on_every_backend!(an_agent_is_replaced_renewed_withdrawn_and_forgotten);
async fn an_agent_is_replaced_renewed_withdrawn_and_forgotten(store: &Store) {
    let org = with_org(store, 1).await;
    let there = store.org(org);
    there.save_queue_agent(agent("ada", &["review", "cook"])).await.unwrap();
    let changed = QueueAgent { at_once: 9, shares_work: true, ..agent("ada", &["review", "sing"]) };
    there.save_queue_agent(changed.clone()).await.unwrap();
    assert_eq!(there.queue_agent(&name("ada")).await.unwrap(), Some(changed));
    assert!(able(store, org, "cook", 0).await.is_empty());
    let elsewhere = QueueAgent { place: AgentsPlace::Hosted, ..agent("ada", &["cook"]) };
    let refused = there.save_queue_agent(elsewhere).await.unwrap_err();
    assert!(matches!(refused, StoreError::Conflict(_)), "{refused}");
    assert!(able(store, org, "cook", 0).await.is_empty());

    let present = vec![(name("nobody"), 1), (name("ada"), 7)];
    there.renew_queue_agents(present, at(5000)).await.unwrap();
    let ada = there.queue_agent(&name("ada")).await.unwrap().unwrap();
    assert_eq!((ada.load, ada.available_until), (7, Some(at(5000))));
    assert!(there.withdraw_queue_agent(&name("ada")).await.unwrap());
    let ada = there.queue_agent(&name("ada")).await.unwrap().unwrap();
    assert_eq!(ada.availability, Availability::Unavailable);
    assert!(there.forget_queue_agent(&name("ada")).await.unwrap());
    assert!(!there.forget_queue_agent(&name("ada")).await.unwrap());
    assert!(!there.withdraw_queue_agent(&name("ada")).await.unwrap());
    assert!(there.queue_coverage(at(0), 10).await.unwrap().is_empty());
    let huge = QueueAgent { config: "x".repeat(300_000), ..agent("ada", &[]) };
    let refused = there.save_queue_agent(huge).await.unwrap_err();
    assert!(matches!(refused, StoreError::TooLarge { .. }), "{refused}");
}

/// X22: a thousand operations at once, through two handles, leave a registry in
/// which the agents and what they can do agree.
#[tokio::test(flavor = "multi_thread")]
async fn x22_a_thousand_operations_at_once_stay_consistent() {
    for backend in Backend::both().await {
        let stores = [backend.migrated().await, Store::open(&backend.url).await.unwrap()];
        let org = with_org(&stores[0], 1).await;
        let operation = |n: usize| {
            let store = stores[n % 2].clone();
            async move {
                let there = store.org(org);
                let called = format!("a{}", n % 50);
                match n % 5 {
                    0..=2 => there.save_queue_agent(agent(&called, &["all", "odd"])).await.unwrap(),
                    3 => there.save_queue_agent(agent(&called, &["all"])).await.unwrap(),
                    _ => drop(there.forget_queue_agent(&name(&called)).await.unwrap()),
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
        // Of every fifth name only the forgetting may be the last.
        let there = stores[1].org(org);
        let agents = there.queue_agents(None, 1000).await.unwrap();
        for what in ["all", "odd"] {
            let with = agents.iter().filter(|one| one.capabilities.contains(&what.into()));
            let mut expected: Vec<_> = with.cloned().collect();
            expected.sort_by(|one, other| one.name.cmp(&other.name));
            let found = there.queue_agents_able(&what.into(), at(0), 1000).await.unwrap();
            assert_eq!(found, expected, "{what}");
        }
    }
}
