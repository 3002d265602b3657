//! Who may manage the people of an org.

use ostler_domain::id::{KeyId, UserId};
use ostler_domain::money::Credits;
use ostler_domain::money::pools::PoolKind;
use ostler_domain::org::people::RoleChangeRefused;
use ostler_domain::org::role::Role;
use ostler_domain::secret::InvitationCode;
use ostler_runtime::operations::{Actor, NewMember, OperationError};
use ostler_store::NewGrant;

use crate::support::{ECHO, ORG, OWNER, Scenario};

const ADMIN: UserId = UserId::from_u128(0x31);
const VIEWER: UserId = UserId::from_u128(0x32);

fn new_member(email: &str, role: Role) -> NewMember {
    NewMember { email: email.into(), name: None, role }
}

/// O13: owners and admins manage people; only owners make, change and remove owners.
#[tokio::test]
async fn o13_admins_manage_people_but_not_owners() {
    let scenario = Scenario::new(ECHO).await;
    for (user, role) in [(OWNER, Role::Owner), (ADMIN, Role::Admin), (VIEWER, Role::Viewer)] {
        scenario.add_member(user, role).await;
    }
    let operations = scenario.operations();
    let (owner, admin) = (Actor::User(OWNER), Actor::User(ADMIN));
    let key = |role| Actor::Key { id: KeyId::from_u128(9), org: ORG, role };
    for actor in [Actor::User(VIEWER), Actor::Chat(OWNER), key(Role::Operator)] {
        let by = operations.as_actor(actor, ORG);
        let refused = by.add_member(new_member("x@x.org", Role::Viewer)).await;
        assert!(matches!(refused, Err(OperationError::Forbidden { .. })), "{actor:?}: {refused:?}");
    }
    let by_admin = operations.as_actor(admin, ORG);
    by_admin.add_member(new_member("tom@x.org", Role::Operator)).await.unwrap();
    by_admin.set_role("tom@x.org", Role::Admin).await.unwrap();
    let needs_owner = |result: Result<(), OperationError>| {
        let refused =
            matches!(result, Err(OperationError::RoleChange(RoleChangeRefused::NeedsOwner)));
        assert!(refused, "{result:?}");
    };
    let code: InvitationCode = format!("osi_{}", "a".repeat(32)).parse().unwrap();
    needs_owner(by_admin.add_member(new_member("eve@x.org", Role::Owner)).await.map(drop));
    needs_owner(by_admin.invite("eve@x.org", Role::Owner, 7, &code).await.map(drop));
    needs_owner(by_admin.set_role("tom@x.org", Role::Owner).await.map(drop));
    needs_owner(by_admin.set_role(&OWNER.to_string(), Role::Viewer).await.map(drop));
    needs_owner(by_admin.remove_member(&OWNER.to_string()).await.map(drop));
    let by_owner = operations.as_actor(owner, ORG);
    by_owner.set_role("tom@x.org", Role::Owner).await.unwrap();
    by_owner.remove_member("tom@x.org").await.unwrap();
    let admin_of_platform = by_owner.set_role(&ADMIN.to_string(), Role::PlatformAdmin).await;
    assert!(matches!(
        admin_of_platform,
        Err(OperationError::RoleChange(RoleChangeRefused::NotHere(Role::PlatformAdmin)))
    ));
    // Accounts belong to no org; the platform manages them.
    let accounts = by_owner.users(None, 10).await;
    assert!(matches!(accounts, Err(OperationError::NotPlatform)), "{accounts:?}");
}

/// O13: an invitation is worth nothing once its sender may not invite any more.
#[tokio::test]
async fn o13_an_invitation_ends_with_the_rights_of_its_sender() {
    let scenario = Scenario::new(ECHO).await;
    for (user, role) in [(OWNER, Role::Owner), (ADMIN, Role::Admin)] {
        scenario.add_member(user, role).await;
    }
    let operations = scenario.operations();
    let by_admin = operations.as_actor(Actor::User(ADMIN), ORG);
    let by_owner = operations.as_actor(Actor::User(OWNER), ORG);
    let code = |word: &str| -> InvitationCode { format!("osi_{word:0>32}").parse().unwrap() };
    by_admin.invite("tom@x.org", Role::Admin, 7, &code("a")).await.unwrap();
    by_admin.invite("eva@x.org", Role::Viewer, 7, &code("b")).await.unwrap();
    let (_, tom) = operations.accept_invitation(&code("a"), "Tom", None).await.unwrap();
    assert_eq!(tom.role, Role::Admin);
    by_owner.set_role(&ADMIN.to_string(), Role::Viewer).await.unwrap();
    let refused =
        operations.accept_invitation(&code("b"), "Eva", None).await.unwrap_err().to_string();
    assert_eq!(
        refused,
        "the sender of this invitation may not invite people any more; ask for a new one"
    );
    assert_eq!(by_owner.members().await.unwrap().len(), 3);
}

/// A refusal names the role that the key has and those that would do.
#[tokio::test]
async fn a_refused_key_reads_its_role_and_the_roles_that_may() {
    let scenario = Scenario::new(ECHO).await;
    let operations = scenario.operations();
    let key = |role| Actor::Key { id: KeyId::from_u128(9), org: ORG, role };
    let owner = operations.as_actor(key(Role::Owner), ORG);
    let grant =
        NewGrant { reference: "gift".into(), pool: PoolKind::Purchased, amount: Credits::new(5) };
    let refused = owner.grant_credits(grant).await.unwrap_err().to_string();
    assert_eq!(refused, "this key (role owner) may not grant credits; only a platform admin may");
    let viewer = operations.as_actor(key(Role::Viewer), ORG);
    let refused = viewer.add_document("a", "b", &[]).await.unwrap_err().to_string();
    assert_eq!(
        refused,
        "this key (role viewer) may not configure this organization; only an admin or an owner may"
    );
}
