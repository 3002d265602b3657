//! The registry, and the numbers of codes.

use std::collections::BTreeSet;

use ostler_domain::dispatch::choice::{Availability, Capability};
use ostler_domain::time::UtcDay;
use ostler_runtime::queue::{AgentRecord, Coverage, Page, Placement, Presence, QueueError};
use serde_json::json;
use tokio::task::JoinSet;

use crate::wherever_kept;
use crate::world::{Keeper, at, name};

fn record(called: &str, placement: Placement, capabilities: &[&str]) -> AgentRecord {
    AgentRecord {
        capabilities: capabilities.iter().map(|text| Capability::from(*text)).collect(),
        at_once: 3,
        config: json!({ "tone": "dry", "share": 0.25 }),
        ..AgentRecord::new(name(called), "echo", placement)
    }
}

wherever_kept!(
    /// X22: by id and by capability, whatever its case; who is away is not
    /// among those who take work.
    x22_records_are_found_and_presence_ends
);
async fn x22_records_are_found_and_presence_ends(keeper: Keeper) {
    let registry = keeper.registry;
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
    assert!(matches!(moved, Err(QueueError::Placement(who)) if who == name("ada")));

    let here = |called: &str, load| Presence { name: name(called), load };
    registry.renew(&[here("ada", 5), here("zoe", 9), here("eve", 0)], at(1000)).await.unwrap();
    let able = async |now| {
        let found = registry.able(&"ReView".into(), at(now), 10).await.unwrap();
        let there = |one: &AgentRecord| (one.name.to_string(), one.is_available(at(now)));
        found.iter().map(there).collect::<Vec<_>>()
    };
    let (a, b, z) = ("ada".to_owned(), "bob".to_owned(), "zoe".to_owned());
    assert_eq!(able(999).await, [(a.clone(), true), (z.clone(), true), (b.clone(), false)]);
    // Only who has a queue of its own must be heard from.
    assert_eq!(able(1000).await, [(z, true), (b, false), (a, false)]);
    let coverage = registry.coverage(at(999), 10).await.unwrap();
    let covered = |what: &str, there, away| Coverage { capability: what.into(), there, away };
    assert_eq!(coverage, [covered("cook", 1, 0), covered("review", 2, 1)]);

    assert!(registry.withdraw(&name("ada")).await.unwrap());
    assert!(!registry.withdraw(&name("eve")).await.unwrap());
    let away = registry.get(&name("ada")).await.unwrap().unwrap();
    assert_eq!((away.availability, away.load), (Availability::Unavailable, 5));
    let page = registry.list(Page::after(name("ada"), 1)).await.unwrap();
    assert_eq!(page.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["bob"]);
    assert!(registry.remove(&name("ada")).await.unwrap());
    assert!(!registry.remove(&name("ada")).await.unwrap());
    assert!(registry.able(&"cook".into(), at(0), 10).await.unwrap().is_empty());
}

wherever_kept!(
    /// X22: a thousand operations at once leave records and capabilities that
    /// agree.
    x22_a_thousand_operations_at_once
);
async fn x22_a_thousand_operations_at_once(keeper: Keeper) {
    let mut running = JoinSet::new();
    for n in 0..1000 {
        let registry = keeper.registry.clone();
        running.spawn(async move {
            let called = format!("a{}", n % 40);
            match n % 4 {
                0 => registry.register(record(&called, Placement::Pinned, &["x"])).await.unwrap(),
                1 => registry.register(record(&called, Placement::Pinned, &["y"])).await.unwrap(),
                2 => drop(registry.remove(&name(&called)).await.unwrap()),
                _ => drop(registry.able(&"x".into(), at(0), 100).await.unwrap()),
            }
        });
    }
    running.join_all().await;
    let all = keeper.registry.list(Page::default()).await.unwrap();
    for what in ["x", "y"] {
        let mut able = keeper.registry.able(&what.into(), at(0), 100).await.unwrap();
        able.sort_by(|one, other| one.name.cmp(&other.name));
        let with = all.iter().filter(|one| one.capabilities.contains(&what.into()));
        assert_eq!(able, with.cloned().collect::<Vec<_>>());
    }
}

wherever_kept!(
    /// X61: numbers that are drawn at once belong to one each.
    x61_numbers_are_drawn_once
);
async fn x61_numbers_are_drawn_once(keeper: Keeper) {
    // A day that no other test draws from.
    let day = at(i64::try_from(ostler_bus::next_id().as_u128() % 1_000_000).unwrap() * 86_400_000);
    let day: UtcDay = day.utc_day();
    let mut running = JoinSet::new();
    for _ in 0..50 {
        let codes = keeper.codes.clone();
        running.spawn(async move { codes.draw(day, 7).await.unwrap() });
    }
    let first: BTreeSet<u64> = running.join_all().await.into_iter().collect();
    let lowest = *first.first().unwrap();
    let expected: BTreeSet<u64> = (0..50).map(|n| lowest + 7 * n).collect();
    assert_eq!(first, expected);
}
