//! Versions of the tool policies of the platform and of each org.

use ostler_domain::scope::policy::ToolPolicy;
use ostler_store::{PolicyVersion, Store, StoreError};

use crate::on_every_backend;
use crate::support::{with_org, with_platform};

fn deny(tool: &str) -> ToolPolicy {
    ToolPolicy { deny: [tool.parse().unwrap()].into(), ..ToolPolicy::default() }
}

on_every_backend!(policy_versions_are_immutable);
async fn policy_versions_are_immutable(store: &Store) {
    let org = with_org(store, 1).await;
    assert_eq!(store.org(org).policy().await.unwrap(), PolicyVersion::default());
    assert_eq!(store.org(org).save_policy(0, deny("a")).await.unwrap(), 1);
    assert_eq!(store.org(org).save_policy(1, deny("b")).await.unwrap(), 2);
    assert_eq!(store.org(org).save_policy(2, deny("b")).await.unwrap(), 3);
    let said = |version: &PolicyVersion| (version.version, version.policy.clone());
    let now = store.org(org).policy().await.unwrap();
    assert_eq!(said(&now), (3, deny("b")));
    assert!(now.saved_at.is_some());
    for (version, policy) in [(0, ToolPolicy::default()), (1, deny("a")), (2, deny("b"))] {
        let then = store.org(org).policy_at(version).await.unwrap();
        assert_eq!(said(&then), (version, policy));
    }
    let ahead = store.org(org).policy_at(4).await;
    assert!(matches!(ahead, Err(StoreError::NotFound("version of this policy"))));
    let numbers = async |upto, most| -> Vec<u32> {
        let history = store.org(org).policies(upto, most).await.unwrap();
        history.iter().map(|version| version.version).collect()
    };
    assert_eq!(numbers(u32::MAX, 2).await, [3, 2]);
    assert_eq!(numbers(1, 2).await, [1]);
}

on_every_backend!(updating_a_policy_with_a_stale_version_conflicts);
async fn updating_a_policy_with_a_stale_version_conflicts(store: &Store) {
    let org = with_org(store, 1).await;
    let writers = (0..8).map(|n| {
        let store = store.clone();
        let policy = deny(&format!("tool{n}"));
        tokio::spawn(async move { store.org(org).save_policy(0, policy).await })
    });
    let (mut saved, mut refused) = (Vec::new(), 0);
    for writer in writers.collect::<Vec<_>>() {
        match writer.await.unwrap() {
            Err(StoreError::Conflict(what)) => {
                assert_eq!(what, "version 1 of this policy");
                refused += 1;
            }
            other => saved.push(other.unwrap()),
        }
    }
    assert_eq!((saved, refused), (vec![1], 7));
    let ahead = store.org(org).save_policy(5, deny("x")).await;
    assert!(matches!(ahead, Err(StoreError::NotFound("version of this policy"))));
}

on_every_backend!(
    /// A05: an org reads the platform's policy and its own, changes only its own,
    /// and never sees another org's.
    a05_an_org_can_change_only_its_own_policy
);
async fn a05_an_org_can_change_only_its_own_policy(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    let platform = with_platform(store, 3).await;
    assert_eq!(store.platform_policy().await.unwrap(), PolicyVersion::default());
    assert_eq!(store.org(platform).save_platform_policy(0, deny("drop")).await.unwrap(), 1);
    // The platform org has its own policy besides the platform policy.
    assert_eq!(store.org(platform).policy().await.unwrap(), PolicyVersion::default());
    store.org(platform).save_policy(0, deny("own")).await.unwrap();
    store.org(here).save_policy(0, deny("mine")).await.unwrap();
    let refused = store.org(here).save_platform_policy(1, deny("coup")).await;
    assert!(matches!(refused, Err(StoreError::NotFound("policy of the platform"))));
    assert_eq!(store.org(there).policy().await.unwrap(), PolicyVersion::default());
    assert!(store.org(there).policies(u32::MAX, 10).await.unwrap().is_empty());
    let foreign = store.org(there).policy_at(1).await;
    assert!(matches!(foreign, Err(StoreError::NotFound("version of this policy"))));
    store.org(platform).save_platform_policy(1, deny("drop_all")).await.unwrap();
    let now = store.platform_policy().await.unwrap();
    assert_eq!((now.version, now.policy), (2, deny("drop_all")));
    assert_eq!(store.platform_policy_at(1).await.unwrap().policy, deny("drop"));
    let history = store.platform_policies(u32::MAX, 10).await.unwrap();
    assert_eq!(history.iter().map(|version| version.version).collect::<Vec<_>>(), [2, 1]);
}
