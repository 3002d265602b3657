//! API keys.

use std::time::Duration;

use ostler_domain::id::{KeyId, OrgId};
use ostler_domain::org::key_scope::KeyScopes;
use ostler_domain::org::role::Role;
use ostler_domain::secret::ApiKeySecret;
use ostler_domain::time::Timestamp;
use ostler_store::{NewApiKey, Store, StoreError};

use crate::on_every_backend;
use crate::support::{TestDatabase, next, with_org, with_platform};

fn secret(name: &str) -> ApiKeySecret {
    format!("ostler_{name}_{:x}", next()).parse().unwrap()
}

fn new_key(name: &str) -> NewApiKey {
    let id = KeyId::from_u128(next());
    NewApiKey {
        id,
        name: name.into(),
        role: Role::Operator,
        scopes: KeyScopes::default(),
        expires_at: None,
    }
}

async fn with_key(store: &Store, org: OrgId, name: &str) -> (KeyId, ApiKeySecret) {
    let (key, secret) = (new_key(name), secret(name));
    store.org(org).create_key(key.clone(), &secret).await.expect("a new key");
    (key.id, secret)
}

on_every_backend!(a_key_authenticates_to_the_org_that_created_it);
async fn a_key_authenticates_to_the_org_that_created_it(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    let (id, first) = with_key(store, here, "robot").await;
    let (_, other) = with_key(store, there, "robot").await;
    let (org, key) = store.authenticate(&first).await.unwrap();
    assert_eq!((org, key.id, key.name.as_str(), key.role), (here, id, "robot", Role::Operator));
    assert_eq!(key.prefix, "ostler_robot");
    assert_eq!(store.authenticate(&other).await.unwrap().0, there);
    for wrong in [format!("{}x", first.expose()), first.expose().to_uppercase()] {
        let refused = store.authenticate(&wrong.parse().unwrap()).await;
        assert!(matches!(refused, Err(StoreError::NotFound("key"))), "{wrong}");
    }
    let listed = store.org(here).keys(None, 10).await.unwrap();
    assert!(
        !format!("{listed:?}").contains(&first.expose()[ApiKeySecret::PREFIX_LEN..]),
        "{listed:?}"
    );
}

on_every_backend!(revoked_and_expired_keys_do_not_authenticate);
async fn revoked_and_expired_keys_do_not_authenticate(store: &Store) {
    let org = with_org(store, 1).await;
    let (id, revoked) = with_key(store, org, "revoked").await;
    store.authenticate(&revoked).await.unwrap();
    store.org(org).revoke_key(id).await.unwrap();
    let at = store.org(org).keys(None, 10).await.unwrap()[0].revoked_at.unwrap();
    store.org(org).revoke_key(id).await.unwrap();
    assert_eq!(store.org(org).keys(None, 10).await.unwrap()[0].revoked_at, Some(at));
    let expired = secret("expired");
    let past = Some(Timestamp::from_millis(1));
    let key = NewApiKey { expires_at: past, ..new_key("expired") };
    store.org(org).create_key(key, &expired).await.unwrap();
    for dead in [revoked, expired] {
        let refused = store.authenticate(&dead).await;
        assert!(matches!(refused, Err(StoreError::NotFound("key"))), "{dead:?}");
    }
    let soon = Some(at + Duration::from_millis(400));
    let (key, brief) = (NewApiKey { expires_at: soon, ..new_key("brief") }, secret("brief"));
    store.org(org).create_key(key, &brief).await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(matches!(store.authenticate(&brief).await, Err(StoreError::NotFound("key"))));
    let later = Some(at + Duration::from_secs(3600));
    let (key, living) = (NewApiKey { expires_at: later, ..new_key("living") }, secret("living"));
    store.org(org).create_key(key, &living).await.unwrap();
    assert_eq!(store.authenticate(&living).await.unwrap().1.expires_at, later);
}

on_every_backend!(keys_are_listed_in_pages);
async fn keys_are_listed_in_pages(store: &Store) {
    let org = with_org(store, 1).await;
    let mut made = Vec::new();
    for name in ["a", "b", "c"] {
        made.push(with_key(store, org, name).await.0);
    }
    let ids = async |after, most| -> Vec<KeyId> {
        store.org(org).keys(after, most).await.unwrap().iter().map(|key| key.id).collect()
    };
    assert_eq!(ids(None, 2).await, made[..2]);
    assert_eq!(ids(Some(made[1]), 2).await, made[2..]);
}

on_every_backend!(
    /// A05: a key of another org cannot be listed or revoked, and only the platform
    /// creates platform admin keys.
    a05_a_key_of_another_org_is_not_found
);
async fn a05_a_key_of_another_org_is_not_found(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    let platform = with_platform(store, 3).await;
    let (id, mine) = with_key(store, here, "mine").await;
    assert!(store.org(there).keys(None, 10).await.unwrap().is_empty());
    let revoked = store.org(there).revoke_key(id).await;
    assert!(matches!(revoked, Err(StoreError::NotFound("key"))));
    store.authenticate(&mine).await.unwrap();
    let again = store.org(there).create_key(new_key("again"), &mine).await;
    assert!(matches!(again, Err(StoreError::Conflict(_))));
    let root = || NewApiKey { role: Role::PlatformAdmin, ..new_key("root") };
    let refused = store.org(here).create_key(root(), &secret("root")).await;
    assert!(matches!(refused, Err(StoreError::NotFound("role"))));
    store.org(platform).create_key(root(), &secret("root")).await.unwrap();
}

/// A use is recorded when the last recorded one is a minute old.
#[tokio::test(flavor = "multi_thread")]
async fn last_use_of_a_key_is_recorded_at_most_once_a_minute() {
    for backend in [TestDatabase::sqlite_file(), TestDatabase::postgres().await] {
        let store = backend.migrated().await;
        let org = with_org(&store, 1).await;
        let (_, secret) = with_key(&store, org, "busy").await;
        let last_used = async || store.org(org).keys(None, 1).await.unwrap()[0].last_used_at;
        assert_eq!(last_used().await, None);
        store.authenticate(&secret).await.unwrap();
        let first = last_used().await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
        store.authenticate(&secret).await.unwrap();
        assert_eq!(last_used().await, Some(first));
        let ago = |seconds: u32| {
            format!(
                "UPDATE api_keys SET last_used_at = {}",
                first.as_millis() - i64::from(seconds) * 1000
            )
        };
        for (seconds, noted) in [(30, false), (61, true)] {
            backend.execute(&ago(seconds)).await;
            store.authenticate(&secret).await.unwrap();
            assert_eq!(last_used().await.unwrap() > first, noted, "{seconds} seconds ago");
        }
    }
}
