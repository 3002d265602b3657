//! Observational memory: messages, observations, progress, recall.

use std::time::Duration;

use ostler_domain::id::{OrgId, RunId, ThreadId};
use ostler_domain::memory::observation::{ObservationKind, Speaker, TaskCompletion};
use ostler_domain::memory::window::MemoryProgress;
use ostler_domain::memory::{MemorySettings, MessageOrigin, MessageSpan, Observation};
use ostler_domain::money::Usd;
use ostler_domain::time::{Timestamp, UtcDay};
use ostler_domain::tool::Trust;
use ostler_store::{
    MemoryCall, MemoryCommit, MemoryMessage, MemoryPurpose, NewThread, ObservationState, Store,
    StoreError, StoredObservation, ThreadClaim, ThreadCommit,
};

use crate::on_every_backend;
use crate::support::{TestDatabase, with_org};

const THREAD: ThreadId = ThreadId::from_u128(7);

fn message(seq: i64, text: &str) -> MemoryMessage {
    MemoryMessage {
        seq,
        speaker: Speaker::User,
        origin: MessageOrigin::Conversation,
        trust: Trust::Trusted,
        continues: false,
        tokens: text.len() as u64 / 4,
        text: text.into(),
    }
}

fn observation(id: u64, state: ObservationState) -> StoredObservation {
    let observation = Observation {
        id,
        speaker: Speaker::Tool,
        kind: ObservationKind::Task,
        completion: Some(TaskCompletion::Completed),
        text: format!("sent INV-{id} 'quoted' 🙂"),
        span: MessageSpan { first: 1, last: 3 },
        valid_from: UtcDay::parse_iso("2026-11-18"),
        valid_until: None,
        supersedes: vec![1, 2],
        superseded_by: None,
        trust: Trust::Untrusted,
    };
    StoredObservation { observation, state, tokens: 12, generation: 0 }
}

fn call(task: u64) -> MemoryCall {
    MemoryCall {
        task,
        purpose: MemoryPurpose::Reflector,
        model: "small".into(),
        at: Timestamp::from_millis(5),
        input: 100,
        output: 20,
        cached: 3,
        written: 4,
        cost: Usd::from_micros(77),
    }
}

fn commit(revision: i64) -> MemoryCommit {
    MemoryCommit {
        thread: THREAD,
        revision,
        progress: MemoryProgress::default(),
        settings: None,
        status: "{\"type\":\"data-om-status\"}".into(),
        added: vec![],
        activated_to: 0,
        superseded: vec![],
        retired: vec![],
        calls: vec![],
    }
}

async fn recalled(store: &Store, org: OrgId, before: i64, question: &str) -> Vec<i64> {
    let found = store.org(org).recall_messages(THREAD, before, question, 5).await.unwrap();
    found.into_iter().map(|hit| hit.message.seq).collect()
}

on_every_backend!(
    /// M19: windows, counts, settings, observations and uncharged calls are restored.
    m19_the_memory_of_a_thread_is_restored
);
async fn m19_the_memory_of_a_thread_is_restored(store: &Store) {
    let org = with_org(store, 1).await;
    let org = store.org(org);
    let empty = org.thread_memory(THREAD).await.unwrap();
    assert_eq!((empty.revision, empty.next_observation, empty.tail.len()), (0, 1, 0));
    assert_eq!(org.thread_memory_status(THREAD).await.unwrap(), None);
    let messages: Vec<_> = (1..=4).map(|seq| message(seq, "some words")).collect();
    org.append_memory_messages(THREAD, messages.clone()).await.unwrap();
    org.append_memory_messages(THREAD, vec![message(4, "repeated")]).await.unwrap();
    let span = MessageSpan { first: 2, last: 4 };
    assert_eq!(org.memory_messages(THREAD, span).await.unwrap(), messages[1..]);

    let progress = MemoryProgress { condensed_to: 2, generation: 3, ..MemoryProgress::default() };
    let settings = MemorySettings { observer_model: Some("small".into()), ..Default::default() };
    let buffered: Vec<_> = (1..=3).map(|id| observation(id, ObservationState::Buffered)).collect();
    let added = MemoryCommit {
        progress: progress.clone(),
        settings: Some(settings.clone()),
        added: buffered.clone(),
        calls: vec![call(1)],
        ..commit(0)
    };
    assert_eq!(org.commit_memory(added).await.unwrap(), 1);
    let loaded = org.thread_memory(THREAD).await.unwrap();
    assert_eq!((loaded.revision, &loaded.progress, loaded.next_observation), (1, &progress, 4));
    assert_eq!((loaded.settings, loaded.observations), (Some(settings), buffered));
    assert_eq!(
        loaded.tail.iter().map(|one| (one.seq, one.tokens)).collect::<Vec<_>>(),
        [(3, 2), (4, 2)]
    );
    assert_eq!(loaded.uncharged, [call(1)]);
    let status = org.thread_memory_status(THREAD).await.unwrap();
    assert_eq!(status.as_deref(), Some("{\"type\":\"data-om-status\"}"));

    let active = MemoryCommit {
        activated_to: 2,
        superseded: vec![(1, 2)],
        calls: vec![call(2)],
        ..commit(1)
    };
    org.commit_memory(active).await.unwrap();
    org.commit_memory(MemoryCommit { retired: vec![2, 3], ..commit(2) }).await.unwrap();
    let states: Vec<_> = org.observations(THREAD).await.unwrap();
    let states: Vec<_> =
        states.iter().map(|one| (one.state, one.observation.superseded_by)).collect();
    use ObservationState as S;
    assert_eq!(states, [(S::Superseded, Some(2)), (S::Retired, None), (S::Buffered, None)]);
    assert_eq!(org.mark_memory_calls_charged(THREAD, 1).await.unwrap(), 1);
    assert_eq!(org.thread_memory(THREAD).await.unwrap().uncharged, [call(2)]);

    let (resource, metadata) = ("me".to_owned(), "{}".to_owned());
    let new = NewThread { id: THREAD, resource, title: None, metadata, copy: None };
    org.create_thread(new).await.unwrap();
    let claim = org.claim_thread(THREAD, "me", Duration::from_secs(30)).await.unwrap();
    let ThreadClaim::Claimed { lease, .. } = claim else { panic!("{claim:?}") };
    let memory = vec![message(5, "in the commit of the turn")];
    let change = ThreadCommit { memory, ..ThreadCommit::new(RunId::from_u128(1)) };
    org.commit_thread(lease, change).await.unwrap();
    assert_eq!(org.thread_memory(THREAD).await.unwrap().tail.last().map(|one| one.seq), Some(5));
    org.delete_thread(lease).await.unwrap();
    assert_eq!(org.thread_memory(THREAD).await.unwrap(), empty);
    assert!(org.recall_messages(THREAD, 9, "words", 5).await.unwrap().is_empty());
}

on_every_backend!(a_repeated_commit_of_a_memory_has_no_effect_and_a_stale_one_is_refused);
async fn a_repeated_commit_of_a_memory_has_no_effect_and_a_stale_one_is_refused(store: &Store) {
    let org = with_org(store, 1).await;
    let progress = MemoryProgress { tasks: 1, ..MemoryProgress::default() };
    let added = vec![observation(1, ObservationState::Active)];
    let first = MemoryCommit { progress, added, calls: vec![call(1)], ..commit(0) };
    // Repeated when it is unknown whether it was stored.
    for _ in 0..3 {
        assert_eq!(store.org(org).commit_memory(first.clone()).await.unwrap(), 1);
    }
    assert_eq!(store.org(org).observations(THREAD).await.unwrap().len(), 1);
    for stale in [0, 5] {
        let added = vec![observation(2, ObservationState::Active)];
        let refused = store.org(org).commit_memory(MemoryCommit { added, ..commit(stale) }).await;
        assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    }
    assert_eq!(store.org(org).observations(THREAD).await.unwrap().len(), 1);
}

on_every_backend!(
    /// M15, A05: messages that left the prompt are found by their words, within their org and
    /// thread; messages of the harness are not.
    m15_condensed_messages_are_recalled
);
async fn m15_condensed_messages_are_recalled(store: &Store) {
    let (org, other) = (with_org(store, 1).await, with_org(store, 2).await);
    let mut messages = vec![
        message(1, "My favourite colour is green."),
        message(2, "The invoice INV-42 is due on 2026-11-18."),
        MemoryMessage { origin: MessageOrigin::Harness, ..message(3, "Observe the invoice.") },
    ];
    messages.extend((4..=250).map(|seq| message(seq, &format!("chatter about topic {seq}"))));
    store.org(org).append_memory_messages(THREAD, messages.clone()).await.unwrap();
    store
        .org(other)
        .append_memory_messages(THREAD, vec![message(1, "INV-42 secret")])
        .await
        .unwrap();
    let elsewhere = ThreadId::from_u128(8);
    store.org(org).append_memory_messages(elsewhere, vec![message(1, "INV-42")]).await.unwrap();

    assert_eq!(recalled(store, org, 200, "Which colour do I like?").await, [1]);
    assert_eq!(recalled(store, org, 200, "invoice INV-42").await, [2, 42]);
    assert_eq!(recalled(store, org, 200, "observe").await, [0; 0]);
    assert_eq!(recalled(store, org, 200, "topic 150").await[0], 150);
    assert!(!recalled(store, org, 200, "topic 220").await.contains(&220), "still in the prompt");
    assert_eq!(recalled(store, org, 251, "topic 220").await[0], 220);
    assert_eq!(recalled(store, org, 1, "colour").await, [0; 0]);
    assert_eq!(recalled(store, other, 200, "colour").await, [0; 0]);
    assert_eq!(recalled(store, org, 200, "").await, [0; 0]);
    let hit = &store.org(org).recall_messages(THREAD, 200, "colour", 5).await.unwrap()[0];
    assert_eq!(
        (&hit.message, hit.excerpt.as_str()),
        (&messages[0], "My favourite colour is green.")
    );
    assert_eq!(store.org(org).index_memory_messages(THREAD, 250).await.unwrap(), 0);
}

/// Indexing in the background while a search indexes too leaves each word once.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_indexing_of_a_thread_adds_each_word_once() {
    for backend in TestDatabase::both().await {
        let store = backend.migrated().await;
        let org = with_org(&store, 1).await;
        let messages = (1..=300).map(|seq| message(seq, &format!("word{seq} common"))).collect();
        store.org(org).append_memory_messages(THREAD, messages).await.unwrap();
        let index = |_| {
            let store = store.clone();
            tokio::spawn(async move { store.org(org).index_memory_messages(THREAD, 300).await })
        };
        for task in (0..4).map(index).collect::<Vec<_>>() {
            task.await.unwrap().unwrap();
        }
        assert_eq!(backend.count("memory_words").await, 600);
    }
}
