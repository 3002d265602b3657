//! Who may manage the people of an org.

use std::time::Duration;

use ostler_domain::id::{BlobId, KeyId, RunId, ThreadId, UserId};
use ostler_domain::memory::MessageOrigin;
use ostler_domain::money::Credits;
use ostler_domain::money::pools::PoolKind;
use ostler_domain::org::people::RoleChangeRefused;
use ostler_domain::org::role::Role;
use ostler_domain::secret::InvitationCode;
use ostler_domain::tool::Trust;
use ostler_engine::history::Item;
use ostler_harness::memory::memory_message;
use ostler_runtime::operations::{Actor, NewMember, OperationError};
use ostler_store::{
    NewGrant, NewSubagentRun, NewThread, Store, ThreadClaim, ThreadCommit, ThreadEvents, ThreadFile,
};

use crate::support::{ECHO, ORG, OWNER, Scenario, on_every_database};

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

on_every_database!(s09_threads_of_a_removed_member_are_erased);
/// S09: nothing that a member has said to an agent of a thread is left after the member was
/// removed: messages, events, memory, runs of subagents, images, settings. Those of others stay.
async fn s09_threads_of_a_removed_member_are_erased(store: Store) {
    let scenario = Scenario::in_store(store, ECHO).await;
    for (user, role) in [(OWNER, Role::Owner), (ADMIN, Role::Admin), (VIEWER, Role::Viewer)] {
        scenario.add_member(user, role).await;
    }
    let org = scenario.store.org(ORG);
    let of_admin = converse(&scenario.store, ADMIN, 1).await;
    let of_viewer = converse(&scenario.store, VIEWER, 10).await;
    let left = async |threads: &[ThreadId], user: UserId| {
        let mut left =
            usize::from(org.harness_setting(&user.to_string(), "rules").await.unwrap().is_some());
        for thread in threads {
            left += usize::from(org.thread(*thread).await.unwrap().is_some());
            left += org.thread_messages(*thread, 0, 10).await.unwrap().len();
            left += org.thread_events(*thread, 0, 10).await.unwrap().len();
            left += org.subagent_runs(*thread, 10).await.unwrap().len();
            left += org.recall_messages(*thread, 9, "marker", 10).await.unwrap().len();
            left += usize::try_from(org.thread_file_count(*thread).await.unwrap()).unwrap();
        }
        left
    };
    assert_eq!(left(&of_admin, ADMIN).await, 55);
    let operations = scenario.operations();
    let by_owner = operations.as_actor(Actor::User(OWNER), ORG);
    by_owner.remove_member(&ADMIN.to_string()).await.unwrap();
    assert_eq!(left(&of_admin, ADMIN).await, 0);
    assert_eq!(left(&of_viewer, VIEWER).await, 55);
}

/// Stores nine threads of a user, of which a process still works on each.
async fn converse(store: &Store, user: UserId, first: u128) -> Vec<ThreadId> {
    let org = store.org(ORG);
    let resource = user.to_string();
    org.set_harness_setting(&resource, "rules", "{}".into()).await.unwrap();
    let mut threads = Vec::new();
    for number in first..first + 9 {
        let id = ThreadId::from_u128(number);
        let title = Some("marker".to_owned());
        let resource = resource.clone();
        let new = NewThread { id, resource, title, metadata: "{}".into(), copy: None };
        org.create_thread(new).await.unwrap();
        let claim = org.claim_thread(id, "server", Duration::from_secs(60)).await.unwrap();
        let ThreadClaim::Claimed { lease, .. } = claim else { panic!("{claim:?}") };
        let file = ThreadFile {
            id: BlobId::from_u128(number),
            media: "{}".into(),
            bytes: b"marker".to_vec(),
        };
        org.add_thread_files(lease, vec![file]).await.unwrap();
        let run = NewSubagentRun {
            run: RunId::from_u128(number),
            path: "[]".into(),
            agent_type: "explore".into(),
            messages: "[\"marker\"]".into(),
        };
        let item = Item::user("marker");
        let origin = MessageOrigin::Conversation;
        let commit = ThreadCommit {
            messages: vec!["\"marker\"".into()],
            first_seq: 1,
            memory: vec![memory_message(1, &item, origin, Trust::Trusted)],
            events: Some(ThreadEvents { last_id: 1, events: "[]".into() }),
            subagent_runs: vec![run],
            ..ThreadCommit::new(RunId::from_u128(number))
        };
        org.commit_thread(lease, commit).await.unwrap();
        threads.push(id);
    }
    threads
}
