//! Operations that come at the same time, in random orders.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use ostler_domain::id::OrgId;
use ostler_domain::tool::ToolCategory;
use ostler_harness::{
    ApprovalResponse, AskEvent, EventKind, Harness, HarnessAgent, HarnessEvent, HarnessMode,
    NoState, PlanResponse, SessionEvent, Store, Subscription, TurnLifeEvent, open_storage,
};
use ostler_scripted::ScriptedModel;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::support::{Counter, check_turns, model, to_json};

/// How many interleavings are tried unless the variable `OSTLER_RACES` says otherwise.
const RUNS: u64 = 500;
/// How many are tried at the same time: they mostly wait.
const AT_ONCE: usize = 16;
/// How many have a database together, so that it stays small.
const RUNS_OF_A_DATABASE: u64 = 250;
const SCRIPT: &str = "rules:\n  - when: { user: ask }\n    answer:\n      - call: ask_user\n        with: { question: Well? }\n      - answered\n  - when: { user: note }\n    answer:\n      - call: note\n      - noted\n  - when: { user: { regex: 'plan( f[0-9]+)?$' } }\n    answer:\n      - call: submit_plan\n        with: { plan: Do it }\n      - planned\n  - when: { user: slow }\n    answer: { text: \"One two three\", chunk: 3, pause: 1ms }\ndefault: ok";
const WORDS: [&str; 5] = ["ask", "note", "plan", "slow", "plain"];

/// Returns the number that an environment variable says, or else a default.
pub(crate) fn number_of(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|number| number.parse().ok()).unwrap_or(default)
}

/// Small pseudo-random numbers, the same for the same seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

pub(crate) fn build(store: &Store, resource: &str) -> Harness {
    /// Reading the script takes longer than a turn.
    static MODEL: OnceLock<Arc<ScriptedModel>> = OnceLock::new();
    let mode = |id: &str| HarnessMode::new(id, id, HarnessAgent::new(id, "You work."));
    Harness::<NoState>::builder("races", store.clone())
        .resource_id(resource)
        .model(MODEL.get_or_init(|| model(SCRIPT)).clone())
        .mode(mode("plan"))
        .mode(mode("build").default_mode())
        .tool(Counter::new("note", ToolCategory::Edit))
        .lease(Duration::from_millis(40))
        .build()
        .unwrap()
}

/// Receives a line for each thing that was done: `queued TEXT`, `steered`, `answered ASK`.
pub(crate) type Log = Arc<dyn Fn(String) + Send + Sync>;

/// What the operations of one run did.
#[derive(Default)]
pub(crate) struct Facts {
    /// Follow-ups that were accepted, in order.
    queued: Vec<String>,
    steered: bool,
    answered: BTreeMap<String, u32>,
}

impl Facts {
    pub(crate) fn read<'l>(lines: impl IntoIterator<Item = &'l str>) -> Self {
        let mut facts = Self::default();
        for line in lines {
            match line.split_once(' ').unwrap_or((line, "")) {
                ("queued", text) => facts.queued.push(text.to_owned()),
                ("steered", _) => facts.steered = true,
                ("answered", ask) => *facts.answered.entry(ask.to_owned()).or_default() += 1,
                _ => {}
            }
        }
        facts
    }
}

/// Answers questions as they come, sometimes twice.
pub(crate) async fn answer_all(harness: Harness, mut events: Subscription, log: Log, seed: u64) {
    let mut random = Random(seed | 1);
    loop {
        let event = events.next().await;
        let EventKind::Ask(ask) = &event.kind else { continue };
        let turn = json!(event.ext.turn_id);
        for _ in 0..=random.below(2) {
            let (id, answered) = match ask {
                AskEvent::ToolApprovalRequired { tool_call_id: id, .. } => {
                    (id, harness.respond_to_tool_approval(id, ApprovalResponse::Approve).await)
                }
                AskEvent::AskQuestion { question_id: id, .. } => {
                    (id, harness.respond_to_question(id, "yes").await)
                }
                AskEvent::PlanApprovalRequired { plan_id: id, .. } => {
                    (id, harness.respond_to_plan_approval(id, PlanResponse::Approve).await)
                }
                AskEvent::AskClosed { .. } => break,
            };
            if answered.is_ok() {
                log(format!("answered {turn} {id}"));
            }
        }
    }
}

/// Does random things at the same time. Follow-ups are sent in order by one task; all else
/// is concurrent.
pub(crate) async fn operate(harness: &Harness, random: &mut Random, first: u64, log: &Log) {
    let mut tasks = Vec::new();
    for at in first..first + 8 {
        let (harness, log) = (harness.clone(), log.clone());
        let (operation, wait) = (random.below(9), random.below(4));
        let word = WORDS[random.below(5) as usize];
        if operation < 3 {
            let text = format!("{word} f{at:02}");
            if harness.follow_up(text.clone()).await.is_ok() {
                log(format!("queued {text}"));
            }
            continue;
        }
        tasks.push(tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(wait)).await;
            match operation {
                3 => drop(harness.send_message(word).await),
                4 => {
                    log("steered".into());
                    drop(harness.steer(word).await);
                }
                5 => drop(harness.abort().await),
                6 => drop(harness.switch_mode(if wait % 2 == 0 { "plan" } else { "build" }).await),
                7 => switch_thread(&harness).await,
                _ => drop(harness.rename_thread(word).await),
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

/// Changes to the thread that was not used for the longest time; makes a second one.
async fn switch_thread(harness: &Harness) {
    let threads = harness.list_threads().await.unwrap();
    match threads.last() {
        Some(oldest) if threads.len() > 1 => drop(harness.switch_thread(oldest.id).await),
        _ => drop(harness.create_thread(None).await),
    }
}

/// Continues everything that waits in any thread, until nothing does.
pub(crate) async fn settle(harness: &Harness) {
    harness.wait_until_idle().await;
    for thread in harness.list_threads().await.unwrap() {
        harness.switch_thread(thread.id).await.unwrap();
        while harness.resume().await.is_ok() {}
    }
}

/// Every accepted follow-up is answered once and in order, every question was answered once,
/// and the stored events have one end for each turn.
pub(crate) async fn check(store: &Store, harness: &Harness, facts: &Facts, case: &str) {
    let Facts { queued, steered, answered } = facts;
    assert!(answered.values().all(|count| *count == 1), "{case}: {answered:?}");
    let org = store.org(OrgId::from_u128(0));
    let mut all = BTreeSet::new();
    for thread in harness.list_threads().await.unwrap() {
        let messages = json!(harness.messages(thread.id, 0, 1000).await.unwrap());
        let texts = messages.as_array().unwrap().iter().filter(|one| one["role"] == "user");
        let found: Vec<String> = texts
            .filter_map(|one| one["content"][0]["text"].as_str())
            .filter(|text| text.contains(" f"))
            .map(str::to_owned)
            .collect();
        let known: Vec<&String> = found.iter().filter(|text| queued.contains(text)).collect();
        let order: Vec<&String> = queued.iter().filter(|text| found.contains(text)).collect();
        assert_eq!(known, order, "{case}");
        for text in found {
            assert!(all.insert(text.clone()), "{case}: {text} twice");
        }
        let mut ends: BTreeMap<String, u32> = BTreeMap::new();
        let mut last = 0;
        for row in org.thread_events(thread.id, 0, 10_000).await.unwrap() {
            for event in serde_json::from_str::<Vec<HarnessEvent>>(&row.events).unwrap() {
                let id = event.ext.id.unwrap();
                assert!(id > last, "{case}: event {id} after {last}");
                last = id;
                if let EventKind::Turn(TurnLifeEvent::AgentEnd { .. }) = event.kind {
                    *ends.entry(json!(event.ext.turn_id).to_string()).or_default() += 1;
                }
            }
        }
        assert!(ends.values().all(|count| *count == 1), "{case}: {ends:?}");
        for row in org.thread_messages(thread.id, 0, 1000).await.unwrap() {
            let turn = json!(row.turn).to_string();
            assert!(ends.contains_key(&turn), "{case}: {turn} has no end");
        }
    }
    if !steered {
        let missing: Vec<_> = queued.iter().filter(|text| !all.contains(*text)).collect();
        assert!(missing.is_empty(), "{case}: {missing:?} of {queued:?}");
    }
}

/// Reads events until the state changes. Returns the beginnings and ends of turns.
async fn collect(mut events: Subscription) -> Vec<Value> {
    let mut found = Vec::new();
    loop {
        let event = events.next().await;
        match event.kind {
            EventKind::Turn(_) => found.push(to_json(&event)),
            EventKind::Session(SessionEvent::StateChanged { .. }) => return found,
            _ => {}
        }
    }
}

async fn run(store: &Store, seed: u64) {
    let case = format!("seed {seed}");
    let harness = build(store, &case);
    let collecting = tokio::spawn(collect(harness.subscribe()));
    harness.create_thread(None).await.unwrap();
    let lines = Arc::new(Mutex::new(Vec::new()));
    let log: Log = {
        let lines = lines.clone();
        Arc::new(move |line| lines.lock().unwrap().push(line))
    };
    let answering = answer_all(harness.clone(), harness.subscribe(), log.clone(), seed);
    let answering = tokio::spawn(answering);
    operate(&harness, &mut Random::new(seed), 0, &log).await;
    settle(&harness).await;
    answering.abort();
    // The last event.
    harness.set_state(json!({"yolo": true})).await.unwrap();
    check_turns(collecting.await.unwrap(), &case);
    let lines = lines.lock().unwrap().join("\n");
    check(store, &harness, &Facts::read(lines.lines()), &case).await;
    harness.close().await.unwrap();
}

/// M30-M34: abort, steer, follow-ups, switches of mode and thread, and answers at the same
/// time: each turn ends once, the queue keeps its order, no question is answered twice,
/// nothing hangs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn m30_m31_m32_operations_at_the_same_time() {
    let mut store = open_storage("sqlite::memory:").await.unwrap();
    let mut running = JoinSet::new();
    for seed in 1..=number_of("OSTLER_RACES", RUNS) {
        if seed.is_multiple_of(RUNS_OF_A_DATABASE) {
            store = open_storage("sqlite::memory:").await.unwrap();
        }
        if running.len() == AT_ONCE {
            running.join_next().await.unwrap().unwrap();
        }
        let store = store.clone();
        running.spawn(async move {
            let finished = tokio::time::timeout(Duration::from_secs(60), run(&store, seed)).await;
            assert!(finished.is_ok(), "seed {seed} hangs");
        });
    }
    while let Some(done) = running.join_next().await {
        done.unwrap();
    }
}
