//! Retention: old finished data is pruned, nothing else.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use ostler_domain::id::{BlobId, CallId, OrgId, RecordId, RunId, SessionId, ThreadId};
use ostler_domain::memory::MessageOrigin;
use ostler_domain::memory::observation::Speaker;
use ostler_domain::org::Org;
use ostler_domain::tool::Trust;
use ostler_store::{
    Author, CallOutcome, Checkpoint, ClaimedConversation, DeadLetterId, JournalEntry, JournalKind,
    MemoryMessage, NewBlob, NewInboxEntry, NewMessage, NewSubagentRun, NewThread, OutboxDelivery,
    PruneMode, PruneOptions, PruneReport, RetrySafety, Store, StoredIntent, ThreadClaim,
    ThreadCommit, ThreadEvents, ThreadLease, TurnCommit,
};
use ostler_testkit::claim_send;

use crate::support::{
    TestDatabase, accept, claim, message, next, org, thread_messages, turn, with_org,
};

const DELETE: PruneOptions = PruneOptions { batch_size: 3, mode: PruneMode::Delete };
const COUNT: PruneOptions = PruneOptions { batch_size: 3, mode: PruneMode::Count };
const SENDING: Duration = Duration::from_secs(30);
/// Makes every row with a timestamp decades old.
const LONG_AGO: &str = "UPDATE inbox SET received_at = 1000, due_at = 1000;
    UPDATE outbox SET due_at = 1000;
    UPDATE journal SET intended_at = 1000, settled_at = 1000;
    UPDATE events SET at = 1000;
    UPDATE sessions SET closed_at = 1000 WHERE closed_at > 0;";

async fn org_with_retention(store: &Store, id: u128, days: Option<u32>) -> OrgId {
    let days = days.and_then(NonZeroU32::new);
    store.create_org(Org { retention_days: days, ..org(id) }).await.unwrap();
    OrgId::from_u128(id)
}

/// A new session with this many messages.
fn session(claimed: &ClaimedConversation, status: &str, messages: usize) -> TurnCommit {
    let number = next();
    let mut commit = turn(claimed);
    commit.session.id = SessionId::from_u128(number);
    commit.session.thread = ThreadId::from_u128(number);
    commit.session.status = status.into();
    commit.messages = (0..messages)
        .map(|n| NewMessage {
            id: ostler_domain::id::MessageId::from_u128(next()),
            data: n.to_string(),
        })
        .collect();
    commit
}

async fn claimed(store: &Store, org: OrgId, person: &str) -> ClaimedConversation {
    accept(store, org, person, &format!("{person}{}", next())).await;
    claim(store).await.unwrap()
}

async fn send(store: &Store, org: OrgId, end: OutboxDelivery) {
    let claimed = claim_send(store, SENDING).await.unwrap();
    store.org(org).record_delivery(&claimed, end).await.unwrap();
}

fn call() -> StoredIntent {
    let call = CallId::from_u128(next());
    let arguments = "{}".into();
    StoredIntent {
        call,
        tool: "t".into(),
        key: "k".into(),
        arguments,
        retry_safety: RetrySafety::Unsafe,
    }
}

async fn checkpoint(store: &Store, claimed: &ClaimedConversation, intents: &[StoredIntent]) {
    let state = Checkpoint { run: RunId::from_u128(next()), version: 1, state: "{}".into() };
    store.checkpoint_turn(claimed.lease, state, intents.to_vec(), SENDING).await.unwrap();
}

/// Row counts by table.
async fn rows(backend: &TestDatabase) -> BTreeMap<&'static str, i64> {
    const TABLES: [&str; 7] =
        ["inbox", "outbox", "journal", "sessions", "messages", "runs", "events"];
    let mut all = BTreeMap::new();
    for table in TABLES {
        all.insert(table, backend.count(table).await);
    }
    all
}

/// Creates one of everything, finished and open.
async fn fill_tables(store: &Store, org: OrgId) {
    // Finished: a closed session, its reply sent, its call done.
    let rosa = claimed(store, org, "rosa").await;
    let done = call();
    checkpoint(store, &rosa, std::slice::from_ref(&done)).await;
    store.record_outcome(rosa.lease, done.call, CallOutcome::Known("1".into())).await.unwrap();
    store.commit_turn(&session(&rosa, "closed", 10)).await.unwrap();
    send(store, org, OutboxDelivery::Sent).await;
    // Finished, but the outcome of its call is unknown: only its inbox and outbox
    // rows are pruned.
    let ida = claimed(store, org, "ida").await;
    checkpoint(store, &ida, &[call()]).await;
    store.commit_turn(&session(&ida, "closed", 2)).await.unwrap();
    send(store, org, OutboxDelivery::Sent).await;
    // Open: an active session and a reply with an unknown outcome.
    let otto = claimed(store, org, "otto").await;
    store.commit_turn(&session(&otto, "active", 2)).await.unwrap();
    send(store, org, OutboxDelivery::Unknown("?".into())).await;
    let gus = claimed(store, org, "gus").await;
    store.commit_turn(&session(&gus, "handed_off", 2)).await.unwrap();
    // Open: a pending reply, a pending message, a dead letter, and an unfinished
    // turn with a recorded outcome.
    let eva = claimed(store, org, "eva").await;
    store.make_dead_letter(eva.lease, eva.messages[0].id, "no").await.unwrap();
    let begun = call();
    checkpoint(store, &eva, std::slice::from_ref(&begun)).await;
    store.record_outcome(eva.lease, begun.call, CallOutcome::Known("1".into())).await.unwrap();
    accept(store, org, "eva", "waits").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn old_finished_data_is_pruned_and_open_data_is_kept() {
    for backend in TestDatabase::both().await {
        let store = backend.migrated().await;
        let org = org_with_retention(&store, 1, Some(30)).await;
        fill_tables(&store, org).await;
        let before = rows(&backend).await;
        assert_eq!(store.prune(DELETE, |_| ()).await.unwrap().len(), 1);
        assert_eq!(rows(&backend).await, before, "nothing is old");
        backend.execute(LONG_AGO).await;
        // Transactions of other tests delay the readers of the log.
        let all = PruneReport {
            org,
            days: 30,
            inbox: 4,
            outbox: 2,
            calls: 1,
            sessions: 1,
            messages: 10,
            runs: 1,
            events: 4,
            workflows: 0,
            signals: 0,
            files: 0,
            records: 0,
            threads: 0,
        };
        let mut counted = store.prune(COUNT, |_| ()).await.unwrap();
        for _ in 0..3000 {
            if counted == [all] {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
            counted = store.prune(COUNT, |_| ()).await.unwrap();
        }
        assert_eq!(counted, [all]);
        assert_eq!(rows(&backend).await, before, "counting deletes nothing");
        let (mut rows_reported, mut largest) = (0, 0);
        let pruned = store
            .prune(DELETE, |progress| {
                rows_reported += progress.rows;
                largest = largest.max(progress.rows);
            })
            .await
            .unwrap();
        assert_eq!(pruned, [all]);
        assert_eq!((rows_reported, largest), (23, 3), "in small transactions");
        let after = rows(&backend).await;
        let left = [2, 2, 2, 3, 6, 3, 1];
        let names = ["inbox", "outbox", "journal", "sessions", "messages", "runs", "events"];
        assert_eq!(after, names.into_iter().zip(left).collect(), "of {before:?}");
        let again = store.prune(DELETE, |_| ()).await.unwrap();
        assert_eq!((again[0].inbox, again[0].events, again[0].sessions), (0, 0, 0));
        // Open work continues.
        assert_eq!(store.org(org).dead_letters(None, 10).await.unwrap().len(), 2);
        assert_eq!(store.org(org).unknown_outcomes(None, 10).await.unwrap().len(), 1);
        accept(&store, org, "rosa", "back again").await;
        let back = claim(&store).await.unwrap();
        store.commit_turn(&turn(&back)).await.unwrap();
        assert_eq!(thread_messages(&store, &back).await.len(), 2);
    }
}

/// A thread of a harness with a message, what the memory keeps of it, events and a subagent.
async fn thread(store: &Store, org: OrgId, number: u128) -> ThreadLease {
    let (id, turn) = (ThreadId::from_u128(number), RunId::from_u128(number));
    let new =
        NewThread { id, resource: "anna".into(), title: None, metadata: "{}".into(), copy: None };
    store.org(org).create_thread(new).await.unwrap();
    let claimed = store.org(org).claim_thread(id, "test", SENDING).await.unwrap();
    let ThreadClaim::Claimed { lease, .. } = claimed else { panic!("{claimed:?}") };
    let commit = ThreadCommit {
        messages: vec!["\"one\"".into()],
        first_seq: 1,
        events: Some(ThreadEvents { last_id: 1, events: "[1]".into() }),
        subagent_runs: vec![NewSubagentRun {
            run: turn,
            path: "[]".into(),
            agent_type: "explore".into(),
            messages: "[]".into(),
        }],
        memory: vec![MemoryMessage {
            seq: 1,
            speaker: Speaker::User,
            origin: MessageOrigin::Conversation,
            trust: Trust::Trusted,
            continues: false,
            tokens: 1,
            text: "pears".into(),
        }],
        ..ThreadCommit::new(turn)
    };
    store.org(org).commit_thread(lease, commit).await.unwrap();
    lease
}

/// Old threads go with all that belongs to them; those that are held, whose turn has not ended
/// or in whose queue messages wait, stay, and so do young ones and those of other orgs.
#[tokio::test(flavor = "multi_thread")]
async fn old_threads_are_pruned_with_their_memory_and_runs() {
    const TABLES: [&str; 5] = [
        "harness_threads",
        "harness_messages",
        "harness_events",
        "harness_subagent_runs",
        "memory_messages",
    ];
    for backend in TestDatabase::both().await {
        let store = backend.migrated().await;
        let org = org_with_retention(&store, 1, Some(30)).await;
        let keeps = with_org(&store, 2).await;
        for number in 1..=4 {
            let lease = thread(&store, org, number).await;
            store.org(org).release_thread(lease).await.unwrap();
        }
        let held = thread(&store, org, 5).await;
        let asked = thread(&store, org, 6).await;
        let state =
            JournalEntry { turn: RunId::from_u128(6), kind: JournalKind::State, data: "{}".into() };
        let parked =
            ThreadCommit { journal: vec![state], ..ThreadCommit::new(RunId::from_u128(6)) };
        store.org(org).commit_thread(asked, parked).await.unwrap();
        let queued = thread(&store, org, 7).await;
        let follow_ups = Some("[1]".to_owned());
        let waits = ThreadCommit { follow_ups, ..ThreadCommit::new(RunId::from_u128(7)) };
        store.org(org).commit_thread(queued, waits).await.unwrap();
        let other = thread(&store, keeps, 8).await;
        for lease in [asked, queued] {
            store.org(org).release_thread(lease).await.unwrap();
        }
        store.org(keeps).release_thread(other).await.unwrap();
        assert_eq!(store.prune(DELETE, |_| ()).await.unwrap()[0].threads, 0, "nothing is old");
        backend.execute("UPDATE harness_threads SET updated_at = 1000;").await;
        let young = thread(&store, org, 9).await;
        store.org(org).release_thread(young).await.unwrap();
        assert_eq!(store.prune(COUNT, |_| ()).await.unwrap()[0].threads, 4);
        let pruned = store.prune(DELETE, |_| ()).await.unwrap();
        assert_eq!((pruned[0].threads, pruned[0].total()), (4, 4));
        for table in TABLES {
            assert_eq!(backend.count(table).await, 5, "{table}");
        }
        let left = store.org(org).threads("anna", None, 10).await.unwrap();
        let mut left: Vec<u128> = left.iter().map(|thread| thread.id.as_u128()).collect();
        left.sort_unstable();
        assert_eq!(left, [5, 6, 7, 9]);
        store.org(org).renew_thread(held, SENDING).await.unwrap();
        assert_eq!(store.prune(DELETE, |_| ()).await.unwrap()[0].threads, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_org_without_retention_days_keeps_everything() {
    for backend in TestDatabase::both().await {
        let store = backend.migrated().await;
        let (keeps, other) =
            (with_org(&store, 1).await, org_with_retention(&store, 2, Some(1)).await);
        fill_tables(&store, keeps).await;
        backend.execute(LONG_AGO).await;
        let before = rows(&backend).await;
        let pruned = store.prune(DELETE, |_| ()).await.unwrap();
        let orgs: Vec<OrgId> = pruned.iter().map(|pruned| pruned.org).collect();
        assert_eq!(orgs, [other]);
        assert_eq!(rows(&backend).await, before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_used_by_another_session_is_kept() {
    for backend in TestDatabase::both().await {
        let store = backend.migrated().await;
        let org = org_with_retention(&store, 1, Some(1)).await;
        let first = session(&claimed(&store, org, "rosa").await, "closed", 4);
        let thread = first.session.thread;
        store.commit_turn(&first).await.unwrap();
        let mut second = session(&claimed(&store, org, "rosa").await, "active", 1);
        second.session.thread = thread;
        store.commit_turn(&second).await.unwrap();
        backend.execute(LONG_AGO).await;
        let pruned = store.prune(DELETE, |_| ()).await.unwrap();
        assert_eq!((pruned[0].sessions, pruned[0].messages), (1, 0));
        assert_eq!(store.org(org).last_messages(thread, 10).await.unwrap().len(), 5);
    }
}

/// A message answered in a session that closed long ago is younger than the
/// limit: it is kept when its run is pruned.
#[tokio::test(flavor = "multi_thread")]
async fn messages_answered_after_the_session_closed_are_kept_without_their_run() {
    for backend in TestDatabase::both().await {
        let store = backend.migrated().await;
        let org = org_with_retention(&store, 1, Some(1)).await;
        let turn = session(&claimed(&store, org, "rosa").await, "closed", 1);
        store.commit_turn(&turn).await.unwrap();
        assert_eq!(backend.count("inbox WHERE run IS NOT NULL").await, 1);
        backend.execute("UPDATE sessions SET closed_at = 1").await;
        let pruned = store.prune(DELETE, |_| ()).await.unwrap();
        assert_eq!((pruned[0].sessions, pruned[0].runs, pruned[0].inbox), (1, 1, 0));
        assert_eq!(backend.count("inbox WHERE state = 'done' AND run IS NULL").await, 1);
    }
}

/// The closing time of a session is stored, and cleared if it becomes active again.
#[tokio::test(flavor = "multi_thread")]
async fn the_closing_time_is_set_and_cleared_with_the_status() {
    for backend in TestDatabase::both().await {
        let store = backend.migrated().await;
        let org = org_with_retention(&store, 1, Some(1)).await;
        for (status, closed) in
            [("active", 0), ("closed_idle", 1), ("closed_idle", 1), ("active", 0)]
        {
            let claimed = claimed(&store, org, "rosa").await;
            let mut commit = turn(&claimed);
            commit.session.status = status.into();
            commit.outbox[0].author = Author::System;
            store.commit_turn(&commit).await.unwrap();
            let found = backend.count("sessions WHERE closed_at > 1600000000000").await;
            assert_eq!(found, closed, "{status}");
        }
    }
}

/// C19: a reply that could not be sent is kept until a person has decided about it.
#[tokio::test(flavor = "multi_thread")]
async fn c19_dead_letters_of_replies_are_pruned_once_abandoned() {
    for backend in TestDatabase::both().await {
        let store = backend.migrated().await;
        let org = org_with_retention(&store, 1, Some(1)).await;
        let claimed = claimed(&store, org, "rosa").await;
        store.commit_turn(&session(&claimed, "active", 1)).await.unwrap();
        let sending = claim_send(&store, SENDING).await.unwrap();
        let dead = OutboxDelivery::Dead("blocked".into());
        store.org(org).record_delivery(&sending, dead).await.unwrap();
        backend.execute(LONG_AGO).await;
        assert_eq!(store.prune(DELETE, |_| ()).await.unwrap()[0].outbox, 0);
        assert_eq!(backend.count("outbox").await, 1);
        store.org(org).abandon_dead_letter(DeadLetterId::Outbox(sending.id), "spam").await.unwrap();
        backend.execute(LONG_AGO).await;
        assert_eq!(store.prune(DELETE, |_| ()).await.unwrap()[0].outbox, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn abandoned_dead_letters_are_pruned() {
    for backend in TestDatabase::both().await {
        let store = backend.migrated().await;
        let org = org_with_retention(&store, 1, Some(1)).await;
        let claimed = claimed(&store, org, "rosa").await;
        let id = claimed.messages[0].id;
        store.make_dead_letter(claimed.lease, id, "no").await.unwrap();
        backend.execute(LONG_AGO).await;
        assert_eq!(store.prune(DELETE, |_| ()).await.unwrap()[0].inbox, 0);
        store.org(org).abandon_dead_letter(DeadLetterId::Inbox(id), "spam").await.unwrap();
        assert_eq!(store.prune(DELETE, |_| ()).await.unwrap()[0].inbox, 1);
    }
}

/// S09: retention covers the files of conversations: one that a remaining message, or a record,
/// refers to stays, as do files that no conversation brought.
#[tokio::test]
async fn s09_files_of_deleted_messages_are_pruned() {
    for backend in TestDatabase::both().await {
        let store = backend.migrated().await;
        let org = org_with_retention(&store, 1, Some(1)).await;
        let file = |id: u128| NewBlob {
            id: BlobId::from_u128(id),
            media_type: "image/png".parse().unwrap(),
            name: None,
            bytes: vec![1],
        };
        for (person, id) in [("rosa", 1), ("rosa", 2), ("otto", 3), ("anna", 4)] {
            let payload = format!(r#"{{"blob":"{}"}}"#, BlobId::from_u128(id));
            let message = NewInboxEntry { payload, ..message(org, person, &id.to_string()) };
            store.org(org).accept_with_files(message, vec![file(id)], 100).await.unwrap();
        }
        store.org(org).put_blob(file(5)).await.unwrap();
        let used = format!(r#"{{"image":{{"blob":"{}"}}}}"#, BlobId::from_u128(3));
        store.org(org).create_record("product", RecordId::from_u128(1), used).await.unwrap();
        let left = async || {
            let mut left = Vec::new();
            for id in 1..=5 {
                left.extend(store.org(org).blob(BlobId::from_u128(id)).await.is_ok().then_some(id));
            }
            left
        };
        let counted = store.prune(COUNT, |_| {}).await.unwrap();
        assert_eq!((counted[0].files, left().await), (0, vec![1, 2, 3, 4, 5]), "nothing is old");
        // Anna's message waits for its answer.
        backend
            .execute(
                "UPDATE blobs SET created_at = 1000; UPDATE inbox SET received_at = 1000;
                 UPDATE inbox SET state = 'done' WHERE provider_id <> '4'",
            )
            .await;
        let pruned = store.prune(DELETE, |_| {}).await.unwrap();
        assert_eq!((pruned[0].files, left().await), (2, vec![3, 4, 5]));
    }
}

/// S09: retention covers answers to forms; what the books need stays.
#[tokio::test]
async fn s09_old_answers_to_forms_are_pruned() {
    for backend in TestDatabase::both().await {
        let store = backend.migrated().await;
        let org = org_with_retention(&store, 1, Some(1)).await;
        for (number, kind) in
            ["form_response/a", "form_response/b", "form", "order"].iter().enumerate()
        {
            let id = RecordId::from_u128(number as u128);
            store.org(org).create_record(kind, id, "{}".into()).await.unwrap();
        }
        assert_eq!(store.prune(DELETE, |_| {}).await.unwrap()[0].records, 0, "nothing is old");
        backend.execute("UPDATE records SET updated_at = 1000").await;
        assert_eq!(store.prune(COUNT, |_| {}).await.unwrap()[0].records, 2);
        let one_by_one = PruneOptions { batch_size: 1, ..DELETE };
        assert_eq!(store.prune(one_by_one, |_| {}).await.unwrap()[0].records, 2);
        assert_eq!(backend.count("records WHERE kind IN ('form', 'order')").await, 2);
        assert_eq!(backend.count("records WHERE kind LIKE 'form_response/%'").await, 0);
    }
}
