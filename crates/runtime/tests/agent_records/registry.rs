//! The registry and the numbers of reference codes.

use std::collections::BTreeSet;

use ostler_domain::queue_agent::selection::{AgentSkill, Availability};
use ostler_domain::time::UtcDay;
use ostler_runtime::agents::{
    AgentPresence, AgentRecord, Page, Placement, QueueError, SkillCoverage,
};
use serde_json::json;
use tokio::task::JoinSet;

use crate::on_every_store;
use crate::support::{RecordStores, at, name};

fn record(agent_name: &str, placement: Placement, capabilities: &[&str]) -> AgentRecord {
    AgentRecord {
        capabilities: capabilities.iter().map(|text| AgentSkill::from(*text)).collect(),
        concurrency: 3,
        config: json!({ "tone": "dry", "share": 0.25 }),
        ..AgentRecord::new(name(agent_name), "echo", placement)
    }
}

on_every_store!(
    /// X22: by name and by capability, ignoring case; unavailable agents come
    /// last.
    x22_records_are_found_and_presence_expires
);
async fn x22_records_are_found_and_presence_expires(stores: RecordStores) {
    let registry = stores.registry;
    let (ada, bob) = (
        record("ada", Placement::Pinned, &["Review", "cook"]),
        record("bob", Placement::Pinned, &["REVIEW"]),
    );
    let zoe = record("zoe", Placement::Hosted, &["review"]);
    for one in [&bob, &zoe, &ada] {
        registry.register(one.clone()).await.unwrap();
    }
    assert_eq!(registry.get(&name("ada")).await.unwrap(), Some(ada.clone()));
    assert_eq!(registry.get(&name("eve")).await.unwrap(), None);
    let moved = registry.register(record("ada", Placement::Hosted, &[])).await;
    assert!(matches!(moved, Err(QueueError::PlacementConflict(who)) if who == name("ada")));

    let here = |agent_name: &str, load| AgentPresence { name: name(agent_name), load };
    registry
        .renew_presence(&[here("ada", 5), here("zoe", 9), here("eve", 0)], at(1000))
        .await
        .unwrap();
    let able = async |now| {
        let found = registry.find_by_capability(&"ReView".into(), at(now), 10).await.unwrap();
        let available = |one: &AgentRecord| (one.name.to_string(), one.is_available(at(now)));
        found.iter().map(available).collect::<Vec<_>>()
    };
    let (a, b, z) = ("ada".to_owned(), "bob".to_owned(), "zoe".to_owned());
    assert_eq!(able(999).await, [(a.clone(), true), (z.clone(), true), (b.clone(), false)]);
    // Only pinned agents have to renew their presence.
    assert_eq!(able(1000).await, [(z, true), (b, false), (a, false)]);
    let coverage = registry.coverage(at(999), 10).await.unwrap();
    let covered = |what: &str, available, unavailable| SkillCoverage {
        capability: what.into(),
        available,
        unavailable,
    };
    assert_eq!(coverage, [covered("cook", 1, 0), covered("review", 2, 1)]);

    assert!(registry.withdraw(&name("ada")).await.unwrap());
    assert!(!registry.withdraw(&name("eve")).await.unwrap());
    let unavailable = registry.get(&name("ada")).await.unwrap().unwrap();
    assert_eq!((unavailable.availability, unavailable.load), (Availability::Unavailable, 5));
    let page = registry.list(Page::after(name("ada"), 1)).await.unwrap();
    assert_eq!(page.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["bob"]);
    assert!(registry.remove(&name("ada")).await.unwrap());
    assert!(!registry.remove(&name("ada")).await.unwrap());
    assert!(registry.find_by_capability(&"cook".into(), at(0), 10).await.unwrap().is_empty());
}

on_every_store!(
    /// X22: records and capabilities agree afterwards.
    x22_a_thousand_concurrent_operations_leave_consistent_records
);
async fn x22_a_thousand_concurrent_operations_leave_consistent_records(stores: RecordStores) {
    let mut running = JoinSet::new();
    for n in 0..1000 {
        let registry = stores.registry.clone();
        running.spawn(async move {
            let agent_name = format!("a{}", n % 40);
            match n % 4 {
                0 => {
                    registry
                        .register(record(&agent_name, Placement::Pinned, &["x"]))
                        .await
                        .unwrap();
                }
                1 => {
                    registry
                        .register(record(&agent_name, Placement::Pinned, &["y"]))
                        .await
                        .unwrap();
                }
                2 => drop(registry.remove(&name(&agent_name)).await.unwrap()),
                _ => drop(registry.find_by_capability(&"x".into(), at(0), 100).await.unwrap()),
            }
        });
    }
    running.join_all().await;
    let all = stores.registry.list(Page::default()).await.unwrap();
    for what in ["x", "y"] {
        let mut able = stores.registry.find_by_capability(&what.into(), at(0), 100).await.unwrap();
        able.sort_by(|one, other| one.name.cmp(&other.name));
        let with = all.iter().filter(|one| one.capabilities.contains(&what.into()));
        assert_eq!(able, with.cloned().collect::<Vec<_>>());
    }
}

on_every_store!(
    /// X61: concurrent reservations do not overlap.
    x61_numbers_of_reference_codes_are_reserved_once
);
async fn x61_numbers_of_reference_codes_are_reserved_once(stores: RecordStores) {
    // A day that no other test uses.
    let day = at(i64::try_from(ostler_bus::next_id().as_u128() % 1_000_000).unwrap() * 86_400_000);
    let day: UtcDay = day.utc_day();
    let mut running = JoinSet::new();
    for _ in 0..50 {
        let codes = stores.codes.clone();
        running.spawn(async move { codes.draw(day, 7).await.unwrap() });
    }
    let first: BTreeSet<u64> = running.join_all().await.into_iter().collect();
    let lowest = *first.first().unwrap();
    let expected: BTreeSet<u64> = (0..50).map(|n| lowest + 7 * n).collect();
    assert_eq!(first, expected);
}
