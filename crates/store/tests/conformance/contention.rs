//! Many workers on few conversations, some of which die or are late: every message is
//! answered once, in order.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ostler_domain::id::{ConversationId, InboxId, OrgId, ThreadId};
use ostler_store::{
    ClaimPolicy, ClaimedConversation, CommitOutcome, LeaseAction, ReleaseReason, Store, StoreError,
};

use crate::support::{POLICY, TestDatabase, message, next, turn, with_org};

const WORKERS: u64 = 100;
const CONVERSATIONS: usize = 20;
const MESSAGES: usize = 25;
/// A short lease, so that conversations of dead workers are free soon, and many attempts,
/// because every death counts as one.
const SHORT: ClaimPolicy = ClaimPolicy {
    lease: Duration::from_millis(150),
    max_per_org: 1000,
    max_attempts: 100_000,
    ..POLICY
};
/// The database of a worker in another process.
const URL: &str = "OSTLER_CONTENTION_CHILD_URL";

/// What the workers of one process share.
#[derive(Default)]
struct Shared {
    /// How often each conversation was claimed.
    claims: Mutex<BTreeMap<ConversationId, u64>>,
    /// Answered messages, once for each commit that answered them.
    answered: Mutex<Vec<InboxId>>,
    stale: AtomicU64,
    done: AtomicBool,
}

impl Shared {
    fn claims(&self, conversation: ConversationId) -> u64 {
        self.claims.lock().unwrap().get(&conversation).copied().unwrap_or(0)
    }
}

/// A deterministic random generator.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    async fn pause(&mut self, most_ms: u64) {
        tokio::time::sleep(Duration::from_millis(self.below(most_ms))).await;
    }
}

async fn work(store: &Store, shared: &Shared, seed: u64) {
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    while !shared.done.load(Ordering::Relaxed) {
        match store.claim_conversation(SHORT).await {
            Ok(Some(claimed)) => serve(store, shared, claimed, &mut chance).await,
            Ok(None) | Err(StoreError::Busy) => chance.pause(120).await,
            Err(error) => panic!("claiming: {error}"),
        }
    }
}

async fn serve(
    store: &Store,
    shared: &Shared,
    mut claimed: ClaimedConversation,
    chance: &mut Chance,
) {
    let conversation = claimed.lease.conversation();
    let own = {
        let mut claims = shared.claims.lock().unwrap();
        let count = claims.entry(conversation).or_default();
        *count += 1;
        *count
    };
    chance.pause(8).await;
    match chance.below(10) {
        // The worker dies.
        0 => return,
        // The worker is late: another one may hold the lease by now.
        1 => tokio::time::sleep(SHORT.lease).await,
        2 => return release(store, &claimed, ReleaseReason::Untried).await,
        3 => {
            let failed = ReleaseReason::Failed { retry_after: Duration::ZERO };
            return release(store, &claimed, failed).await;
        }
        _ => {}
    }
    let keep = chance.below(3) == 0;
    let then = if keep { LeaseAction::Keep } else { LeaseAction::Release };
    let overtaken = shared.claims(conversation) > own;
    let commit = ostler_store::TurnCommit { lease_action: then, ..turn(&claimed) };
    if !committed(store, shared, &claimed, commit, overtaken).await || !keep {
        return;
    }
    match store.claim_more_messages(claimed.lease, SHORT).await {
        Ok(more) if more.is_empty() => release(store, &claimed, ReleaseReason::Untried).await,
        Ok(more) => {
            claimed.messages = more;
            let overtaken = shared.claims(conversation) > own;
            committed(store, shared, &claimed, turn(&claimed), overtaken).await;
        }
        Err(StoreError::StaleLease | StoreError::Busy) => {}
        Err(error) => panic!("more messages: {error}"),
    }
}

async fn committed(
    store: &Store,
    shared: &Shared,
    claimed: &ClaimedConversation,
    commit: ostler_store::TurnCommit,
    overtaken: bool,
) -> bool {
    match store.commit_turn(&commit).await {
        Ok(CommitOutcome::Complete) => {
            assert!(!overtaken, "a commit of a lease that went to another");
            let ids = claimed.messages.iter().map(|message| message.id);
            shared.answered.lock().unwrap().extend(ids);
            let again = store.commit_turn(&commit).await;
            assert!(
                matches!(again, Ok(CommitOutcome::AlreadyCommitted) | Err(StoreError::Busy)),
                "{again:?}"
            );
            true
        }
        Err(StoreError::StaleLease) => {
            shared.stale.fetch_add(1, Ordering::Relaxed);
            false
        }
        Err(StoreError::Busy) => false,
        other => panic!("a commit: {other:?}"),
    }
}

async fn release(store: &Store, claimed: &ClaimedConversation, why: ReleaseReason) {
    match store.release_lease(claimed.lease, why).await {
        Ok(()) | Err(StoreError::StaleLease | StoreError::Busy) => {}
        Err(error) => panic!("giving back: {error}"),
    }
}

/// A worker in another process; without the variable it does nothing.
#[tokio::test(flavor = "multi_thread")]
async fn child_that_works() {
    let Ok(url) = std::env::var(URL) else { return };
    let store = Store::open(&url).await.expect("the database opens");
    let shared = Arc::new(Shared::default());
    for seed in 0..3 {
        let (store, shared) = (store.clone(), shared.clone());
        let seed = u64::from(std::process::id()) + seed;
        tokio::spawn(async move { work(&store, &shared, seed).await });
    }
    let mut printed = 0;
    loop {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let answered = shared.answered.lock().unwrap().clone();
        for id in &answered[printed..] {
            println!("answered {id} .");
        }
        printed = answered.len();
    }
}

fn spawn_child(url: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "contention::child_that_works", "--nocapture"])
        .env(URL, url)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Kills a child and returns the messages that it has answered.
fn end_child(mut child: Child) -> Vec<InboxId> {
    child.kill().unwrap();
    let said = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let answered = said
        .filter_map(|line| {
            line.strip_prefix("answered ")?.strip_suffix(" .").and_then(|id| id.parse().ok())
        })
        .collect();
    child.wait().unwrap();
    answered
}

/// Accepts the messages of one person in order and returns their conversation.
async fn write(store: &Store, org: OrgId, person: &str) -> ConversationId {
    let mut place = None;
    for number in 0..MESSAGES {
        let sent = message(org, person, &format!("{person}-{number:03}"));
        place = place.or(Some(sent.new_conversation));
        loop {
            match store.org(org).accept_inbound(sent.clone(), 100_000).await {
                Ok(_) => break,
                Err(StoreError::Busy) => {}
                Err(error) => panic!("accepting: {error}"),
            }
        }
        tokio::time::sleep(Duration::from_millis(number as u64 % 4)).await;
    }
    place.expect("a conversation")
}

/// Returns the customer's messages of a conversation in order.
async fn customer_messages(store: &Store, org: OrgId, conversation: ConversationId) -> Vec<String> {
    let thread = ThreadId::from_u128(conversation.as_u128());
    let messages = store.org(org).last_messages(thread, 10_000).await.unwrap();
    let texts = messages.into_iter().map(|message| message.data);
    texts.filter(|text| !text.contains("reply")).collect()
}

async fn contend(store: &Store, children: Vec<Child>) {
    let org = store.orgs().await.unwrap()[0].id;
    let shared = Arc::new(Shared::default());
    let workers: Vec<_> = (0..WORKERS)
        .map(|seed| {
            let (store, shared) = (store.clone(), shared.clone());
            tokio::spawn(async move { work(&store, &shared, seed + 1).await })
        })
        .collect();
    let writers = (0..CONVERSATIONS).map(|number| {
        let store = store.clone();
        tokio::spawn(async move {
            let person = format!("person{number:02}");
            (write(&store, org, &person).await, person)
        })
    });
    let mut places = Vec::new();
    for writer in writers.collect::<Vec<_>>() {
        places.push(writer.await.unwrap());
    }
    let began = Instant::now();
    for (conversation, person) in &places {
        while customer_messages(store, org, *conversation).await.len() < MESSAGES {
            assert!(began.elapsed() < Duration::from_secs(90), "{person} waits");
            assert!(!workers.iter().any(tokio::task::JoinHandle::is_finished), "a worker failed");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    // Late workers still try to commit.
    tokio::time::sleep(SHORT.lease * 2).await;
    shared.done.store(true, Ordering::Relaxed);
    for worker in workers {
        worker.await.unwrap();
    }
    let mut answered = shared.answered.lock().unwrap().clone();
    answered.extend(children.into_iter().flat_map(end_child));
    let total = answered.len();
    let distinct: BTreeSet<InboxId> = answered.into_iter().collect();
    assert_eq!(distinct.len(), total, "no message was answered by two turns");
    assert_eq!(distinct.len(), CONVERSATIONS * MESSAGES, "each was answered");
    for (conversation, person) in places {
        let expected: Vec<String> =
            (0..MESSAGES).map(|number| format!("{{\"text\":\"{person}-{number:03}\"}}")).collect();
        assert_eq!(customer_messages(store, org, conversation).await, expected, "in order, once");
    }
    assert!(shared.stale.load(Ordering::Relaxed) > 0, "somebody was too late");
    assert!(store.claim_conversation(SHORT).await.unwrap().is_none(), "nothing is left");
}

async fn with_processes(backend: &TestDatabase) {
    let store = backend.migrated().await;
    with_org(&store, next()).await;
    contend(&store, (0..3).map(|_| spawn_child(&backend.url)).collect()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_message_is_answered_once_in_order_on_sqlite() {
    with_processes(&TestDatabase::sqlite_file()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_message_is_answered_once_in_order_on_postgres() {
    with_processes(&TestDatabase::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_message_is_answered_once_in_order_in_memory() {
    let store = TestDatabase::sqlite_memory().migrated().await;
    with_org(&store, next()).await;
    contend(&store, Vec::new()).await;
}
