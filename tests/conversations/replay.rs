//! Replay: a stored run is run again with another model or policy, with recorded tool results
//! and without effects.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ostler_domain::money::Credits;
use ostler_domain::run_diff::CallChange;
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::tool::ToolName;
use ostler_engine::outcome::ToolOutcome;
use ostler_runtime::deps::Settings;
use ostler_runtime::operations::{Actor, OperationError, ReplayChange, RunReplay};
use ostler_store::Store;

use crate::support::{
    ModelCalls, ORG, RecordingModel, Scenario, catalogue_of, scripted, stub_tool,
};

const USUAL: &str = "
rules:
  - when: { user: products }
    answer: [{ call: list_products }, We have pizza.]
default: Hello there.
";

/// Asks for something else, which was not recorded.
const OTHER: &str = "
rules:
  - when: { user: products }
    answer: [{ call: list_products, with: { query: pasta } }, I do not know.]
default: Hello there.
";

struct Shop {
    scenario: Scenario,
    /// How often the tool was really called.
    calls: Arc<AtomicU32>,
}

impl Shop {
    async fn open() -> Self {
        let calls = Arc::new(AtomicU32::new(0));
        let counted = calls.clone();
        let tool = stub_tool("list_products", move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            ToolOutcome::ok("Pizza, 9 euros")
        });
        let named = |name: &str, script: &str| -> (String, Arc<dyn ostler_engine::model::Model>) {
            let calls = ModelCalls::default();
            (name.to_owned(), Arc::new(RecordingModel::new(name, scripted(script), calls)))
        };
        let (usual, other) = (named("scripted", USUAL), named("other", OTHER));
        let models = catalogue_of(vec![(&usual.0, usual.1.clone()), (&other.0, other.1.clone())]);
        let store: Store = ostler_testkit::TestDatabase::sqlite_memory().migrated().await;
        let scenario =
            Scenario::with_replaced_tools(store, models, Settings::default(), vec![tool]);
        Self { scenario: scenario.seed_lenient().await, calls }
    }

    async fn replay(&self, change: ReplayChange) -> RunReplay {
        let run = self.scenario.runs("rosa").await.pop().unwrap().id;
        let operations = self.scenario.operations();
        operations.as_actor(Actor::Terminal, ORG).replay_run(run, &change).await.unwrap()
    }

    fn calls(&self) -> u32 {
        self.calls.load(Ordering::SeqCst)
    }
}

fn kinds(replay: &RunReplay) -> Vec<&'static str> {
    let changes = replay.turns.iter().flat_map(|turn| &turn.diff.calls);
    changes
        .map(|change| match change {
            CallChange::Same { .. } => "same",
            CallChange::Decision { .. } => "decision",
            CallChange::Missing { .. } => "missing",
            CallChange::New { .. } => "new",
        })
        .collect()
}

/// Z07: with the same model and policy nothing changes: tools answer with what was recorded and
/// are not called, nothing is added to the conversation, and the model is charged.
#[tokio::test]
async fn z07_a_run_is_run_again_with_recorded_results_and_without_effects() {
    let shop = Shop::open().await;
    shop.scenario.say("rosa", "hello").await;
    shop.scenario.say("rosa", "which products").await;
    let (thread, runs) = (shop.scenario.thread("rosa").await, shop.scenario.runs("rosa").await);
    let before = shop.scenario.spent(ORG).await;
    assert_eq!(shop.calls(), 1);

    let replay = shop.replay(ReplayChange::default()).await;
    assert_eq!(kinds(&replay), ["same"]);
    let [turn] = replay.turns.as_slice() else { panic!("one turn") };
    assert!(turn.diff.is_same(), "{turn:?}");
    assert_eq!(turn.replayed.words, "We have pizza.");
    assert_eq!(turn.replayed.calls[0].outcome.as_deref(), Some("done"));
    assert_eq!(turn.replayed.credits, turn.recorded.credits);
    assert!(replay.plan.turns[0].prompt.contains("Gia"), "{}", replay.plan.turns[0].prompt);

    assert_eq!(shop.calls(), 1, "the tool was not called");
    assert_eq!(shop.scenario.thread("rosa").await, thread);
    assert_eq!(shop.scenario.runs("rosa").await, runs);
    assert!(shop.scenario.deliver().await.is_empty(), "nothing is sent");
    let charged = Credits::new(shop.scenario.spent(ORG).await - before);
    assert_eq!(charged, replay.charged);
    assert!(!replay.charged.is_zero() && !replay.plan.estimate.is_zero());
    let audit = shop.scenario.org().audit_entries(None, None, 9).await.unwrap();
    assert!(audit.iter().any(|one| one.entry.action == "replay_run"));
}

/// Z07: another policy is decided by the same gate, and the diff says what it changes.
#[tokio::test]
async fn z07_another_policy_shows_what_it_would_deny() {
    let shop = Shop::open().await;
    shop.scenario.say("rosa", "which products").await;
    let deny = [ToolName::from_static("list_products")].into();
    let policy = ToolPolicy { deny, ..ToolPolicy::default() };
    let replay = shop.replay(ReplayChange { policy: Some(policy), model: None }).await;
    assert_eq!(kinds(&replay), ["decision"]);
    let CallChange::Decision { recorded, replayed } = &replay.turns[0].diff.calls[0] else {
        panic!("another decision")
    };
    assert_eq!((&*recorded.decision, &*replayed.decision), ("allow", "deny"));
    assert_eq!(replay.turns[0].diff.left_after, Some(0));
    assert_eq!(shop.calls(), 1);
}

/// Z07: another model leaves the recorded path; a call that was not recorded is answered so.
#[tokio::test]
async fn z07_another_model_is_told_what_is_not_recorded() {
    let shop = Shop::open().await;
    shop.scenario.say("rosa", "which products").await;
    let change = ReplayChange { model: Some("other".into()), policy: None };
    let replay = shop.replay(change).await;
    assert_eq!(kinds(&replay), ["missing", "new"]);
    let [turn] = replay.turns.as_slice() else { panic!("one turn") };
    assert_eq!(turn.diff.left_after, Some(0));
    assert!(turn.diff.words_change);
    assert_eq!(turn.replayed.calls[0].outcome.as_deref(), Some("not recorded"));
    assert_eq!(turn.replayed.words, "I do not know.");
    assert_eq!(replay.plan.models, ["other"]);
    assert_eq!(shop.calls(), 1);
}

/// Z07: a run that answered no message cannot be run again, and viewers pay for nothing.
#[tokio::test]
async fn z07_a_run_without_an_answer_is_not_run_again() {
    let shop = Shop::open().await;
    shop.scenario.say("rosa", "hello").await;
    let session = shop.scenario.session("rosa").await.id;
    let operations = shop.scenario.operations();
    let terminal = operations.as_actor(Actor::Terminal, ORG);
    terminal.take_over(session).await.unwrap();
    let run = shop.scenario.runs("rosa").await.pop().unwrap().id;
    let refused = terminal.replay_run(run, &ReplayChange::default()).await.unwrap_err();
    assert!(matches!(refused, OperationError::NotReplayable { .. }), "{refused}");
    let missing = ReplayChange { model: Some("nowhere".into()), policy: None };
    let run = shop.scenario.runs("rosa").await.remove(0).id;
    let refused = terminal.replay_run(run, &missing).await.unwrap_err();
    assert!(matches!(refused, OperationError::NoModel), "{refused}");
}
