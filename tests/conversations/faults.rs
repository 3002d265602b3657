//! Faults at every step: whatever fails, an accepted message has one outcome.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::stream::BoxStream;
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::money::price::ModelPrice;
use ostler_engine::model::{Chunk, Model, ModelError, Request};
use ostler_engine::outcome::ToolOutcome;
use ostler_runtime::deps::Settings;
use ostler_store::{DeadLetterKind, DeadLetterId};
use ostler_testkit::TestDatabase;

use crate::support::{GIA, ORG, Scenario, catalogue_of, item_text, retry_at_once, scenario_in, scenario_with, scripted, stub_tool, text_of};


const WORK: &str = "
rules:
  - when: { user: book }
    answer:
      - { call: create_booking }
      - 'Booked.'
default: I see.
";

/// What is held is given back at once when nobody answers for it.
fn settings() -> Settings {
    Settings { reservation_ttl: Duration::from_millis(1), ..retry_at_once() }
}

async fn heard(scenario: &Scenario) -> Vec<String> {
    scenario.deliver().await.iter().map(text_of).collect()
}

/// Nothing is held, nothing is lost.
async fn books_balance(scenario: &Scenario) {
    tokio::time::sleep(Duration::from_millis(5)).await;
    scenario.store.sweep_reservations().await.unwrap();
    scenario.org().apply_settlements().await.unwrap();
    assert_eq!(scenario.store.check_ledger().await.unwrap().mismatches, []);
}

/// C19, Z04: a table that cannot be read or written, whichever it is, delays the
/// answer; when it is there again the customer is answered once.
#[tokio::test]
async fn c19_z04_a_fault_in_any_table_delays_one_answer() {
    let database = TestDatabase::sqlite_file();
    let ran = Arc::new(AtomicU32::new(0));
    let count = ran.clone();
    let tool = stub_tool("create_booking", move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        ToolOutcome::ok("done")
    });
    let (scenario, _) = scenario_in(database.migrated().await, WORK, vec![tool], settings()).await;
    scenario.change_agent(GIA, |gia| gia.autonomy = AutonomyLevel::Autonomous).await;
    scenario.change_agent(GIA, |gia| gia.limits.max_messages_per_day = 10_000).await;
    let tables = database
        .texts("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        .await;
    assert!(tables.len() > 20, "{tables:?}");
    for table in tables {
        let who = format!("rosa-{table}");
        scenario.write(&who, "book a table").await;
        database.execute(&format!("ALTER TABLE {table} RENAME TO lost")).await;
        for _ in 0..2 {
            // It may fail to claim, fail to answer, or not need this table.
            let _ = scenario.worker.answer_next().await;
        }
        database.execute(&format!("ALTER TABLE lost RENAME TO {table}")).await;
        scenario.work().await;
        assert_eq!(heard(&scenario).await, ["Booked."], "{table}");
        assert_eq!(scenario.runs(&who).await.len(), 1, "{table}");
        assert_eq!(scenario.thread(&who).await.len(), 2, "{table}");
    }
    books_balance(&scenario).await;
}

/// C19, Z04: each write of a turn's commit fails in turn: nothing of the turn is
/// left, and later it is answered once.
#[tokio::test]
async fn c19_z04_a_commit_that_fails_leaves_nothing() {
    let database = TestDatabase::sqlite_file();
    let (scenario, _) = scenario_in(database.migrated().await, WORK, Vec::new(), settings()).await;
    for (n, table) in ["messages", "runs", "outbox", "sessions", "events"].into_iter().enumerate() {
        let who = format!("rosa-{table}");
        scenario.write(&who, "hello").await;
        database
            .execute(&format!(
                "CREATE TRIGGER fault BEFORE INSERT ON {table}
             BEGIN SELECT RAISE(ABORT, 'a fault'); END"
            ))
            .await;
        assert!(scenario.worker.answer_next().await.unwrap());
        assert!(scenario.worker.answer_next().await.unwrap());
        assert_eq!(scenario.sessions().await.len(), n, "{table}");
        database.execute("DROP TRIGGER fault").await;
        assert!(heard(&scenario).await.is_empty(), "{table}");
        scenario.work().await;
        assert_eq!(heard(&scenario).await, ["I see."], "{table}");
    }
    books_balance(&scenario).await;
}

/// C19, Z04: what fails for good becomes a dead letter that people see, and does
/// not hold up others.
#[tokio::test]
async fn c19_z04_what_fails_for_good_is_a_dead_letter() {
    let database = TestDatabase::sqlite_file();
    let (scenario, _) = scenario_in(database.migrated().await, WORK, Vec::new(), settings()).await;
    scenario.write("rosa", "hello").await;
    database
        .execute(
            "CREATE TRIGGER fault BEFORE INSERT ON runs BEGIN SELECT RAISE(ABORT, 'a fault'); END",
        )
        .await;
    for _ in 0..10 {
        scenario.worker.answer_next().await.unwrap();
    }
    database.execute("DROP TRIGGER fault").await;
    assert!(heard(&scenario).await.is_empty());
    let letters = scenario.org().dead_letters(None, 10).await.unwrap();
    assert_eq!(letters.len(), 1);
    assert!(matches!(letters[0].id, DeadLetterId::Inbox(_)));
    assert_eq!((letters[0].kind, letters[0].attempts), (DeadLetterKind::Dead, 5));
    assert_eq!(scenario.say("otto", "hello").await, ["I see."]);
    // A person has it tried again.
    scenario.org().replay_dead_letter(letters[0].id).await.unwrap();
    scenario.work().await;
    assert_eq!(heard(&scenario).await, ["I see."]);
    books_balance(&scenario).await;
}

/// C19, Z04: however a model fails, the customer hears one thing.
#[tokio::test(start_paused = true)]
async fn c19_z04_however_a_model_fails_the_customer_is_answered() {
    let script = "
rules:
  - when: { user: { regex: 'status (?<n>\\d+)' } }
    answer: { fail: 500 }
  - when: { user: cut }
    answer: { text: Once upon a time, chunk: 4, fail: { how: cut, after: 2 } }
  - when: { user: malformed }
    answer: { fail: malformed }
  - when: { user: timeout }
    answer: { fail: timeout }
  - when: { user: network }
    answer: { fail: network }
  - when: { user: refused }
    answer: { fail: 401 }
  - when: { user: empty }
    answer: ''
  - when: { user: forever }
    answer: { text: late, delay: 500s }
default: I see.
";
    let (scenario, _) = scenario_with(script, Vec::new(), settings()).await;
    for fault in
        ["status 1", "cut", "malformed", "timeout", "network", "refused", "empty", "forever"]
    {
        let heard = scenario.say(fault, fault).await;
        assert_eq!(heard.len(), 1, "{fault}: {heard:?}");
        assert!(!heard[0].is_empty() && !heard[0].contains("Once"), "{fault}: {heard:?}");
        assert_eq!(scenario.runs(fault).await.len(), 1, "{fault}");
    }
    assert_eq!(scenario.org().dead_letters(None, 10).await.unwrap(), []);
}

/// C19: a tool that panics has failed, and the customer is answered.
#[tokio::test]
async fn c19_a_tool_that_panics_has_failed() {
    let tool = stub_tool("create_booking", |_| panic!("a fault"));
    let (scenario, _) = scenario_with(WORK, vec![tool], settings()).await;
    scenario.change_agent(GIA, |gia| gia.autonomy = AutonomyLevel::Autonomous).await;
    assert_eq!(scenario.say("rosa", "book").await, ["Booked."]);
    assert_eq!(scenario.session("rosa").await.errors.failures().values().sum::<u32>(), 1);
}

/// A model that breaks down when it reads of it.
struct Fragile(Arc<dyn Model>);

impl Model for Fragile {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let last = request.history.last().map(item_text).unwrap_or_default();
        assert!(!last.contains("break down"), "a fault");
        self.0.answer(request)
    }

    fn price(&self) -> ModelPrice {
        self.0.price()
    }
}

/// C19, Z04: what breaks down breaks its own message and nobody else's.
#[tokio::test]
async fn c19_z04_what_breaks_down_ends_as_a_dead_letter() {
    let store = TestDatabase::sqlite_memory().migrated().await;
    let models = catalogue_of(vec![("scripted", Arc::new(Fragile(scripted(WORK))))]);
    let scenario = Scenario::with_models(store, models, settings()).seed_lenient().await;
    scenario.write("rosa", "please break down").await;
    for _ in 0..10 {
        scenario.worker.answer_next().await.unwrap();
    }
    assert_eq!(scenario.say("otto", "hello").await, ["I see."]);
    assert_eq!(scenario.org().dead_letters(None, 10).await.unwrap().len(), 1);
    assert_eq!(scenario.spent(ORG).await, 1, "only what was answered");
    books_balance(&scenario).await;
}

/// Z04: the same message many times is answered once.
#[tokio::test(flavor = "multi_thread")]
async fn z04_a_repeat_is_answered_once() {
    let (scenario, _) = scenario_with(WORK, Vec::new(), settings()).await;
    for _ in 0..20 {
        scenario.write_with_id("rosa", "hello", "the-same").await;
    }
    scenario.work().await;
    scenario.write_with_id("rosa", "hello", "the-same").await;
    scenario.work().await;
    assert_eq!(heard(&scenario).await, ["I see."]);
}
