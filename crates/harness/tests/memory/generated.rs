//! Recall@k of the search on a generated set: facts, updates, dates and preferences among
//! chatter.

use ostler_domain::memory::MessageOrigin;
use ostler_domain::tool::Trust;
use ostler_engine::history::Item;
use ostler_harness::memory::memory_message;
use ostler_testkit::{LongConversation, TestDatabase, long_conversation};

use crate::support::{FunctionModel, ORG, THREAD, TestThread, observe_facts, small};

/// M15, Z15: the search finds the message with the answer among the first five in at least 95
/// of 100 questions, the same on both databases.
#[tokio::test(flavor = "multi_thread")]
async fn m15_z15_recall_finds_generated_facts() {
    let mut results = Vec::new();
    for database in TestDatabase::both().await {
        let store = database.migrated().await;
        let LongConversation { messages, questions } = long_conversation(100);
        let thread = TestThread::open(&store, small(), FunctionModel::new(observe_facts)).await;
        let stored: Vec<_> = (1..)
            .zip(&messages)
            .map(|(seq, text)| {
                let item = Item::user(text.as_str());
                memory_message(seq, &item, MessageOrigin::Conversation, Trust::Trusted)
            })
            .collect();
        for batch in stored.chunks(100) {
            store.org(ORG).append_memory_messages(THREAD, batch.to_vec()).await.unwrap();
            batch.iter().for_each(|message| thread.memory.on_message(message));
        }
        let condensed = thread.prompt().tail_start;
        let (mut first, mut five, mut asked) = (0, 0, 0);
        for question in questions.iter().filter(|question| question.seq < condensed) {
            let found = thread.recall(&question.text).await;
            asked += 1;
            first += usize::from(found.first() == Some(&question.seq));
            five += usize::from(found.contains(&question.seq));
        }
        thread.settle(0).await;
        println!("recall@1 {first}, recall@5 {five} of {asked}");
        assert!(asked >= 90, "{asked}");
        assert!(five * 100 >= asked * 95, "recall@5: {five} of {asked}");
        assert!(first * 100 >= asked * 80, "recall@1: {first} of {asked}");
        results.push((first, five));
    }
    assert_eq!(results[0], results[1]);
}
