//! A thread of 2,000 messages, and the work per message.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::gate::GateRules;
use ostler_domain::id::AgentId;
use ostler_domain::memory::{MemorySettings, MessageOrigin};
use ostler_domain::scope::ToolScope;
use ostler_domain::session::errors::{ErrorPolicy, ErrorState};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{Audience, Reach, Risk, Trust};
use ostler_engine::driver::{Driver, TurnCommands, TurnContext, TurnProgress, UnstoredHost};
use ostler_engine::history::Item;
use ostler_engine::tokens;
use ostler_engine::tool::ToolSet;
use ostler_engine::turn::{KnownOutcomes, NewTurn, Turn, TurnEnd, TurnLimits, TurnRules};
use ostler_harness::memory::{RECALL, memory_message};
use ostler_testkit::TestDatabase;

use crate::support::{
    FunctionModel, ORG, THREAD, TestModels, TestThread, observe_facts, scripted, text, unlimited,
};

const TOPICS: [&str; 8] =
    ["weather", "trains", "music", "gardens", "cooking", "chess", "painting", "rivers"];

fn message(number: usize) -> String {
    match number {
        3 => "My sister Ottilie was born on 1987-04-12 in Trento.".into(),
        17 => "The licence key of the turbine is TRB-99881-X.".into(),
        _ => text(&format!("Let us talk about {} again.", TOPICS[number % 8]), 100),
    }
}

/// M15: over 2,000 messages the prompt stays within its bound, and facts of the beginning
/// are found with the recall tool.
#[tokio::test(flavor = "multi_thread")]
async fn m15_a_thread_of_2000_messages_has_a_bounded_prompt_and_a_memory() {
    for database in TestDatabase::both().await {
        let store = database.migrated().await;
        let observer = FunctionModel::new(observe_facts);
        let settings = MemorySettings::default();
        let bound = settings.message_limit() + settings.observation_limit() + 100;
        let mut thread = TestThread::open(&store, settings, observer.clone()).await;
        let mut messages = Vec::new();
        let mut largest = 0;
        for number in 1..=2000 {
            let item = Item::user(message(number));
            let stored =
                memory_message(number as i64, &item, MessageOrigin::Conversation, Trust::Trusted);
            thread.items.push(item);
            messages.push(stored);
            // Stored in batches, because this is no test of the database.
            if number % 20 == 0 {
                let batch = std::mem::take(&mut messages);
                store.org(ORG).append_memory_messages(THREAD, batch.clone()).await.unwrap();
                thread.memory.activate_if_ready();
                batch.iter().for_each(|message| thread.memory.on_message(message));
                let items = thread.prompt_items();
                largest = largest.max(items.iter().map(tokens::of_item).sum());
                thread.settle(1).await;
            }
        }
        assert!(largest <= bound, "{largest} tokens");
        assert!(thread.memory.status(0).windows.active.messages.tokens <= 36_000);
        assert!((15..60).contains(&observer.calls()), "{} calls", observer.calls());
        assert!(thread.prompt().tail_start > 1600, "{}", thread.prompt().tail_start);
        let answer = ask(&thread, "When was Ottilie born?").await;
        assert!(answer.contains("#3 user: My sister Ottilie was born on 1987-04-12"), "{answer}");
        let answer = ask(&thread, "licence key of the turbine").await;
        assert!(answer.contains("#17 user: The licence key of the turbine is TRB-99881-X."));
    }
}

/// Runs a turn in which the model calls the recall tool and repeats what it says.
async fn ask(thread: &TestThread, question: &str) -> String {
    let tool = thread.memory.recall_tool();
    let spec = tool.definition().spec.clone();
    assert_eq!((spec.risk, spec.reach, spec.name.clone()), (Risk::Read, Reach::Local, RECALL));
    let model = scripted(
        "rules:\n  - when: { user: { regex: '(?<query>.*)' } }\n    answer:\n      - { call: recall, with: { query: '{{ query }}' } }\n      - '{{ result }}'\n",
    );
    let models = TestModels { observer: model.clone(), reflector: model };
    let (scope, tools) = (ToolScope::unrestricted([spec]), Arc::new(ToolSet::new([tool]).unwrap()));
    let now = Timestamp::from_millis(0);
    let rules = TurnRules {
        scope: &scope,
        tools: &tools,
        require_approval_for: &BTreeSet::new(),
        authority: GateRules::Conversation(AutonomyLevel::Autonomous),
        errors: ErrorPolicy::default(),
        models: &models,
        now,
    };
    let context = TurnContext {
        org: ORG,
        agent: AgentId::from_u128(1),
        session: None,
        contact: None,
        audience: Audience::Staff,
        idempotency_prefix: "t".into(),
        timeout: Duration::from_secs(30),
    };
    let mut turn = Turn::new(NewTurn {
        system: "You remember.".into(),
        history: vec![Item::user(question)],
        approved: None,
        trust: Trust::Trusted,
        budget: unlimited(),
        errors: ErrorState::default(),
        limits: TurnLimits::default(),
        now,
    });
    let driver = Driver { context: &context, rules, host: &UnstoredHost(|| now) };
    let Ok(progress) =
        driver.drive(&mut turn, &KnownOutcomes::new(), &mut TurnCommands::none()).await;
    match progress {
        TurnProgress::Ended(TurnEnd::Answer { text, .. }) => text,
        other => panic!("{other:?}"),
    }
}

/// M15: the work per message does not grow with the length of the thread.
#[tokio::test(flavor = "multi_thread")]
async fn m15_the_work_per_message_does_not_grow() {
    let store = TestDatabase::sqlite_memory().migrated().await;
    // Far below the threshold, so that nothing else runs.
    let settings = MemorySettings { observation_threshold: 10_000_000, ..Default::default() };
    let observer = FunctionModel::new(|_| None);
    let thread = TestThread::open(&store, settings, observer.clone()).await;
    let mut next = 0;
    let mut add = |count: i64| {
        let started = Instant::now();
        for _ in 0..count {
            next += 1;
            let item = Item::user("a short message");
            let message = memory_message(next, &item, MessageOrigin::Conversation, Trust::Trusted);
            thread.memory.on_message(&message);
            thread.memory.activate_if_ready();
            assert!(thread.memory.prompt().tail_start <= next);
        }
        started.elapsed()
    };
    let early = (0..5).map(|_| add(10_000)).min().unwrap();
    add(300_000);
    let late = (0..5).map(|_| add(10_000)).min().unwrap();
    assert!(late <= 3 * early, "{early:?} for 10,000 messages, {late:?} after 350,000");
    assert_eq!(observer.calls(), 0);
}
