//! Threads of interactive harnesses.

use std::time::Duration;

use ostler_domain::id::{BlobId, OrgId, RunId, ThreadId};
use ostler_store::{
    JournalEntry, JournalKind, NewSubagentRun, NewThread, Store, StoreError, ThreadClaim,
    ThreadCommit, ThreadCopy, ThreadEvents, ThreadFile, ThreadLease,
};

use crate::on_every_backend;

const ORG: OrgId = OrgId::from_u128(7);
const OTHER: OrgId = OrgId::from_u128(8);
const THREAD: ThreadId = ThreadId::from_u128(1);
const TURN: RunId = RunId::from_u128(1);
const SUBAGENT: RunId = RunId::from_u128(2);
const TTL: Duration = Duration::from_secs(60);

fn new_thread(id: ThreadId, copy: Option<ThreadCopy>) -> NewThread {
    let title = Some("Pears".to_owned());
    NewThread { id, resource: "anna".into(), title, metadata: "{}".into(), copy }
}

async fn claim(store: &Store, holder: &str) -> Option<(ThreadLease, Vec<JournalEntry>)> {
    match store.org(ORG).claim_thread(THREAD, holder, TTL).await.unwrap() {
        ThreadClaim::Claimed { lease, journal, .. } => Some((lease, journal)),
        ThreadClaim::Held { .. } => None,
    }
}

fn entry(kind: JournalKind, data: &str) -> JournalEntry {
    JournalEntry { turn: TURN, kind, data: data.into() }
}

fn subagent_run() -> NewSubagentRun {
    let (path, agent_type) = ("[\"call\"]".into(), "explore".into());
    NewSubagentRun { run: SUBAGENT, path, agent_type, messages: "[1]".into() }
}

on_every_backend!(z01_one_process_at_a_time_works_on_a_thread);
/// Z01: a thread has one holder, and a holder that lost it cannot commit.
async fn z01_one_process_at_a_time_works_on_a_thread(store: &Store) {
    let org = store.org(ORG);
    org.create_thread(new_thread(THREAD, None)).await.unwrap();
    let (first, _) = claim(store, "first").await.unwrap();
    assert!(claim(store, "second").await.is_none());
    org.renew_thread(first, TTL).await.unwrap();
    org.release_thread(first).await.unwrap();
    let (second, _) = claim(store, "second").await.unwrap();
    let refused = org.commit_thread(first, ThreadCommit::new(TURN)).await;
    assert!(matches!(refused, Err(StoreError::StaleLease)), "{refused:?}");
    assert!(matches!(org.renew_thread(first, TTL).await, Err(StoreError::StaleLease)));
    org.release_thread(first).await.unwrap();
    assert!(claim(store, "third").await.is_none(), "the second still has it");
    org.commit_thread(second, ThreadCommit::new(TURN)).await.unwrap();
    assert!(second.token() > first.token());
}

on_every_backend!(z01_a_commit_stores_all_of_its_parts);
/// Z01, Z03: messages, journal, queue, metadata and events are stored together.
async fn z01_a_commit_stores_all_of_its_parts(store: &Store) {
    let org = store.org(ORG);
    org.create_thread(new_thread(THREAD, None)).await.unwrap();
    let (lease, _) = claim(store, "first").await.unwrap();
    let begin = ThreadCommit {
        messages: vec!["\"one\"".into(), "\"Two 100%\"".into()],
        first_seq: 1,
        journal: vec![entry(JournalKind::State, "s1")],
        follow_ups: Some("[1]".into()),
        metadata: Some("{\"a\":1}".into()),
        events: Some(ThreadEvents { last_id: 5, events: "[5]".into() }),
        ..ThreadCommit::new(TURN)
    };
    org.commit_thread(lease, begin).await.unwrap();
    for (kind, data) in [(JournalKind::Answer, "a1"), (JournalKind::Outcome, "o1")] {
        let change = ThreadCommit { journal: vec![entry(kind, data)], ..ThreadCommit::new(TURN) };
        org.commit_thread(lease, change).await.unwrap();
    }
    let state = entry(JournalKind::State, "s2");
    let change = ThreadCommit {
        journal: vec![state.clone()],
        events: Some(ThreadEvents { last_id: 9, events: "[6,9]".into() }),
        ..ThreadCommit::new(TURN)
    };
    org.commit_thread(lease, change).await.unwrap();
    // A new state replaces the old one and its outcomes, never an answer.
    let (lease, journal) = claim(store, "first").await.unwrap();
    assert_eq!(journal, [entry(JournalKind::Answer, "a1"), state]);
    let thread = org.thread(THREAD).await.unwrap().unwrap();
    assert_eq!((thread.message_count, thread.metadata.as_str()), (2, "{\"a\":1}"));
    let messages = org.thread_messages(THREAD, 1, 10).await.unwrap();
    assert_eq!((messages.len(), messages[0].seq, messages[0].turn), (1, 2, TURN));
    let ids = |events: Vec<ThreadEvents>| events.iter().map(|one| one.last_id).collect::<Vec<_>>();
    assert_eq!(ids(org.thread_events(THREAD, 0, 10).await.unwrap()), [5, 9]);
    assert_eq!(ids(org.thread_events(THREAD, 5, 10).await.unwrap()), [9]);
    let end = ThreadCommit { ends_turn: true, ..ThreadCommit::new(TURN) };
    org.commit_thread(lease, end).await.unwrap();
    assert_eq!(claim(store, "first").await.unwrap().1, []);
}

on_every_backend!(m24_threads_are_listed_searched_copied_and_deleted);
/// M24: threads are found by resource and text, within their org.
async fn m24_threads_are_listed_searched_copied_and_deleted(store: &Store) {
    let org = store.org(ORG);
    org.create_thread(new_thread(THREAD, None)).await.unwrap();
    let (lease, _) = claim(store, "first").await.unwrap();
    let change = ThreadCommit {
        messages: vec!["\"one\"".into(), "\"Two 100%\"".into()],
        first_seq: 1,
        subagent_runs: vec![subagent_run()],
        ..ThreadCommit::new(TURN)
    };
    org.commit_thread(lease, change).await.unwrap();
    let (stored, messages) = org.subagent_run(SUBAGENT).await.unwrap().unwrap();
    assert_eq!((stored.thread, stored.turn, messages.as_str()), (THREAD, TURN, "[1]"));
    assert_eq!(org.subagent_runs(THREAD, 10).await.unwrap(), [stored]);
    let copy = ThreadId::from_u128(2);
    let up_to = Some(ThreadCopy { from: THREAD, up_to: Some(1) });
    org.create_thread(new_thread(copy, up_to)).await.unwrap();
    let copied = org.thread(copy).await.unwrap().unwrap();
    assert_eq!((copied.message_count, copied.parent), (1, Some(THREAD)));
    let missing = Some(ThreadCopy { from: ThreadId::from_u128(99), up_to: None });
    let refused = org.create_thread(new_thread(ThreadId::from_u128(3), missing)).await;
    assert!(matches!(refused, Err(StoreError::NotFound(_))));
    assert_eq!(org.threads("anna", None, 10).await.unwrap().len(), 2);
    assert!(org.threads("ben", None, 10).await.unwrap().is_empty());
    assert_eq!(org.search_threads("anna", "two 100%", None, 10).await.unwrap().len(), 1);
    assert_eq!(org.search_threads("anna", "PEARS", None, 10).await.unwrap().len(), 2);
    assert!(org.search_threads("anna", "100_", None, 10).await.unwrap().is_empty());
    // Another org finds nothing.
    let other = store.org(OTHER);
    assert!(other.thread(THREAD).await.unwrap().is_none());
    assert!(other.thread_messages(THREAD, 0, 10).await.unwrap().is_empty());
    assert!(other.claim_thread(THREAD, "x", TTL).await.is_err());
    assert!(other.subagent_run(SUBAGENT).await.unwrap().is_none());
    org.delete_thread(lease).await.unwrap();
    assert!(org.thread(THREAD).await.unwrap().is_none());
    assert!(org.subagent_run(SUBAGENT).await.unwrap().is_none());
    assert!(org.thread_messages(THREAD, 0, 10).await.unwrap().is_empty());
    assert_eq!(org.threads("anna", None, 10).await.unwrap().len(), 1);
}

on_every_backend!(m11_settings_of_a_resource_are_kept);
/// M11, M23: settings belong to an org and a resource.
async fn m11_settings_of_a_resource_are_kept(store: &Store) {
    let org = store.org(ORG);
    assert_eq!(org.harness_setting("anna", "state").await.unwrap(), None);
    org.set_harness_setting("anna", "state", "1".into()).await.unwrap();
    org.set_harness_setting("anna", "state", "2".into()).await.unwrap();
    assert_eq!(org.harness_setting("anna", "state").await.unwrap().as_deref(), Some("2"));
    let replaced = |known: Option<&str>, value: &str| {
        org.replace_harness_setting("anna", "state", known.map(Into::into), value.into())
    };
    assert!(!replaced(None, "3").await.unwrap());
    assert!(!replaced(Some("1"), "3").await.unwrap());
    assert!(replaced(Some("2"), "3").await.unwrap());
    assert_eq!(org.harness_setting("anna", "state").await.unwrap().as_deref(), Some("3"));
    assert_eq!(org.harness_setting("ben", "state").await.unwrap(), None);
    assert_eq!(store.org(OTHER).harness_setting("anna", "state").await.unwrap(), None);
}

on_every_backend!(z01_files_belong_to_their_thread);
/// Z01, S09: files are stored by the holder of a thread, taken over with the messages that
/// name them, and deleted with the thread.
async fn z01_files_belong_to_their_thread(store: &Store) {
    let org = store.org(ORG);
    org.create_thread(new_thread(THREAD, None)).await.unwrap();
    let (lease, _) = claim(store, "first").await.unwrap();
    let [named, unnamed] = [1, 2].map(BlobId::from_u128);
    let file = |id| ThreadFile { id, media: "{}".into(), bytes: vec![0, 1, 255] };
    org.add_thread_files(lease, vec![file(named), file(unnamed)]).await.unwrap();
    let message = format!("{{\"blob\":\"{named}\"}}");
    let commit = ThreadCommit { messages: vec![message], first_seq: 1, ..ThreadCommit::new(TURN) };
    org.commit_thread(lease, commit).await.unwrap();
    assert_eq!(org.thread_file(THREAD, named).await.unwrap(), Some(file(named)));
    assert_eq!(store.org(OTHER).thread_file(THREAD, named).await.unwrap(), None);

    let copy = ThreadId::from_u128(2);
    let of = ThreadCopy { from: THREAD, up_to: None };
    org.create_thread(new_thread(copy, Some(of))).await.unwrap();
    org.delete_thread(lease).await.unwrap();
    let refused = org.add_thread_files(lease, vec![file(unnamed)]).await;
    assert!(matches!(refused, Err(StoreError::StaleLease)), "{refused:?}");
    assert_eq!(org.thread_file_count(THREAD).await.unwrap(), 0);
    assert_eq!(org.thread_file(copy, named).await.unwrap(), Some(file(named)));
    assert_eq!(org.thread_file(copy, unnamed).await.unwrap(), None);
}
