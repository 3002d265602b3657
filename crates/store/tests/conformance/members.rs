//! Members of an org and their roles.

use ostler_domain::id::{OrgId, UserId};
use ostler_domain::org::role::Role;
use ostler_store::{Member, Store, StoreError};

use crate::on_every_backend;
use crate::support::{next, with_org, with_platform};
use crate::users::with_user;

on_every_backend!(roles_are_assigned_changed_and_removed);
async fn roles_are_assigned_changed_and_removed(store: &Store) {
    let org = with_org(store, 1).await;
    let (ada, bob) = (with_user(store, "ada@x.org").await, with_user(store, "bob@x.org").await);
    store.org(org).set_member(ada.id, Role::Owner).await.unwrap();
    store.org(org).set_member(bob.id, Role::Viewer).await.unwrap();
    store.org(org).set_member(bob.id, Role::Operator).await.unwrap();
    let member = |user, role| Member { user, role };
    let all = [member(ada.clone(), Role::Owner), member(bob.clone(), Role::Operator)];
    assert_eq!(store.org(org).members(None, 10).await.unwrap(), all);
    assert_eq!(store.org(org).members(None, 1).await.unwrap(), all[..1]);
    assert_eq!(store.org(org).members(Some(ada.id), 10).await.unwrap(), all[1..]);
    store.org(org).remove_member(bob.id).await.unwrap();
    let gone = store.org(org).member(bob.id).await;
    assert!(matches!(gone, Err(StoreError::NotFound("user"))));
    let again = store.org(org).remove_member(bob.id).await;
    assert!(matches!(again, Err(StoreError::NotFound("user"))));
    // The account stays, without any membership.
    assert!(store.user_account(bob.id).await.unwrap().memberships.is_empty());
}

on_every_backend!(the_last_owner_cannot_leave);
async fn the_last_owner_cannot_leave(store: &Store) {
    let org = with_org(store, 1).await;
    let (ada, bob) = (with_user(store, "ada@x.org").await, with_user(store, "bob@x.org").await);
    store.org(org).set_member(ada.id, Role::Owner).await.unwrap();
    store.org(org).set_member(bob.id, Role::Admin).await.unwrap();
    let removed = store.org(org).remove_member(ada.id).await;
    assert!(matches!(removed, Err(StoreError::LastWithRole(Role::Owner))));
    let lowered = store.org(org).set_member(ada.id, Role::Viewer).await.unwrap_err();
    let said = "this is the last owner of the organization; make somebody else owner first";
    assert_eq!(lowered.to_string(), said);
    // The same role again is no change.
    store.org(org).set_member(ada.id, Role::Owner).await.unwrap();
    store.org(org).set_member(bob.id, Role::Owner).await.unwrap();
    store.org(org).remove_member(ada.id).await.unwrap();
    assert_eq!(store.org(org).members(None, 10).await.unwrap().len(), 1);
}

on_every_backend!(of_two_owners_leaving_concurrently_one_is_refused);
async fn of_two_owners_leaving_concurrently_one_is_refused(store: &Store) {
    for round in 1..=8 {
        let org = with_org(store, round).await;
        let mut leaving = Vec::new();
        for name in ["ada", "bob"] {
            let user = with_user(store, &format!("{name}{round}@x.org")).await.id;
            store.org(org).set_member(user, Role::Owner).await.unwrap();
            leaving.push(user);
        }
        let leaving = leaving.into_iter().map(|user| {
            let store = store.clone();
            tokio::spawn(async move { store.org(org).remove_member(user).await })
        });
        let mut refused = 0;
        for left in leaving.collect::<Vec<_>>() {
            match left.await.unwrap() {
                Err(StoreError::LastWithRole(Role::Owner)) => refused += 1,
                other => other.unwrap(),
            }
        }
        assert_eq!(refused, 1, "round {round}");
        assert_eq!(store.org(org).members(None, 10).await.unwrap().len(), 1, "round {round}");
    }
}

on_every_backend!(only_the_platform_has_platform_admins);
async fn only_the_platform_has_platform_admins(store: &Store) {
    let (org, platform) = (with_org(store, 1).await, with_platform(store, 2).await);
    let ada = with_user(store, "ada@x.org").await;
    let elsewhere = store.org(org).set_member(ada.id, Role::PlatformAdmin).await;
    assert!(matches!(elsewhere, Err(StoreError::NotFound("role"))));
    store.org(platform).set_member(ada.id, Role::PlatformAdmin).await.unwrap();
    let last = store.org(platform).remove_member(ada.id).await;
    assert!(matches!(last, Err(StoreError::LastWithRole(Role::PlatformAdmin))));
}

on_every_backend!(
    /// A05: members of another org and users that do not exist are not found.
    a05_members_of_another_org_are_not_found
);
async fn a05_members_of_another_org_are_not_found(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    let ada = with_user(store, "ada@x.org").await;
    store.org(here).set_member(ada.id, Role::Owner).await.unwrap();
    let read = store.org(there).member(ada.id).await;
    assert!(matches!(read, Err(StoreError::NotFound("user"))));
    assert!(store.org(there).members(None, 10).await.unwrap().is_empty());
    let removed = store.org(there).remove_member(ada.id).await;
    assert!(matches!(removed, Err(StoreError::NotFound("user"))));
    let ghost = store.org(here).set_member(UserId::from_u128(next()), Role::Viewer).await;
    assert!(matches!(ghost, Err(StoreError::NotFound("user"))));
    let nowhere = store.org(OrgId::from_u128(9)).set_member(ada.id, Role::Viewer).await;
    assert!(matches!(nowhere, Err(StoreError::NotFound("organization"))));
}
