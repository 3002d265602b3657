//! A process is killed while it talks and observes: what was stored is there.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use ostler_domain::memory::MessageSpan;
use ostler_engine::history::Item;
use ostler_store::{MemoryMessage, ObservationState, Store};
use ostler_testkit::TestDatabase;

use crate::support::{FunctionModel, ORG, THREAD, TestThread, observe_facts, small, text};

/// The database of the child; without it the child test does nothing.
const URL: &str = "OSTLER_MEMORY_CHILD_URL";
/// How many messages children have said when they are killed.
const KILLS: [usize; 6] = [9, 14, 3, 23, 1, 17];

async fn stored_messages(store: &Store) -> Vec<MemoryMessage> {
    let all = MessageSpan { first: 1, last: i64::MAX };
    store.org(ORG).memory_messages(THREAD, all).await.unwrap()
}

async fn open(store: &Store) -> TestThread {
    let mut thread = TestThread::open(store, small(), FunctionModel::new(observe_facts)).await;
    let stored = stored_messages(store).await;
    thread.items = stored.iter().map(|message| Item::user(message.text.as_str())).collect();
    thread
}

/// The child: talks until it is killed, without waiting for the background.
#[tokio::test(flavor = "multi_thread")]
async fn child_that_is_killed() {
    let Ok(url) = std::env::var(URL) else { return };
    let store = Store::open(&url).await.expect("the database opens");
    let mut thread = open(&store).await;
    loop {
        let number = thread.items.len() + 1;
        thread.memory.activate_if_ready();
        thread.say(&text(&format!("fact{number} is said"), 90)).await;
        println!("said {number} .");
    }
}

/// Runs a child until it has said some messages, and kills it.
fn kill_a_child(database: &TestDatabase, messages: usize) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child_that_is_killed", "--nocapture"])
        .env(URL, &database.url)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let said = out.lines().map_while(Result::ok).filter(|line| line.starts_with("said"));
    assert_eq!(said.take(messages).count(), messages, "the child talks");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// M17, M19: after each kill the counts equal a recount, every fact is in the prompt or found
/// by a search, and the memory goes on.
#[tokio::test(flavor = "multi_thread")]
async fn m17_m19_a_killed_process_loses_nothing() {
    for database in TestDatabase::both().await {
        let store = database.migrated().await;
        drop(open(&store).await);
        for messages in KILLS {
            kill_a_child(&database, messages);
            let thread = open(&store).await;
            let stored = stored_messages(&store).await;
            let start = thread.prompt().tail_start;
            let tail = stored.iter().filter(|message| message.seq >= start);
            let tokens: u64 = tail.map(|message| message.tokens).sum();
            let status = thread.memory.status(0);
            assert_eq!(status.windows.active.messages.tokens, tokens);
            assert!(tokens <= small().message_limit());
            for message in stored.iter().filter(|message| message.seq < start) {
                let word = message.text.split(' ').next().unwrap();
                assert_eq!(thread.recall(word).await, [message.seq], "{word}");
            }
            thread.settle(600).await;
        }
        let mut thread = open(&store).await;
        for _ in 0..12 {
            thread.turn(&text("more chatter", 90)).await;
            thread.settle(60).await;
        }
        let all = store.org(ORG).observations(THREAD).await.unwrap();
        let active = all.iter().filter(|one| one.state == ObservationState::Active);
        let head = thread.prompt().head.unwrap();
        for one in active {
            assert!(head.contains(one.observation.text.as_str()), "{head}");
        }
        let mut ids: Vec<u64> = all.iter().map(|one| one.observation.id).collect();
        ids.dedup();
        assert_eq!(ids, (1..=all.len() as u64).collect::<Vec<_>>());
        // No message was observed twice.
        let mut spans: Vec<i64> = all.iter().map(|one| one.observation.span.first).collect();
        spans.sort_unstable();
        let count = spans.len();
        spans.dedup();
        assert_eq!(spans.len(), count);
    }
}
