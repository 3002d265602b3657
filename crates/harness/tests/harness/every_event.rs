//! Every event of the contract, as harnesses emit it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ostler_domain::tool::ToolCategory;
use ostler_engine::model::Model;
use ostler_engine::turn::Models;
use ostler_harness::{
    Harness, HarnessAgent, HarnessMode, HarnessOMConfig, HarnessSubagent, ModelScope, NoState,
    Subscription, WorkspaceSource,
};
use ostler_workspace::sandbox::{HelperProgram, SandboxOptions};
use ostler_workspace::workspace::WorkspaceOptions;
use serde_json::{Value, json};

use crate::events::CONTRACT;
use crate::races::answer_all;
use crate::support::{Counter, memory, model, to_json};

const SCRIPT: &str = r#"
rules:
  - when: { agent: You explore }
    answer: explored
  - when: { user: ask }
    answer: [{ call: ask_user, with: { question: Well?, options: [a, b] } }, answered]
  - when: { user: propose }
    answer: [{ call: submit_plan, with: { title: Tidy, plan: Tidy up } }, planned]
  - when: { user: note }
    answer: [{ call: note }, noted]
  - when: { user: list }
    answer:
      - call: task_write
        with: { tasks: [{ content: Add tests, status: pending, activeForm: Adding tests }] }
      - listed
  - when: { user: delegate }
    answer: [{ call: subagent, with: { agentType: explore, task: look } }, delegated]
  - when: { user: broken }
    answer: { fail: 503 }
  - when: { user: slow }
    answer: { text: One two three, chunk: 3, pause: 20ms }
default: fine
"#;
const MEMORY_THRESHOLD: u64 = 1000;
/// How many messages a thread gets until its memory has done what a test waits for.
const MAX_MESSAGES: usize = 150;

fn take(events: &mut Subscription, found: &mut Vec<Value>) {
    found.extend(std::iter::from_fn(|| events.try_next()).map(|event| to_json(&event)));
}

fn source(root: &Path) -> WorkspaceSource {
    let sandbox = SandboxOptions::new(HelperProgram::this_program().unwrap());
    WorkspaceSource::Config(WorkspaceOptions::new(root, sandbox))
}

/// Uses everything but the memory.
async fn work(found: &mut Vec<Value>) {
    let folder = tempfile::tempdir().unwrap();
    let mode = |id: &str| HarnessMode::new(id, id, HarnessAgent::new(id, "You work."));
    let builder = Harness::<NoState>::builder("every", memory().await)
        .model(model(SCRIPT))
        .mode(mode("plan"))
        .mode(mode("build").default_mode())
        .tool(Counter::new("note", ToolCategory::Edit))
        .subagent(HarnessSubagent::new("explore", "Looks around", "You explore."))
        .workspace(source(folder.path()));
    let harness: Harness = builder.build().unwrap();
    let mut events = harness.subscribe();
    harness.init().await.unwrap();
    harness.create_thread(None).await.unwrap();
    let answers = answer_all(harness.clone(), harness.subscribe(), Arc::new(|_| {}), 1);
    let answers = tokio::spawn(answers);
    for text in ["ask", "note", "list", "delegate", "broken"] {
        harness.send_message(text).await.unwrap();
        take(&mut events, found);
    }
    harness.switch_mode("plan").await.unwrap();
    harness.send_message("propose").await.unwrap();
    harness.wait_until_idle().await;
    harness.start_message("slow").await.unwrap();
    harness.follow_up("more").await.unwrap();
    harness.wait_until_idle().await;
    harness.switch_model("another", ModelScope::Mode).await.unwrap();
    harness.set_state(json!({"colour": "red"})).await.unwrap();
    harness.create_thread(Some("Another")).await.unwrap();
    answers.abort();
    harness.close().await.unwrap();
    take(&mut events, found);
}

/// Opens a workspace that does not exist.
async fn fail_to_open(found: &mut Vec<Value>) {
    let builder = Harness::<NoState>::builder("nowhere", memory().await)
        .model(model(SCRIPT))
        .mode(HarnessMode::new("build", "Build", HarnessAgent::new("b", "You work.")))
        .workspace(source(Path::new("/nowhere/at/all")));
    let harness = builder.build().unwrap();
    let mut events = harness.subscribe();
    harness.init().await.unwrap();
    take(&mut events, found);
}

/// One observation for each call.
const OBSERVES: &str = r#"
rules:
  - when: { user: { regex: '"seq":(?<seq>\d+),"speaker":"user"' } }
    answer: '{"observations":[{"speaker":"user","kind":"assertion","text":"Says the same words again and again without any sense and without an end, as all have heard before and will hear once more, in a long line of words that stand here only to be many of them","first":{{ seq }},"last":{{ seq }}}]}'
"#;
/// Merges the first two observations.
const MERGES: &str = r#"
rules:
  - when: { user: { regex: '- #(?<one>\d+) (?s:.*?)- #(?<two>\d+) ' } }
    answer: '{"merge":[{"ids":[{{ one }},{{ two }}],"text":"Repeats words"}]}'
"#;
const NONSENSE: &str = "default: I would rather not say.";

struct MemoryModels([Arc<dyn Model>; 3]);

impl Models for MemoryModels {
    fn model(&self, name: Option<&str>) -> Option<Arc<dyn Model>> {
        let [agent, observer, reflector] = &self.0;
        Some(match name {
            Some("observer") => observer.clone(),
            Some("reflector") => reflector.clone(),
            _ => agent.clone(),
        })
    }
}

/// Sends messages of some lengths in tokens until an event comes.
async fn remember(
    [observer, reflector]: [&str; 2],
    tokens: &[usize],
    until: &str,
    found: &mut Vec<Value>,
) {
    let models = MemoryModels([model("default: fine"), model(observer), model(reflector)]);
    let builder = Harness::<NoState>::builder("memory", memory().await)
        .models(Arc::new(models))
        .mode(HarnessMode::new("build", "Build", HarnessAgent::new("b", "You work.")))
        .memory(HarnessOMConfig {
            default_observer_model_id: Some("observer".into()),
            default_reflector_model_id: Some("reflector".into()),
            default_observation_threshold: MEMORY_THRESHOLD,
            default_reflection_threshold: 200,
        });
    let harness = builder.build().unwrap();
    harness.init().await.unwrap();
    let mut events = harness.subscribe();
    for tokens in tokens.iter().copied().cycle().take(MAX_MESSAGES) {
        let text = format!("Words {}", "lorem ipsum ".repeat(tokens / 3));
        harness.send_message(text).await.unwrap();
        // The background has time, as it has between the messages of a person.
        tokio::time::sleep(Duration::from_millis(10)).await;
        take(&mut events, found);
        if found.iter().any(|event| event["type"] == until) {
            return;
        }
    }
    panic!("no {until} came");
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// M39, M18: each of the 35 events of the contract is emitted by a harness, with exactly its
/// keys, `type` and `ext`.
#[tokio::test]
async fn m18_m39_every_event_is_emitted_with_the_keys_of_the_contract() {
    let mut found = Vec::new();
    work(&mut found).await;
    fail_to_open(&mut found).await;
    let (short, long) = ([90].as_slice(), [3, 900, 250].as_slice());
    remember([OBSERVES, MERGES], short, "om_reflection_end", &mut found).await;
    remember([OBSERVES, MERGES], long, "om_observation_end", &mut found).await;
    remember([NONSENSE, NONSENSE], short, "om_buffering_failed", &mut found).await;
    remember([NONSENSE, NONSENSE], long, "om_observation_failed", &mut found).await;
    remember([OBSERVES, NONSENSE], short, "om_reflection_failed", &mut found).await;
    for (kind, contract) in CONTRACT {
        let events: Vec<&Value> = found.iter().filter(|event| event["type"] == kind).collect();
        assert!(!events.is_empty(), "no {kind} came");
        let may = contract.iter().map(|key| key.trim_end_matches('?')).chain(["type", "ext"]);
        let may: BTreeSet<&str> = may.collect();
        let must = contract.iter().copied().filter(|key| !key.ends_with('?'));
        let must: BTreeSet<&str> = must.chain(["type", "ext"]).collect();
        for event in events {
            let has = keys(event);
            assert!(has.is_subset(&may) && has.is_superset(&must), "{kind}: {event}");
        }
    }
    let first = |kind: &str| found.iter().find(|event| event["type"] == kind).unwrap();
    let usage = ["completionTokens", "promptTokens", "totalTokens"];
    assert_eq!(keys(&first("usage_update")["usage"]), usage.into());
    let task = json!({"content": "Add tests", "status": "pending", "activeForm": "Adding tests"});
    assert_eq!(first("task_updated")["tasks"], json!([task]));
    assert_eq!(first("ask_question")["options"], json!(["a", "b"]));
    let reasons: BTreeSet<_> = found
        .iter()
        .filter(|event| event["type"] == "agent_end")
        .map(|event| event["reason"].as_str().unwrap())
        .collect();
    assert!(reasons.contains("complete") && reasons.contains("error"), "{reasons:?}");
}
