//! Recall@k of the search on a generated set: facts, updates, dates and preferences among
//! chatter.

use ostler_domain::memory::MessageOrigin;
use ostler_domain::tool::Trust;
use ostler_engine::history::Item;
use ostler_harness::memory::memory_message;
use ostler_testkit::TestDatabase;

use crate::support::{FunctionModel, ORG, THREAD, TestThread, observe_facts, small};

/// A deterministic random number generator.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

const PEOPLE: [&str; 10] =
    ["Rosa", "Enzo", "Gia", "Marco", "Lena", "Otto", "Paula", "Viktor", "Nadia", "Jonas"];
const THINGS: [&str; 10] =
    ["bicycle", "boat", "house", "garden", "laptop", "camera", "piano", "bakery", "car", "library"];
const VALUES: [&str; 10] =
    ["green", "blue", "silver", "wooden", "round", "heavy", "fast", "old", "new", "broken"];
const CHATTER: [&str; 12] = [
    "what", "about", "we", "should", "talk", "again", "the", "weather", "is", "fine", "today",
    "maybe",
];

struct Question {
    text: String,
    /// The message with the answer.
    seq: i64,
}

/// Returns messages and the questions about them.
fn generate(numbers: &mut Numbers, count: usize) -> (Vec<String>, Vec<Question>) {
    let (mut messages, mut questions) = (Vec::new(), Vec::new());
    for number in 0..count {
        for _ in 0..12 {
            let words: Vec<&str> = (0..20).map(|_| numbers.one(&CHATTER)).collect();
            let (person, thing) = (numbers.one(&PEOPLE), numbers.one(&THINGS));
            // Every third chatter names a person or a thing, but not both.
            let name = [person, thing, ""][numbers.below(3)];
            messages.push(format!("{} {name} {}", words.join(" "), numbers.one(&CHATTER)));
        }
        let person = PEOPLE[number % 10];
        // Each pair of a person and a thing has two messages, of different kinds.
        let thing = THINGS[number / 10 % 5];
        let value = numbers.one(&VALUES);
        let day = format!("2026-{:02}-{:02}", 1 + numbers.below(12), 1 + numbers.below(28));
        let (text, question) = match (number + number / 50) % 4 {
            0 => (
                format!("The {thing} of {person} is {value}."),
                format!("How is the {thing} of {person}?"),
            ),
            1 => (
                format!("Now the {thing} of {person} costs {} EUR instead.", 100 + number),
                format!("What does the {thing} of {person} cost now?"),
            ),
            2 => (
                format!("{person} needs the {thing} on {day}."),
                format!("When does {person} need the {thing}?"),
            ),
            _ => (
                format!("{person} prefers a {value} {thing}."),
                format!("Which {thing} does {person} prefer?"),
            ),
        };
        messages.push(text);
        questions.push(Question { text: question, seq: messages.len() as i64 });
    }
    (messages, questions)
}

/// M15, Z15: the search finds the message with the answer among the first five in at least 95
/// of 100 questions, the same on both databases.
#[tokio::test(flavor = "multi_thread")]
async fn m15_z15_recall_finds_generated_facts() {
    let mut results = Vec::new();
    for database in TestDatabase::both().await {
        let store = database.migrated().await;
        let (messages, questions) = generate(&mut Numbers(0x2545_f491_4f6c_dd1d), 100);
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
