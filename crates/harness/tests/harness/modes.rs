//! Modes and models.

use std::sync::Arc;

use ostler_engine::model::Model;
use ostler_engine::turn::Models;
use ostler_harness::{
    AvailableModel, ConfigError, EndReason, Harness, HarnessAgent, HarnessError, HarnessMode,
    ModelAuthChecker, ModelAuthStatus, ModelScope, ModelUseCountProvider, NoState, PlanResponse,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::{bare, memory, model, names, wait_for};

const SCRIPT: &str = "rules:\n  - when: { user: slow }\n    answer: { text: \"One two three four\", chunk: 3, pause: 100ms }\n  - when: { agent: You plan, user: propose }\n    answer: { call: submit_plan, with: { title: Tidy, plan: \"1. Tidy up\" } }\n  - when: { agent: You plan }\n    answer: \"planner, {{ model }}\"\n  - when: { agent: You build }\n    answer: \"builder, {{ model }}\"\n  - when: { agent: You review }\n    answer: reviewer";

/// Every name that begins with `m` is a model that tells its name.
struct Named;

impl Models for Named {
    fn model(&self, name: Option<&str>) -> Option<Arc<dyn Model>> {
        let name = name.unwrap_or("m-default");
        name.starts_with('m').then(|| {
            let script = SCRIPT.replace("{{ model }}", name);
            model(&script) as Arc<dyn Model>
        })
    }
}

fn plan() -> HarnessMode {
    HarnessMode::new("plan", "Plan", HarnessAgent::new("planner", "You plan."))
        .default_model("m-plan")
}

fn build() -> HarnessMode {
    HarnessMode::new("build", "Build", HarnessAgent::new("builder", "You build."))
        .default_model("m-build")
        .default_mode()
}

async fn two_modes() -> Harness {
    let builder = Harness::builder("test", memory().await).models(Arc::new(Named));
    let harness: Harness = builder.mode(plan()).mode(build()).build().unwrap();
    harness.init().await.unwrap();
    harness
}

async fn answer(harness: &Harness, text: &str) -> String {
    match harness.send_message(text).await.unwrap().end {
        ostler_harness::TurnEnd::Answer { text, .. } => text,
        other => panic!("{other:?}"),
    }
}

/// M01: each mode answers with its own instructions; exactly one is the default.
#[tokio::test]
async fn m01_modes_have_their_own_agents() {
    let harness = two_modes().await;
    assert_eq!(harness.current_mode_id().await, "build");
    assert_eq!(answer(&harness, "who?").await, "builder, m-build");
    harness.switch_mode("plan").await.unwrap();
    assert_eq!(answer(&harness, "who?").await, "planner, m-plan");
    assert!(matches!(harness.switch_mode("x").await, Err(HarnessError::UnknownMode(_))));
    let store = memory().await;
    let builder = || Harness::<NoState>::builder("test", store.clone()).models(Arc::new(Named));
    let other = HarnessMode::new("b", "B", HarnessAgent::new("b", "You build."));
    let none = builder().mode(plan()).mode(other).build();
    assert!(matches!(none, Err(ConfigError::DefaultMode(0))));
    let two = builder().mode(plan().default_mode()).mode(build()).build();
    assert!(matches!(two, Err(ConfigError::DefaultMode(2))));
    assert!(matches!(builder().build(), Err(ConfigError::NoMode)));
    let twice = builder().mode(build()).mode(build()).build();
    assert!(matches!(twice, Err(ConfigError::DuplicateMode(_))));
}

/// M02: abort, save, load, announce, in that order.
#[tokio::test]
async fn m02_switching_aborts_saves_loads_and_announces() {
    let harness = two_modes().await;
    let mut events = harness.subscribe();
    harness.create_thread(None).await.unwrap();
    harness.switch_model("m-other", ModelScope::Thread).await.unwrap();
    let sender = harness.clone();
    let sent = tokio::spawn(async move { sender.send_message("slow").await });
    wait_for(&mut events, "message_update").await;
    harness.switch_mode("plan").await.unwrap();
    assert_eq!(sent.await.unwrap().unwrap().reason, EndReason::Aborted);
    let found = bare(&mut events);
    let end = found.iter().position(|event| event["type"] == "agent_end").unwrap();
    assert_eq!(found[end]["reason"], "aborted");
    assert_eq!(
        found[end + 1],
        json!({"type": "mode_changed", "modeId": "plan", "previousModeId": "build"})
    );
    let metadata = json!(harness.current_thread().await.unwrap().metadata);
    assert_eq!(metadata["modeModelId_build"], "m-other");
    assert_eq!(harness.current_model_id().as_deref(), Some("m-plan"));
    harness.switch_mode("build").await.unwrap();
    assert_eq!(harness.current_model_id().as_deref(), Some("m-other"));
}

#[derive(Serialize, Deserialize, JsonSchema, Default)]
struct Review {
    careful: bool,
}

/// M03: the agent of a mode may depend on the state.
#[tokio::test]
async fn m03_the_agent_may_depend_on_the_state() {
    let builder = Harness::<Review>::builder("test", memory().await).models(Arc::new(Named));
    let agents = [
        Arc::new(HarnessAgent::new("builder", "You build.")),
        Arc::new(HarnessAgent::new("reviewer", "You review.")),
    ];
    let harness = builder
        .mode_of_state("work", "Work", move |state: &Review| {
            agents[usize::from(state.careful)].clone()
        })
        .build()
        .unwrap();
    let text = |outcome: ostler_harness::TurnOutcome| json!(outcome.end)["text"].clone();
    assert_eq!(text(harness.send_message("who?").await.unwrap()), "builder, m-default");
    harness.set_state(json!({"careful": true})).await.unwrap();
    assert!(harness.state().careful);
    assert_eq!(text(harness.send_message("who?").await.unwrap()), "reviewer");
}

/// M34: an approved plan is carried out in the default mode; a rejected one is told why.
#[tokio::test]
async fn m34_an_approved_plan_is_carried_out_in_the_default_mode() {
    let harness = two_modes().await;
    let mut events = harness.subscribe();
    harness.switch_mode("plan").await.unwrap();
    let sender = harness.clone();
    let sent = tokio::spawn(async move { sender.send_message("propose").await });
    let asked = wait_for(&mut events, "plan_approval_required").await;
    let id = asked["planId"].as_str().unwrap().to_owned();
    assert_eq!(
        (asked["title"].as_str(), asked["plan"].as_str()),
        (Some("Tidy"), Some("1. Tidy up"))
    );
    harness.respond_to_plan_approval(&id, PlanResponse::Approve).await.unwrap();
    sent.await.unwrap().unwrap();
    harness.wait_until_idle().await;
    let names = names(&mut events);
    let at = |name: &str| names.iter().position(|one| one == name).unwrap();
    assert!(
        at("ask_closed") < at("agent_end") && at("agent_end") < at("mode_changed"),
        "{names:?}"
    );
    assert_eq!(harness.current_mode_id().await, "build");
    assert_eq!(harness.state_json()["currentModelId"], "m-build");
    let thread = harness.current_thread().await.unwrap().id;
    let last = harness.messages(thread, 0, 20).await.unwrap().pop().unwrap();
    assert_eq!(json!(last)["content"][0]["text"], "builder, m-build");
    let again = harness.respond_to_plan_approval(&id, PlanResponse::Approve).await;
    assert!(matches!(again, Err(HarnessError::AskNotOpen(_))));
}

/// M34: the feedback of a rejected plan is the result of the call.
#[tokio::test]
async fn m34_a_rejected_plan_returns_the_feedback() {
    let harness = two_modes().await;
    let mut events = harness.subscribe();
    harness.switch_mode("plan").await.unwrap();
    let sender = harness.clone();
    let sent = tokio::spawn(async move { sender.send_message("propose").await });
    let id = wait_for(&mut events, "plan_approval_required").await["planId"]
        .as_str()
        .unwrap()
        .to_owned();
    let reject = PlanResponse::Reject { feedback: "too short".into() };
    harness.respond_to_plan_approval(&id, reject).await.unwrap();
    sent.await.unwrap().unwrap();
    let result = wait_for(&mut events, "tool_end").await;
    assert_eq!(result["result"], "The plan was not approved: too short");
    assert_eq!(harness.current_mode_id().await, "plan");
}

/// M47: a switch sets the state and tells scope and mode.
#[tokio::test]
async fn m47_switching_the_model_is_announced() {
    let harness = two_modes().await;
    let mut events = harness.subscribe();
    harness.create_thread(None).await.unwrap();
    harness.switch_model("m-x", ModelScope::Mode).await.unwrap();
    let event = wait_for(&mut events, "model_changed").await;
    assert_eq!(
        (event["modelId"].as_str(), event["scope"].as_str(), event["modeId"].as_str()),
        (Some("m-x"), Some("mode"), Some("build"))
    );
    assert_eq!(harness.state_json()["currentModelId"], "m-x");
    assert_eq!(answer(&harness, "who?").await, "builder, m-x");
    let unknown = harness.switch_model("unknown", ModelScope::Thread).await;
    assert!(matches!(unknown, Err(HarnessError::UnknownModel(_))));
}

struct Keys;

impl ModelAuthChecker for Keys {
    fn models(&self) -> Vec<String> {
        vec!["a/m-one".into(), "b/m-two".into()]
    }

    fn status(&self, model: &str) -> Option<ModelAuthStatus> {
        let has_auth = model.starts_with("a/");
        Some(ModelAuthStatus { has_auth, hint: Some("set B_KEY".into()) })
    }
}

impl ModelUseCountProvider for Keys {
    fn use_counts(&self) -> std::collections::BTreeMap<String, u64> {
        [("b/m-two".to_owned(), 7)].into()
    }
}

/// M41, M46: models are listed with keys and counts; one without a key says how to set it.
#[tokio::test]
async fn m41_models_are_listed_with_status_and_counts() {
    let keys = Arc::new(Keys);
    let builder = Harness::<NoState>::builder("test", memory().await).models(Arc::new(Named));
    let builder = builder.auth_checker(keys.clone()).use_counts(keys).mode(build());
    let harness = builder.build().unwrap();
    let models = harness.available_models();
    let expected = AvailableModel {
        id: "b/m-two".into(),
        provider: "b".into(),
        model_name: "m-two".into(),
        has_api_key: false,
        key_hint: Some("set B_KEY".into()),
        use_count: 7,
    };
    assert_eq!(models[0], expected);
    assert!(models[1].has_api_key && models[1].use_count == 0);
    let refused = harness.switch_model("b/m-two", ModelScope::Thread).await.unwrap_err();
    assert_eq!(refused.to_string(), "the model `b/m-two` cannot be used: set B_KEY");
}
