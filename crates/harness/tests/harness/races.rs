//! Operations that come at the same time, in random orders.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ostler_domain::tool::ToolCategory;
use ostler_harness::{
    ApprovalResponse, Harness, HarnessAgent, HarnessMode, NoState, PlanResponse, Store,
    Subscription, open_storage,
};
use serde_json::json;

use crate::support::{Counter, check_turns, model, to_json};

/// How many interleavings are tried unless the variable below says otherwise.
const RUNS: u64 = 150;
const RUNS_VARIABLE: &str = "OSTLER_RACES";
const SCRIPT: &str = "rules:\n  - when: { user: ask }\n    answer:\n      - call: ask_user\n        with: { question: Well? }\n      - answered\n  - when: { user: note }\n    answer:\n      - call: note\n      - noted\n  - when: { user: { regex: 'plan( f[0-9]+)?$' } }\n    answer:\n      - call: submit_plan\n        with: { plan: Do it }\n      - planned\n  - when: { user: slow }\n    answer: { text: \"One two three\", chunk: 3, pause: 1ms }\ndefault: ok";
const WORDS: [&str; 5] = ["ask", "note", "plan", "slow", "plain"];

/// Small pseudo-random numbers, the same for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn build(store: &Store) -> Harness {
    let mode = |id: &str| HarnessMode::new(id, id, HarnessAgent::new(id, "You work."));
    Harness::<NoState>::builder("races", store.clone())
        .model(model(SCRIPT))
        .mode(mode("plan"))
        .mode(mode("build").default_mode())
        .tool(Counter::new("note", ToolCategory::Edit))
        .build()
        .unwrap()
}

/// What the operations of one run did.
#[derive(Default)]
struct Log {
    /// Follow-ups that were accepted, in order.
    queued: Vec<String>,
    steered: bool,
    answered: BTreeMap<String, u32>,
}

/// Answers questions as they come, sometimes twice.
async fn answer_all(harness: Harness, mut events: Subscription, log: Arc<Mutex<Log>>, seed: u64) {
    let mut random = Random(seed | 1);
    loop {
        let event = to_json(&*events.next().await);
        let id =
            ["toolCallId", "questionId", "planId"].into_iter().find_map(|key| event[key].as_str());
        let (Some(kind), Some(id)) = (event["type"].as_str(), id) else { continue };
        let turn = event["ext"]["turnId"].as_str().unwrap_or_default().to_owned();
        for _ in 0..=random.below(2) {
            let answered = match kind {
                "tool_approval_required" => {
                    harness.respond_to_tool_approval(id, ApprovalResponse::Approve).await
                }
                "ask_question" => harness.respond_to_question(id, "yes").await,
                "plan_approval_required" => {
                    harness.respond_to_plan_approval(id, PlanResponse::Approve).await
                }
                _ => break,
            };
            if answered.is_ok() {
                let mut log = log.lock().unwrap();
                *log.answered.entry(format!("{turn} {id}")).or_default() += 1;
            }
        }
    }
}

async fn run(store: &Store, seed: u64) {
    let harness = build(store);
    harness.create_thread(None).await.unwrap();
    let thread = harness.current_thread().await.unwrap().id;
    let mut events = harness.subscribe();
    let log = Arc::new(Mutex::new(Log::default()));
    let answering =
        tokio::spawn(answer_all(harness.clone(), harness.subscribe(), log.clone(), seed));
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut tasks = Vec::new();
    for at in 0..8 {
        let (harness, log) = (harness.clone(), log.clone());
        let (operation, wait) = (random.below(8), random.below(4));
        let word = WORDS[random.below(5) as usize];
        // Follow-ups are sent in order by one task at a time; all else is concurrent.
        if operation < 3 {
            let text = format!("{word} f{at:02}");
            if harness.follow_up(text.clone()).await.is_ok() {
                log.lock().unwrap().queued.push(text);
            }
            continue;
        }
        tasks.push(tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(wait)).await;
            match operation {
                3 => drop(harness.send_message(word).await),
                4 => {
                    log.lock().unwrap().steered = true;
                    drop(harness.steer(word).await);
                }
                5 => drop(harness.abort().await),
                6 => drop(harness.switch_mode(if wait % 2 == 0 { "plan" } else { "build" }).await),
                _ => drop(harness.rename_thread(word).await),
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    harness.wait_until_idle().await;
    answering.abort();
    check_turns(&mut events, &format!("seed {seed}"));
    let Log { queued, steered, answered } = std::mem::take(&mut *log.lock().unwrap());
    assert!(answered.values().all(|count| *count == 1), "seed {seed}: {answered:?}");
    let messages = json!(harness.messages(thread, 0, 1000).await.unwrap());
    let texts = messages.as_array().unwrap().iter().filter(|one| one["role"] == "user");
    let found: Vec<String> = texts
        .filter_map(|one| one["content"][0]["text"].as_str())
        .filter(|text| text.contains(" f"))
        .map(str::to_owned)
        .collect();
    let order: Vec<&String> = queued.iter().filter(|text| found.contains(text)).collect();
    assert_eq!(found.iter().collect::<Vec<_>>(), order, "seed {seed}");
    let unique: BTreeSet<&String> = found.iter().collect();
    assert_eq!(unique.len(), found.len(), "seed {seed}");
    if !steered {
        let waiting = harness.follow_up_count().await;
        // An approved plan puts one message of the harness in front.
        assert!(found.len() + waiting >= queued.len(), "seed {seed}: {found:?} {queued:?}");
    }
    harness.close().await.unwrap();
}

/// M30-M34: abort, steer, follow-ups, mode switches and answers at the same time: each turn
/// ends once, the queue keeps its order, no question is answered twice, nothing hangs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn m30_m31_m32_operations_at_the_same_time() {
    let runs = std::env::var(RUNS_VARIABLE).ok().and_then(|runs| runs.parse().ok()).unwrap_or(RUNS);
    let store = open_storage("sqlite::memory:").await.unwrap();
    for seed in 1..=runs {
        let finished = tokio::time::timeout(Duration::from_secs(30), run(&store, seed)).await;
        assert!(finished.is_ok(), "seed {seed} hangs");
    }
}
