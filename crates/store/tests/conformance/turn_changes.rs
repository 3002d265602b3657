//! Changes of tools, committed with the turn or not at all.

use std::time::Duration;

use ostler_domain::id::{OrgId, RecordId};
use ostler_store::{
    ClaimPolicy, ClaimedConversation, CommitOutcome, LeaseAction, RecordChange, Store, StoreError,
    TurnCommit,
};
use ostler_testkit::claim_send;

use crate::on_every_backend;
use crate::support::{
    POLICY, accept, after_takeover, claim, next, thread_messages, turn, with_org,
};

const KIND: &str = "booking";

fn create(id: RecordId) -> RecordChange {
    RecordChange::CreateRecord { kind: KIND.into(), id, data: "new".into() }
}

fn update(id: RecordId, version: i64) -> RecordChange {
    RecordChange::UpdateRecord { kind: KIND.into(), id, version, data: "changed".into() }
}

fn turn_with(claimed: &ClaimedConversation, changes: Vec<RecordChange>) -> TurnCommit {
    TurnCommit { changes, ..turn(claimed) }
}

/// Returns the version and data of a record, if it exists.
async fn record(store: &Store, org: OrgId, id: RecordId) -> Option<(i64, String)> {
    match store.org(org).record(KIND, id).await {
        Ok(record) => Some((record.version, record.data)),
        Err(StoreError::NotFound(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

fn changed(version: i64) -> Option<(i64, String)> {
    Some((version, "changed".into()))
}

on_every_backend!(changes_of_tools_are_committed_with_the_turn);
async fn changes_of_tools_are_committed_with_the_turn(store: &Store) {
    let org = with_org(store, 1).await;
    let (old, new) = (RecordId::from_u128(next()), RecordId::from_u128(next()));
    store.org(org).create_record(KIND, old, "old".into()).await.unwrap();
    accept(store, org, "rosa", "m1").await;
    let claimed = claim(store).await.unwrap();
    // Later changes of the list see the version of earlier ones.
    let changes = vec![update(old, 1), create(new), update(new, 1)];
    let committed = store.commit_turn(&turn_with(&claimed, changes)).await.unwrap();
    assert_eq!(committed, CommitOutcome::Complete);
    assert_eq!(record(store, org, old).await, changed(2));
    assert_eq!(record(store, org, new).await, changed(2));
    assert_eq!(thread_messages(store, &claimed).await.len(), 2);
}

on_every_backend!(a_stale_change_fails_the_commit_and_keeps_the_lease);
async fn a_stale_change_fails_the_commit_and_keeps_the_lease(store: &Store) {
    let org = with_org(store, 1).await;
    let (old, new) = (RecordId::from_u128(next()), RecordId::from_u128(next()));
    store.org(org).create_record(KIND, old, "old".into()).await.unwrap();
    accept(store, org, "rosa", "m1").await;
    let claimed = claim(store).await.unwrap();
    let commit = turn_with(&claimed, vec![create(new), update(old, 1)]);
    // Another write comes first.
    store.org(org).apply_changes(vec![update(old, 1)]).await.unwrap();

    let missing = RecordId::from_u128(next());
    for changes in [
        commit.changes.clone(),
        vec![create(new), create(old)],
        vec![create(new), update(missing, 1)],
    ] {
        let refused = store.commit_turn(&TurnCommit { changes, ..commit.clone() }).await;
        assert!(matches!(refused, Err(StoreError::StaleChanges(_))), "{refused:?}");
        assert_eq!(record(store, org, new).await, None, "no change was made");
        assert!(
            thread_messages(store, &claimed).await.is_empty(),
            "nothing of the turn was written"
        );
        assert!(store.org(org).events_after(Default::default(), 10).await.unwrap().is_empty());
        assert!(claim_send(store, Duration::from_secs(30)).await.is_none());
    }

    store.renew_lease(claimed.lease, POLICY).await.expect("the worker still has it");
    let retried = TurnCommit { changes: vec![create(new), update(old, 2)], ..commit };
    assert_eq!(store.commit_turn(&retried).await.unwrap(), CommitOutcome::Complete);
    assert_eq!(record(store, org, old).await, changed(3));
    assert_eq!(record(store, org, new).await, Some((1, "new".into())));
    assert!(claim(store).await.is_none(), "the message is answered");
}

on_every_backend!(a_repeated_commit_makes_its_changes_once);
async fn a_repeated_commit_makes_its_changes_once(store: &Store) {
    let org = with_org(store, 1).await;
    let (counter, new) = (RecordId::from_u128(next()), RecordId::from_u128(next()));
    store.org(org).create_record(KIND, counter, "old".into()).await.unwrap();
    accept(store, org, "rosa", "m1").await;
    let claimed = claim(store).await.unwrap();
    let keep = TurnCommit {
        lease_action: LeaseAction::Keep,
        ..turn_with(&claimed, vec![create(new), update(counter, 1)])
    };
    assert_eq!(store.commit_turn(&keep).await.unwrap(), CommitOutcome::Complete);
    assert_eq!(store.commit_turn(&keep).await.unwrap(), CommitOutcome::AlreadyCommitted);
    // Even if its changes could be made again.
    let could = TurnCommit { changes: vec![update(counter, 2)], ..keep };
    assert_eq!(store.commit_turn(&could).await.unwrap(), CommitOutcome::AlreadyCommitted);
    store.commit_turn(&TurnCommit { answered: vec![], ..turn(&claimed) }).await.unwrap();
    assert_eq!(
        store.commit_turn(&could).await.unwrap(),
        CommitOutcome::AlreadyCommitted,
        "without the lease too"
    );
    assert_eq!(record(store, org, counter).await, changed(2));
}

on_every_backend!(a_stale_worker_changes_nothing);
async fn a_stale_worker_changes_nothing(store: &Store) {
    let org = with_org(store, 1).await;
    let new = RecordId::from_u128(next());
    accept(store, org, "rosa", "m1").await;
    let short = ClaimPolicy { lease: Duration::from_millis(1), ..POLICY };
    let slow = store.claim_conversation(short).await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    let quick = claim(store).await.unwrap();
    let refused = store.commit_turn(&turn_with(&slow, vec![create(new)])).await;
    assert!(matches!(refused, Err(StoreError::StaleLease)), "{refused:?}");
    assert_eq!(record(store, org, new).await, None);
    store.commit_turn(&turn_with(&quick, vec![create(new)])).await.unwrap();
}

on_every_backend!(
    /// A05: a turn cannot change records of another org.
    a05_a_turn_changes_records_of_its_own_org_only
);
async fn a05_a_turn_changes_records_of_its_own_org_only(store: &Store) {
    let (org, other) = (with_org(store, 1).await, with_org(store, 2).await);
    let id = RecordId::from_u128(next());
    store.org(other).create_record(KIND, id, "theirs".into()).await.unwrap();
    accept(store, org, "rosa", "m1").await;
    let claimed = claim(store).await.unwrap();
    let refused = store.commit_turn(&turn_with(&claimed, vec![update(id, 1)])).await;
    let Err(StoreError::StaleChanges(why)) = refused else { panic!("{refused:?}") };
    assert!(matches!(*why, StoreError::NotFound("record")), "a foreign id is not found");
    // The same id in this org is another record.
    store.commit_turn(&turn_with(&claimed, vec![create(id)])).await.unwrap();
    assert_eq!(record(store, other, id).await, Some((1, "theirs".into())));
    assert_eq!(record(store, org, id).await, Some((1, "new".into())));
}

on_every_backend!(a_takeover_keeps_the_changes_of_the_turn);
async fn a_takeover_keeps_the_changes_of_the_turn(store: &Store) {
    let org = with_org(store, 1).await;
    let new = RecordId::from_u128(next());
    accept(store, org, "rosa", "m1").await;
    let claimed = claim(store).await.unwrap();
    store.org(org).withdraw_agent_messages(claimed.lease.conversation()).await.unwrap();
    let late = turn_with(&claimed, vec![create(new)]);
    let refused = store.commit_turn(&late).await;
    assert!(matches!(refused, Err(StoreError::ConversationChanged)), "{refused:?}");
    assert_eq!(record(store, org, new).await, None);
    let committed = store.commit_turn(&after_takeover(late)).await.unwrap();
    assert_eq!(committed, CommitOutcome::RepliesWithdrawn);
    assert_eq!(record(store, org, new).await, Some((1, "new".into())));
}
