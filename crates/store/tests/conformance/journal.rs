//! Checkpoints and the journal: external calls are neither lost nor repeated.

use std::time::Duration;

use ostler_domain::id::{CallId, OrgId, RunId};
use ostler_store::{
    CallOutcome, Checkpoint, ClaimPolicy, ClaimedConversation, Lease, LeaseStatus, ReleaseReason,
    RetrySafety, Store, StoreError, StoredCall, StoredIntent, TurnCommit,
};

use crate::on_every_backend;
use crate::support::{POLICY, accept, claim, next, turn, with_org};

const SHORT: ClaimPolicy = ClaimPolicy { lease: Duration::from_millis(1), ..POLICY };
const MINUTE: Duration = Duration::from_secs(60);
const STOPPED: &str = "the worker stopped before the outcome was known";
const ENDED: &str = "the turn ended before the outcome was known";

fn intent(repeat: RetrySafety) -> StoredIntent {
    let call = CallId::from_u128(next());
    let arguments = "{\"to\":\"rosa\"}".into();
    StoredIntent {
        call,
        tool: "send_email".into(),
        key: call.to_string(),
        arguments,
        retry_safety: repeat,
    }
}

fn state(state: &str) -> Checkpoint {
    Checkpoint { run: RunId::from_u128(next()), version: 1, state: state.into() }
}

fn outcomes(calls: &[StoredCall]) -> Vec<Option<CallOutcome>> {
    calls.iter().map(|call| call.outcome.clone()).collect()
}

async fn held(store: &Store, org: OrgId, person: &str) -> ClaimedConversation {
    accept(store, org, person, &format!("{person}{}", next())).await;
    claim(store).await.unwrap()
}

async fn checkpoint(store: &Store, lease: Lease, state: &Checkpoint, intents: &[StoredIntent]) {
    store.checkpoint_turn(lease, state.clone(), intents.to_vec(), MINUTE).await.unwrap();
}

/// Gives the lease to another worker, as after a crash.
async fn crash(store: &Store, lease: Lease) -> ClaimedConversation {
    let failed = ReleaseReason::Failed { retry_after: Duration::ZERO };
    store.release_lease(lease, failed).await.unwrap();
    claim(store).await.unwrap()
}

fn known(text: &str) -> CallOutcome {
    CallOutcome::Known(text.into())
}

on_every_backend!(a_turn_continues_from_its_checkpoint);
async fn a_turn_continues_from_its_checkpoint(store: &Store) {
    let org = with_org(store, 1).await;
    let first = held(store, org, "rosa").await;
    assert_eq!(store.open_checkpoint(first.lease).await.unwrap(), None);
    let intents = [RetrySafety::Unsafe, RetrySafety::Idempotent, RetrySafety::Unsafe].map(intent);
    let before = state("{\"step\":1}");
    checkpoint(store, first.lease, &before, &intents[..1]).await;
    let done = store.record_outcome(first.lease, intents[0].call, known("1")).await.unwrap();
    assert_eq!(done, LeaseStatus::Held);
    let now = Checkpoint { state: "{\"step\":2}".into(), ..before };
    checkpoint(store, first.lease, &now, &intents[1..]).await;
    let second = crash(store, first.lease).await;
    let open = store.open_checkpoint(second.lease).await.unwrap().unwrap();
    assert_eq!(open.checkpoint, now);
    let found: Vec<StoredIntent> = open.calls.iter().map(|call| call.intent.clone()).collect();
    assert_eq!(found, intents);
    let lost = CallOutcome::Unknown(STOPPED.into());
    assert_eq!(outcomes(&open.calls), [Some(known("1")), None, Some(lost)]);
    let again = store.open_checkpoint(second.lease).await.unwrap().unwrap();
    assert_eq!(again, open, "looking twice changes nothing");
    checkpoint(store, second.lease, &now, &intents[1..2]).await;
    store.record_outcome(second.lease, intents[1].call, known("2")).await.unwrap();
    store.record_outcome(second.lease, intents[2].call, known("3")).await.unwrap();
    let open = store.open_checkpoint(second.lease).await.unwrap().unwrap();
    assert_eq!(outcomes(&open.calls), ["1", "2", "3"].map(|text| Some(known(text))));
}

on_every_backend!(repeated_outcomes_are_accepted_and_contradictory_ones_refused);
async fn repeated_outcomes_are_accepted_and_contradictory_ones_refused(store: &Store) {
    let org = with_org(store, 1).await;
    let lease = held(store, org, "rosa").await.lease;
    let (state, one) = (state("{}"), intent(RetrySafety::Unsafe));
    checkpoint(store, lease, &state, std::slice::from_ref(&one)).await;
    store.record_outcome(lease, one.call, known("1")).await.unwrap();
    checkpoint(store, lease, &state, std::slice::from_ref(&one)).await;
    store.record_outcome(lease, one.call, known("1")).await.unwrap();
    for other in [known("2"), CallOutcome::Unknown("?".into())] {
        let refused = store.record_outcome(lease, one.call, other).await;
        assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    }
    let open = store.open_checkpoint(lease).await.unwrap().unwrap();
    assert_eq!(outcomes(&open.calls), [Some(known("1"))]);
    // A batch with a contradictory intent is refused as a whole.
    let other = StoredIntent { arguments: "{\"to\":\"otto\"}".into(), ..one };
    let intents = vec![intent(RetrySafety::Unsafe), other];
    let newer = Checkpoint { state: "{\"new\":1}".into(), ..state };
    let refused = store.checkpoint_turn(lease, newer, intents, MINUTE).await;
    assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    assert_eq!(store.open_checkpoint(lease).await.unwrap().unwrap(), open, "nothing was written");
    let nothing = store.record_outcome(lease, CallId::from_u128(7), known("1")).await;
    assert!(matches!(nothing, Err(StoreError::NotFound("call"))), "{nothing:?}");
    let elsewhere = held(store, org, "otto").await.lease;
    let call = open.calls[0].intent.call;
    let foreign = store.record_outcome(elsewhere, call, known("1")).await;
    assert!(matches!(foreign, Err(StoreError::NotFound("call"))), "{foreign:?}");
}

on_every_backend!(a_turn_ends_a_checkpoint_that_was_stored_before_its_claim);
async fn a_turn_ends_a_checkpoint_that_was_stored_before_its_claim(store: &Store) {
    let org = with_org(store, 1).await;
    let first = held(store, org, "rosa").await;
    checkpoint(store, first.lease, &state("{}"), &[intent(RetrySafety::Unsafe)]).await;
    let second = crash(store, first.lease).await;
    let commit = TurnCommit { has_checkpoint: false, ..turn(&second) };
    store.commit_turn(&commit).await.unwrap();
    let third = held(store, org, "rosa").await;
    assert_eq!(store.open_checkpoint(third.lease).await.unwrap(), None);
}

on_every_backend!(the_lease_outlasts_the_call);
async fn the_lease_outlasts_the_call(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let claimed = store.claim_conversation(SHORT).await.unwrap().unwrap();
    checkpoint(store, claimed.lease, &state("{}"), &[intent(RetrySafety::Unsafe)]).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(claim(store).await.is_none(), "it is held while the call runs");
    // A checkpoint never shortens a lease.
    let none = Duration::ZERO;
    store.checkpoint_turn(claimed.lease, state("{}"), vec![], none).await.unwrap();
    store.renew_lease(claimed.lease, POLICY).await.unwrap();
    store.commit_turn(&turn(&claimed)).await.unwrap();
}

on_every_backend!(a_stale_worker_writes_no_checkpoint_but_records_its_outcome);
async fn a_stale_worker_writes_no_checkpoint_but_records_its_outcome(store: &Store) {
    let org = with_org(store, 1).await;
    let slow = held(store, org, "rosa").await;
    let intents = [RetrySafety::Unsafe, RetrySafety::Unsafe].map(intent);
    let mine = state("{}");
    checkpoint(store, slow.lease, &mine, &intents).await;
    let quick = crash(store, slow.lease).await;
    let late = store.checkpoint_turn(slow.lease, state("{}"), vec![], MINUTE).await;
    assert!(matches!(late, Err(StoreError::StaleLease)), "{late:?}");
    for refused in [
        store.open_checkpoint(slow.lease).await.map(|_| ()),
        store.discard_checkpoint(slow.lease).await,
    ] {
        assert!(matches!(refused, Err(StoreError::StaleLease)), "{refused:?}");
    }
    let recorded = store.record_outcome(slow.lease, intents[0].call, known("1")).await.unwrap();
    assert_eq!(recorded, LeaseStatus::Lost);
    let open = store.open_checkpoint(quick.lease).await.unwrap().unwrap();
    assert_eq!(open.checkpoint, mine);
    let lost = CallOutcome::Unknown(STOPPED.into());
    assert_eq!(outcomes(&open.calls), [Some(known("1")), Some(lost)]);
    store.record_outcome(slow.lease, intents[1].call, known("2")).await.unwrap();
    let open = store.open_checkpoint(quick.lease).await.unwrap().unwrap();
    assert_eq!(outcomes(&open.calls), [Some(known("1")), Some(known("2"))]);
}

on_every_backend!(the_commit_deletes_the_checkpoint_and_keeps_unknown_outcomes);
async fn the_commit_deletes_the_checkpoint_and_keeps_unknown_outcomes(store: &Store) {
    let org = with_org(store, 1).await;
    let claimed = held(store, org, "rosa").await;
    let intents = [RetrySafety::Unsafe, RetrySafety::Idempotent, RetrySafety::Unsafe].map(intent);
    checkpoint(store, claimed.lease, &state("{}"), &intents).await;
    store.record_outcome(claimed.lease, intents[0].call, known("1")).await.unwrap();
    let why = CallOutcome::Unknown("timed out".into());
    store.record_outcome(claimed.lease, intents[2].call, why.clone()).await.unwrap();
    store.commit_turn(&turn(&claimed)).await.unwrap();
    let unknown = store.org(org).unknown_outcomes(None, 10).await.unwrap();
    let ids: Vec<CallId> = unknown.iter().map(|call| call.intent.call).collect();
    assert_eq!(ids, [intents[1].call, intents[2].call]);
    let ended = CallOutcome::Unknown(ENDED.into());
    assert_eq!(outcomes(&unknown), [Some(ended), Some(why)]);
    let next_turn = held(store, org, "rosa").await;
    assert_eq!(store.open_checkpoint(next_turn.lease).await.unwrap(), None);
}

on_every_backend!(discarding_a_checkpoint_makes_open_calls_unknown);
async fn discarding_a_checkpoint_makes_open_calls_unknown(store: &Store) {
    let org = with_org(store, 1).await;
    let lease = held(store, org, "rosa").await.lease;
    checkpoint(store, lease, &state("{\"run\":1}"), &[intent(RetrySafety::Idempotent)]).await;
    let second = state("{\"run\":2}");
    checkpoint(store, lease, &second, &[intent(RetrySafety::Idempotent)]).await;
    let open = store.open_checkpoint(lease).await.unwrap().unwrap();
    assert_eq!((open.checkpoint, outcomes(&open.calls)), (second, vec![None]));
    assert_eq!(store.org(org).unknown_outcomes(None, 10).await.unwrap().len(), 1);
    store.discard_checkpoint(lease).await.unwrap();
    assert_eq!(store.open_checkpoint(lease).await.unwrap(), None);
    assert_eq!(store.org(org).unknown_outcomes(None, 10).await.unwrap().len(), 2);
}

on_every_backend!(unknown_outcomes_are_listed_and_resolved_once);
async fn unknown_outcomes_are_listed_and_resolved_once(store: &Store) {
    let org = with_org(store, 1).await;
    let claimed = held(store, org, "rosa").await;
    let intents: Vec<StoredIntent> = (0..5).map(|_| intent(RetrySafety::Unsafe)).collect();
    checkpoint(store, claimed.lease, &state("{}"), &intents).await;
    let running = store.org(org).resolve_unknown_outcome(intents[0].call, "1".into()).await;
    assert!(matches!(running, Err(StoreError::NotFound(_))), "it is under way: {running:?}");
    store.commit_turn(&turn(&claimed)).await.unwrap();
    let (mut listed, mut after) = (Vec::new(), None);
    loop {
        let page = store.org(org).unknown_outcomes(after, 2).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.intent.call);
        listed.extend(page.into_iter().map(|call| call.intent));
    }
    assert_eq!(listed, intents);
    let call = intents[2].call;
    store.org(org).resolve_unknown_outcome(call, "1".into()).await.unwrap();
    store.org(org).resolve_unknown_outcome(call, "1".into()).await.unwrap();
    let other = store.org(org).resolve_unknown_outcome(call, "2".into()).await;
    assert!(matches!(other, Err(StoreError::Conflict(_))), "{other:?}");
    assert_eq!(store.org(org).unknown_outcomes(None, 10).await.unwrap().len(), 4);
}

on_every_backend!(the_first_of_concurrent_resolutions_counts);
async fn the_first_of_concurrent_resolutions_counts(store: &Store) {
    let org = with_org(store, 1).await;
    let lease = held(store, org, "rosa").await.lease;
    let one = intent(RetrySafety::Unsafe);
    checkpoint(store, lease, &state("{}"), std::slice::from_ref(&one)).await;
    let tries = (0..20).map(|n| {
        let (store, call) = (store.clone(), one.call);
        tokio::spawn(async move { store.record_outcome(lease, call, known(&n.to_string())).await })
    });
    let mut counted = 0;
    for each in tries.collect::<Vec<_>>() {
        match each.await.unwrap() {
            Ok(_) => counted += 1,
            Err(error) => assert!(matches!(error, StoreError::Conflict(_)), "{error}"),
        }
    }
    assert_eq!(counted, 1);
}

on_every_backend!(
    /// A05: a call of another org is not found.
    a05_calls_belong_to_their_org
);
async fn a05_calls_belong_to_their_org(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    let claimed = held(store, here, "rosa").await;
    let one = intent(RetrySafety::Unsafe);
    checkpoint(store, claimed.lease, &state("{}"), std::slice::from_ref(&one)).await;
    store.commit_turn(&turn(&claimed)).await.unwrap();
    assert!(store.org(there).unknown_outcomes(None, 10).await.unwrap().is_empty());
    let foreign = store.org(there).resolve_unknown_outcome(one.call, "1".into()).await;
    assert!(matches!(foreign, Err(StoreError::NotFound("call"))), "{foreign:?}");
    // The same id in another org is another call.
    let theirs = held(store, there, "rosa").await;
    checkpoint(store, theirs.lease, &state("{}"), std::slice::from_ref(&one)).await;
    store.record_outcome(theirs.lease, one.call, known("1")).await.unwrap();
    assert_eq!(store.org(here).unknown_outcomes(None, 10).await.unwrap().len(), 1);
}

on_every_backend!(
    /// A conversation with a newer checkpoint is skipped without counting an attempt, and
    /// a newer worker continues it.
    a_newer_checkpoint_is_left_to_a_newer_worker
);
async fn a_newer_checkpoint_is_left_to_a_newer_worker(store: &Store) {
    let org = with_org(store, 1).await;
    let first = held(store, org, "rosa").await;
    let future = Checkpoint { version: 2, ..state("{}") };
    checkpoint(store, first.lease, &future, &[intent(RetrySafety::Unsafe)]).await;
    store.release_lease(first.lease, ReleaseReason::Untried).await.unwrap();
    accept(store, org, "otto", "m2").await;
    let other = claim(store).await.unwrap();
    assert_ne!(other.lease.conversation(), first.lease.conversation());
    assert!(claim(store).await.is_none(), "it is left alone");
    accept(store, org, "rosa", "m3").await;
    assert!(claim(store).await.is_none(), "and again");
    accept(store, org, "rosa", "m4").await;
    let newer = ClaimPolicy { max_checkpoint_version: 2, ..POLICY };
    // It was postponed for a few seconds.
    let claimed = loop {
        if let Some(claimed) = store.claim_conversation(newer).await.unwrap() {
            break claimed;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    let attempts: Vec<u32> = claimed.messages.iter().map(|message| message.attempts).collect();
    assert_eq!(attempts, [1, 1, 1], "nothing was counted");
    let open = store.open_checkpoint(claimed.lease).await.unwrap().unwrap();
    assert_eq!(open.checkpoint, future);
    store.commit_turn(&turn(&claimed)).await.unwrap();
    accept(store, org, "rosa", "m5").await;
    assert!(claim(store).await.is_some(), "a turn that is over is in nobody's way");
}
