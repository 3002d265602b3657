//! Faults at every step: an accepted message always has one outcome.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::stream::BoxStream;
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::money::price::ModelPrice;
use ostler_engine::model::{Chunk, Model, ModelError, Request};
use ostler_engine::outcome::ToolOutcome;
use ostler_runtime::deps::Settings;
use ostler_store::{DeadLetterId, DeadLetterKind};
use ostler_testkit::TestDatabase;

use crate::support::{
    GIA, ORG, Scenario, catalogue_of, item_text, retry_at_once, scenario_in, scenario_with,
    scripted, stub_tool, text_of,
};

const WORK: &str = "
rules:
  - when: { user: book }
    answer:
      - { call: create_booking }
      - 'Booked.'
default: I see.
";

/// Returns settings whose reservations expire at once.
fn settings() -> Settings {
    Settings { reservation_ttl: Duration::from_millis(1), ..retry_at_once() }
}

async fn answer_and_deliver(scenario: &Scenario) -> Vec<String> {
    scenario.deliver().await.iter().map(text_of).collect()
}

/// Asserts that the ledger is consistent and nothing is reserved.
async fn assert_ledger_balances(scenario: &Scenario) {
    tokio::time::sleep(Duration::from_millis(5)).await;
    scenario.store.sweep_reservations().await.unwrap();
    scenario.org().apply_settlements().await.unwrap();
    assert_eq!(scenario.store.check_ledger().await.unwrap().mismatches, []);
}

/// C19, Z04: any table that cannot be read or written delays the answer; once it is
/// repaired, the customer is answered once.
#[tokio::test]
async fn c19_z04_a_broken_table_delays_the_answer() {
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
            // Claiming or answering may fail, or not need this table.
            let _ = scenario.worker.answer_next().await;
        }
        database.execute(&format!("ALTER TABLE lost RENAME TO {table}")).await;
        scenario.work().await;
        assert_eq!(answer_and_deliver(&scenario).await, ["Booked."], "{table}");
        assert_eq!(scenario.runs(&who).await.len(), 1, "{table}");
        assert_eq!(scenario.thread(&who).await.len(), 2, "{table}");
    }
    assert_ledger_balances(&scenario).await;
}

/// C19, Z04: each write of a commit fails in turn; nothing of the turn is stored, and the
/// retry answers once.
#[tokio::test]
async fn c19_z04_a_failed_commit_leaves_nothing_and_is_retried() {
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
        assert!(answer_and_deliver(&scenario).await.is_empty(), "{table}");
        scenario.work().await;
        assert_eq!(answer_and_deliver(&scenario).await, ["I see."], "{table}");
    }
    assert_ledger_balances(&scenario).await;
}

/// C19, Z04: a permanent failure becomes a dead letter that operators see, and does not
/// block other conversations.
#[tokio::test]
async fn c19_z04_a_permanent_failure_is_a_dead_letter() {
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
    assert!(answer_and_deliver(&scenario).await.is_empty());
    let letters = scenario.org().dead_letters(None, 10).await.unwrap();
    assert_eq!(letters.len(), 1);
    assert!(matches!(letters[0].id, DeadLetterId::Inbox(_)));
    assert_eq!((letters[0].kind, letters[0].attempts), (DeadLetterKind::Dead, 5));
    assert_eq!(scenario.say("otto", "hello").await, ["I see."]);
    // An operator replays it.
    scenario.org().replay_dead_letter(letters[0].id).await.unwrap();
    scenario.work().await;
    assert_eq!(answer_and_deliver(&scenario).await, ["I see."]);
    assert_ledger_balances(&scenario).await;
}

/// C19, Z04: for every kind of model failure the customer gets one answer.
#[tokio::test(start_paused = true)]
async fn c19_z04_the_customer_gets_one_answer_for_every_model_failure() {
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
async fn c19_a_panicking_tool_is_a_failed_call() {
    let tool = stub_tool("create_booking", |_| panic!("a fault"));
    let (scenario, _) = scenario_with(WORK, vec![tool], settings()).await;
    scenario.change_agent(GIA, |gia| gia.autonomy = AutonomyLevel::Autonomous).await;
    assert_eq!(scenario.say("rosa", "book").await, ["Booked."]);
    assert_eq!(scenario.session("rosa").await.errors.failures().values().sum::<u32>(), 1);
}

/// A model that panics on certain messages.
struct PanickingModel(Arc<dyn Model>);

impl Model for PanickingModel {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let last = request.history.last().map(item_text).unwrap_or_default();
        assert!(!last.contains("break down"), "a fault");
        self.0.answer(request)
    }

    fn price(&self) -> ModelPrice {
        self.0.price()
    }
}

/// C19, Z04: a message whose turn panics becomes a dead letter and affects no other
/// message.
#[tokio::test]
async fn c19_z04_a_message_that_panics_the_worker_is_a_dead_letter() {
    let store = TestDatabase::sqlite_memory().migrated().await;
    let models = catalogue_of(vec![("scripted", Arc::new(PanickingModel(scripted(WORK))))]);
    let scenario = Scenario::with_models(store, models, settings()).seed_lenient().await;
    scenario.write("rosa", "please break down").await;
    for _ in 0..10 {
        scenario.worker.answer_next().await.unwrap();
    }
    assert_eq!(scenario.say("otto", "hello").await, ["I see."]);
    assert_eq!(scenario.org().dead_letters(None, 10).await.unwrap().len(), 1);
    assert_eq!(scenario.spent(ORG).await, 1, "only what was answered");
    assert_ledger_balances(&scenario).await;
}

/// Z04: a message that is accepted many times is answered once.
#[tokio::test(flavor = "multi_thread")]
async fn z04_a_duplicate_message_is_answered_once() {
    let (scenario, _) = scenario_with(WORK, Vec::new(), settings()).await;
    for _ in 0..20 {
        scenario.write_with_id("rosa", "hello", "the-same").await;
    }
    scenario.work().await;
    scenario.write_with_id("rosa", "hello", "the-same").await;
    scenario.work().await;
    assert_eq!(answer_and_deliver(&scenario).await, ["I see."]);
}
