//! From accepting a message through the lease to the commit of a turn.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ostler_domain::id::BindingId;
use ostler_store::{
    AcceptOutcome, ClaimPolicy, CommitOutcome, LeaseAction, ReleaseReason, Store, StoreError,
    TurnCommit,
};

use crate::on_every_backend;
use crate::support::{POLICY, accept, claim, message, thread_messages, turn, with_org};

on_every_backend!(a_message_is_answered_in_one_commit);
async fn a_message_is_answered_in_one_commit(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    accept(store, org, "rosa", "m2").await;
    let claimed = claim(store).await.unwrap();
    assert_eq!(claimed.messages.len(), 2);
    assert!(claim(store).await.is_none(), "one worker at a time");
    store.commit_turn(&turn(&claimed)).await.unwrap();
    let expected = [r#"{"text":"m1"}"#, r#"{"text":"m2"}"#, r#"{"text":"reply"}"#];
    assert_eq!(thread_messages(store, &claimed).await, expected);
    assert!(claim(store).await.is_none(), "nothing is left to do");
}

on_every_backend!(a_repeated_message_returns_the_first_id);
async fn a_repeated_message_returns_the_first_id(store: &Store) {
    let org = with_org(store, 1).await;
    let AcceptOutcome::New(first) = accept(store, org, "rosa", "m1").await else {
        panic!("it is new")
    };
    let repeats = (0..100).map(|_| {
        let store = store.clone();
        tokio::spawn(async move { accept(&store, org, "rosa", "m1").await })
    });
    for repeat in repeats.collect::<Vec<_>>() {
        assert_eq!(repeat.await.unwrap(), AcceptOutcome::Duplicate(first));
    }
    assert_eq!(claim(store).await.unwrap().messages.len(), 1);
}

on_every_backend!(
    /// C19: ids of messages are unique for one binding; two providers may use the same.
    c19_the_same_id_through_another_binding_is_another_message
);
async fn c19_the_same_id_through_another_binding_is_another_message(store: &Store) {
    let org = with_org(store, 1).await;
    let AcceptOutcome::New(first) = accept(store, org, "rosa", "m1").await else {
        panic!("it is new")
    };
    let mut elsewhere = message(org, "rosa", "m1");
    elsewhere.key.binding = BindingId::from_u128(2);
    let second = elsewhere.id;
    let accepted = store.org(org).accept_inbound(elsewhere.clone(), 1000).await.unwrap();
    assert_eq!(accepted, AcceptOutcome::New(second));
    let repeated = store.org(org).accept_inbound(elsewhere, 1000).await.unwrap();
    assert_eq!(repeated, AcceptOutcome::Duplicate(second));
    assert_eq!(accept(store, org, "rosa", "m1").await, AcceptOutcome::Duplicate(first));
    for _ in 0..2 {
        assert_eq!(claim(store).await.expect("both are answered").messages.len(), 1);
    }
}

on_every_backend!(a_nul_character_in_a_text_is_replaced);
async fn a_nul_character_in_a_text_is_replaced(store: &Store) {
    let org = with_org(store, 1).await;
    let AcceptOutcome::New(first) = accept(store, org, "ro\u{0}sa", "m\u{0}1").await else {
        panic!("new")
    };
    assert_eq!(accept(store, org, "ro\u{0}sa", "m\u{0}1").await, AcceptOutcome::Duplicate(first));
    assert_eq!(claim(store).await.unwrap().messages.len(), 1);
}

on_every_backend!(one_of_many_equal_messages_is_accepted);
async fn one_of_many_equal_messages_is_accepted(store: &Store) {
    let org = with_org(store, 1).await;
    let tries = (0..100).map(|_| {
        let store = store.clone();
        tokio::spawn(async move { accept(&store, org, "rosa", "m1").await })
    });
    let (mut new, mut ids) = (0, BTreeSet::new());
    for each in tries.collect::<Vec<_>>() {
        let (AcceptOutcome::New(id) | AcceptOutcome::Duplicate(id)) = each
            .await
            .inspect(|accepted| {
                new += u32::from(matches!(accepted, AcceptOutcome::New(_)));
            })
            .unwrap();
        ids.insert(id);
    }
    assert_eq!((new, ids.len()), (1, 1));
}

on_every_backend!(
    /// F09: messages behind a failed one wait for its retry.
    f09_later_messages_wait_for_a_failed_one
);
async fn f09_later_messages_wait_for_a_failed_one(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let first = claim(store).await.unwrap();
    let retry_after = Duration::from_millis(300);
    store.release_lease(first.lease, ReleaseReason::Failed { retry_after }).await.unwrap();
    accept(store, org, "rosa", "m2").await;
    assert!(claim(store).await.is_none(), "the second waits for the first");
    accept(store, org, "ivy", "m3").await;
    assert_eq!(claim(store).await.unwrap().messages[0].payload, r#"{"text":"m3"}"#);
    tokio::time::sleep(Duration::from_millis(400)).await;
    let again = claim(store).await.unwrap();
    assert_eq!((again.messages.len(), again.messages[0].attempts), (1, 2));
    store.commit_turn(&turn(&again)).await.unwrap();
    let second = claim(store).await.unwrap();
    store.commit_turn(&turn(&second)).await.unwrap();
    let said = thread_messages(store, &second).await;
    assert_eq!((said[0].as_str(), said[2].as_str()), (r#"{"text":"m1"}"#, r#"{"text":"m2"}"#));
}

on_every_backend!(
    /// C19: a lease that has expired cannot be renewed, also if nobody else has claimed the
    /// conversation yet.
    c19_an_expired_lease_is_not_renewed
);
async fn c19_an_expired_lease_is_not_renewed(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let short = ClaimPolicy { lease: Duration::from_millis(1), ..POLICY };
    let slow = store.claim_conversation(short).await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    let renewed = store.renew_lease(slow.lease, POLICY).await;
    assert!(matches!(renewed, Err(StoreError::StaleLease)), "{renewed:?}");
    assert!(claim(store).await.is_some(), "another worker takes it over at once");
}

on_every_backend!(a_stale_worker_commits_nothing);
async fn a_stale_worker_commits_nothing(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let short = ClaimPolicy { lease: Duration::from_millis(1), ..POLICY };
    let slow = store.claim_conversation(short).await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    let quick = claim(store).await.unwrap();
    assert_eq!(quick.messages[0].attempts, 2);
    let refused = store.commit_turn(&turn(&slow)).await;
    assert!(matches!(refused, Err(StoreError::StaleLease)));
    assert!(matches!(store.renew_lease(slow.lease, POLICY).await, Err(StoreError::StaleLease)));
    assert!(thread_messages(store, &slow).await.is_empty(), "nothing of it was written");
    store.commit_turn(&turn(&quick)).await.unwrap();
    assert_eq!(thread_messages(store, &quick).await.len(), 2);
    let again = store.commit_turn(&turn(&quick)).await;
    assert!(matches!(again, Err(StoreError::StaleLease)), "a lease that was given back is over");
}

on_every_backend!(a_repeated_commit_reports_that_it_happened_before);
async fn a_repeated_commit_reports_that_it_happened_before(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let claimed = claim(store).await.unwrap();
    let commit = turn(&claimed);
    let kept = TurnCommit { lease_action: LeaseAction::Keep, ..commit.clone() };
    assert_eq!(store.commit_turn(&kept).await.unwrap(), CommitOutcome::Complete);
    assert_eq!(
        store.commit_turn(&kept).await.unwrap(),
        CommitOutcome::AlreadyCommitted,
        "while it is held"
    );
    store.release_lease(claimed.lease, ReleaseReason::Untried).await.unwrap();
    assert_eq!(
        store.commit_turn(&commit).await.unwrap(),
        CommitOutcome::AlreadyCommitted,
        "and afterwards"
    );
    assert_eq!(thread_messages(store, &claimed).await.len(), 2, "it happened once");
}

on_every_backend!(a_turn_answers_only_pending_messages_of_its_conversation);
async fn a_turn_answers_only_pending_messages_of_its_conversation(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let rosa = claim(store).await.unwrap();
    accept(store, org, "otto", "m2").await;
    let otto = claim(store).await.unwrap();
    let wrong = TurnCommit { answered: vec![otto.messages[0].id], ..turn(&rosa) };
    let refused = store.commit_turn(&wrong).await;
    assert!(matches!(refused, Err(StoreError::NotFound("pending message"))), "{refused:?}");
    assert!(thread_messages(store, &rosa).await.is_empty(), "nothing of it was written");
    store.commit_turn(&turn(&rosa)).await.unwrap();
    store.commit_turn(&turn(&otto)).await.unwrap();
}

on_every_backend!(a_retried_message_comes_alone);
async fn a_retried_message_comes_alone(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "poison").await;
    let first = claim(store).await.unwrap();
    accept(store, org, "rosa", "innocent").await;
    let failed = ReleaseReason::Failed { retry_after: Duration::ZERO };
    store.release_lease(first.lease, failed).await.unwrap();
    let second = claim(store).await.unwrap();
    assert_eq!(second.messages.len(), 1);
    assert_eq!(second.messages[0].payload, r#"{"text":"poison"}"#);
    store.commit_turn(&turn(&second)).await.unwrap();
    let third = claim(store).await.unwrap();
    assert_eq!((third.messages.len(), third.messages[0].attempts), (1, 1));
}

on_every_backend!(messages_that_arrive_while_others_commit_are_all_answered);
async fn messages_that_arrive_while_others_commit_are_all_answered(store: &Store) {
    let org = with_org(store, 1).await;
    let senders: Vec<_> = (0..4)
        .map(|person| {
            let store = store.clone();
            tokio::spawn(async move {
                for n in 0..25 {
                    accept(&store, org, &format!("p{person}"), &format!("m{person}-{n}")).await;
                }
            })
        })
        .collect();
    let all_sent = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> = (0..6)
        .map(|_| {
            let (store, all_sent) = (store.clone(), all_sent.clone());
            tokio::spawn(async move {
                let mut answered = 0;
                loop {
                    // Read before claiming, so that no later message is missed.
                    let last_round = all_sent.load(Ordering::SeqCst);
                    if let Some(claimed) = claim(&store).await {
                        answered += claimed.messages.len();
                        store.commit_turn(&turn(&claimed)).await.unwrap();
                    } else if last_round {
                        return answered;
                    } else {
                        tokio::time::sleep(Duration::from_millis(2)).await;
                    }
                }
            })
        })
        .collect();
    for sender in senders {
        sender.await.unwrap();
    }
    all_sent.store(true, Ordering::SeqCst);
    let mut answered = 0;
    for worker in workers {
        answered += worker.await.unwrap();
    }
    assert_eq!(answered, 100, "no doorbell was lost");
}

on_every_backend!(a_message_accepted_during_a_turn_stays_pending);
async fn a_message_accepted_during_a_turn_stays_pending(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let first = claim(store).await.unwrap();
    accept(store, org, "rosa", "m2").await;
    store.commit_turn(&turn(&first)).await.unwrap();
    let second = claim(store).await.unwrap();
    assert_eq!(second.messages[0].payload, r#"{"text":"m2"}"#);
    let failed = ReleaseReason::Failed { retry_after: Duration::ZERO };
    store.release_lease(second.lease, failed).await.unwrap();
    let third = claim(store).await.unwrap();
    assert_eq!(third.messages[0].attempts, 2);
    store.release_lease(third.lease, ReleaseReason::Untried).await.unwrap();
    assert_eq!(claim(store).await.unwrap().messages[0].attempts, 2, "nothing was tried");
}

on_every_backend!(a_worker_that_keeps_the_lease_gets_further_messages);
async fn a_worker_that_keeps_the_lease_gets_further_messages(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "m1").await;
    let mut claimed = claim(store).await.unwrap();
    accept(store, org, "rosa", "m2").await;
    let keep = TurnCommit { lease_action: LeaseAction::Keep, ..turn(&claimed) };
    store.commit_turn(&keep).await.unwrap();
    assert!(claim(store).await.is_none(), "it is still held");
    claimed.messages = store.claim_more_messages(claimed.lease, POLICY).await.unwrap();
    assert_eq!(claimed.messages[0].payload, r#"{"text":"m2"}"#);
    store.commit_turn(&turn(&claimed)).await.unwrap();
    assert!(claim(store).await.is_none(), "all is answered");
    let late = store.claim_more_messages(claimed.lease, POLICY).await;
    assert!(matches!(late, Err(StoreError::StaleLease)));
}

on_every_backend!(a_message_without_attempts_left_becomes_a_dead_letter);
async fn a_message_without_attempts_left_becomes_a_dead_letter(store: &Store) {
    let org = with_org(store, 1).await;
    accept(store, org, "rosa", "poison").await;
    for attempt in 1..=POLICY.max_attempts {
        let claimed = claim(store).await.unwrap();
        assert_eq!(claimed.messages[0].attempts, attempt);
        let failed = ReleaseReason::Failed { retry_after: Duration::ZERO };
        store.release_lease(claimed.lease, failed).await.unwrap();
    }
    assert!(claim(store).await.is_none());
    accept(store, org, "rosa", "fine").await;
    assert_eq!(claim(store).await.unwrap().messages.len(), 1);
}

on_every_backend!(a_flooding_org_does_not_starve_the_others);
async fn a_flooding_org_does_not_starve_the_others(store: &Store) {
    let (loud, quiet) = (with_org(store, 1).await, with_org(store, 2).await);
    for n in 0..30 {
        accept(store, loud, &format!("p{n}"), &format!("m{n}")).await;
    }
    accept(store, quiet, "rosa", "m").await;
    let policy = ClaimPolicy { max_per_org: 3, ..POLICY };
    let mut claimed = Vec::new();
    while let Some(next) = store.claim_conversation(policy).await.unwrap() {
        claimed.push(next.lease.org());
    }
    let of_loud = claimed.iter().filter(|org| **org == loud).count();
    assert_eq!((of_loud, claimed.len()), (3, 4), "the cap holds");
    let place = claimed.iter().position(|org| *org == quiet);
    assert!(place.is_some_and(|place| place <= 1), "{place:?}: the one with less work goes first");
}

on_every_backend!(the_backlog_is_bounded);
async fn the_backlog_is_bounded(store: &Store) {
    let org = with_org(store, 1).await;
    for n in 0..3 {
        let one = message(org, "rosa", &format!("m{n}"));
        store.org(org).accept_inbound(one, 3).await.unwrap();
    }
    let refused = store.org(org).accept_inbound(message(org, "rosa", "m9"), 3).await;
    assert!(matches!(refused, Err(StoreError::BacklogFull { limit: 3 })));
    let repeat = store.org(org).accept_inbound(message(org, "rosa", "m1"), 3).await;
    assert!(matches!(repeat, Ok(AcceptOutcome::Duplicate(_))), "what was accepted stays accepted");
}

on_every_backend!(the_backlog_limit_is_exact_between_counts);
async fn the_backlog_limit_is_exact_between_counts(store: &Store) {
    let org = with_org(store, 1).await;
    let limit = 100;
    let first = message(org, "p1", "first");
    store.org(org).accept_inbound(first, u32::MAX).await.unwrap();
    let mut sent = 0;
    let mut fill = async || {
        let mut accepted = 0;
        loop {
            sent += 1;
            let one = message(org, &format!("p{}", sent % 7), &format!("m{sent}"));
            match store.org(org).accept_inbound(one, limit).await {
                Ok(_) => accepted += 1,
                Err(StoreError::BacklogFull { limit: 100 }) => return accepted,
                Err(other) => panic!("{other}"),
            }
        }
    };
    assert_eq!(fill().await, 99, "what has no limit makes no room");
    let claimed = claim(store).await.unwrap();
    let answered = claimed.messages.len();
    store.commit_turn(&turn(&claimed)).await.unwrap();
    assert!(answered > 3, "more than are let in without being counted");
    assert_eq!(fill().await, answered, "there is room for as many as were answered");
}

on_every_backend!(
    /// F09: many workers, and every message is answered once and in order.
    f09_many_workers_answer_each_message_once
);
async fn f09_many_workers_answer_each_message_once(store: &Store) {
    let org = with_org(store, 1).await;
    for n in 0..60 {
        accept(store, org, &format!("p{}", n % 6), &format!("m{n}")).await;
    }
    let workers = (0..20).map(|_| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut answered = Vec::new();
            while let Some(claimed) = claim(&store).await {
                tokio::time::sleep(Duration::from_millis(1)).await;
                store.commit_turn(&turn(&claimed)).await.unwrap();
                answered.push(claimed);
            }
            answered
        })
    });
    let mut answered = Vec::new();
    for worker in workers.collect::<Vec<_>>() {
        answered.extend(worker.await.unwrap());
    }
    let messages: usize = answered.iter().map(|claimed| claimed.messages.len()).sum();
    assert_eq!(messages, 60);
    for claimed in &answered {
        let customer: Vec<String> = thread_messages(store, claimed).await;
        let numbers: Vec<u32> = customer
            .iter()
            .filter_map(|text| {
                text.strip_prefix(r#"{"text":"m"#)?.strip_suffix("\"}")?.parse().ok()
            })
            .collect();
        assert!(numbers.is_sorted(), "{numbers:?}");
        assert_eq!(numbers.len(), 10);
    }
}
