//! Subagents.

use std::collections::BTreeSet;
use std::sync::Arc;

use ostler_domain::tool::{ToolCategory, ToolGroup, ToolName, ToolSpec};
use ostler_engine::model::Model;
use ostler_engine::turn::Models;
use ostler_harness::{
    ApprovalResponse, Credits, Harness, HarnessAgent, HarnessError, HarnessMode, HarnessSubagent,
    PermissionPolicy, PermissionRules, parse_subagent_meta,
};
use serde_json::json;

use crate::support::{Counter, bare, builder, builder_on, memory, model, names, ready, wait_for};

const SCRIPT: &str = "rules:\n  - when: { agent: You explore, user: note }\n    answer:\n      - call: note\n        with: { text: found }\n      - \"explored: {{ result }}\"\n  - when: { agent: You explore }\n    answer:\n      - call: grep\n      - \"explored: {{ result }}\"\n  - when: { user: delegate note }\n    answer:\n      - call: subagent\n        with: { agentType: explore, task: note it }\n      - \"{{ result }}\"\n  - when: { user: delegate }\n    answer:\n      - call: subagent\n        with: { agentType: explore, task: look around }\n      - \"{{ result }}\"\n  - when: { user: grep }\n    answer:\n      - call: grep\n      - \"{{ result }}\"\n  - when: { user: unknown }\n    answer:\n      - call: subagent\n        with: { agentType: nobody, task: x }\n      - \"{{ result }}\"";

fn explore(grep: Arc<Counter>) -> HarnessSubagent {
    HarnessSubagent {
        tools: vec![grep],
        allowed_harness_tools: vec![ToolName::from_static("note")],
        ..HarnessSubagent::new("explore", "Looks around", "You explore.")
    }
}

fn reads_allowed() -> PermissionRules {
    PermissionRules {
        categories: [(ToolCategory::Read, PermissionPolicy::Allow)].into(),
        ..PermissionRules::default()
    }
}

/// M05, M08, M09: a subagent has its own tools, its messages stay its own, and its result
/// has metadata.
#[tokio::test]
async fn m05_m08_m09_a_subagent_works_on_its_own() {
    let grep = Counter::new("grep", ToolCategory::Read);
    let note = Counter::new("note", ToolCategory::Edit);
    let builder = builder(SCRIPT).await.tool(note).subagent(explore(grep.clone()));
    let (harness, mut events) = ready(builder.permission_rules(reads_allowed())).await;
    let outcome = harness.send_message("delegate").await.unwrap();
    let found = bare(&mut events);
    let kinds: Vec<&str> = found.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let at = |name: &str| kinds.iter().position(|kind| *kind == name).unwrap();
    assert_eq!(
        found[at("subagent_start")],
        json!({"type": "subagent_start", "agentType": "explore", "task": "look around"})
    );
    assert_eq!(found[at("subagent_end")]["agentType"], "explore");
    let inner = found.iter().find(|event| event["toolName"] == "grep").unwrap();
    assert!(inner["toolCallId"].as_str().unwrap().contains('/'), "{inner}");
    assert_eq!(grep.count(), 1);
    let text = json!(outcome.end)["text"].as_str().unwrap().to_owned();
    let (clean, meta) = parse_subagent_meta(&text);
    assert_eq!(clean, "explored: noted nothing");
    assert_eq!(meta.unwrap().tool_calls, 1);
    let thread = harness.current_thread().await.unwrap().id;
    let messages = json!(harness.messages(thread, 0, 20).await.unwrap()).to_string();
    assert!(!messages.contains("\"grep\""), "{messages}");
    // The main agent does not have the tool of the subagent.
    let outcome = harness.send_message("grep").await.unwrap();
    assert!(json!(outcome.end)["text"].as_str().unwrap().contains("not available"));
    assert_eq!(grep.count(), 1);
}

/// M06, M42: without subagents there is no such tool; the others are always there.
#[tokio::test]
async fn m06_m42_built_in_tools_are_offered() {
    let offered = "rules:\n  - when: { offered: [ask_user, submit_plan, task_write, task_check], not_offered: subagent }\n    answer: four\n  - when: { offered: [ask_user, submit_plan, task_write, task_check, subagent] }\n    answer: five";
    let (without, _) = ready(builder(offered).await).await;
    let text = |outcome: ostler_harness::TurnOutcome| json!(outcome.end)["text"].clone();
    assert_eq!(text(without.send_message("?").await.unwrap()), "four");
    let grep = Counter::new("grep", ToolCategory::Read);
    let with = builder(offered).await.tool(Counter::new("note", ToolCategory::Edit));
    let (with, _) = ready(with.subagent(explore(grep))).await;
    assert_eq!(text(with.send_message("?").await.unwrap()), "five");
}

/// M48: an unknown kind is refused; the schema lists the kinds.
#[tokio::test]
async fn m48_an_unknown_kind_is_refused() {
    let grep = Counter::new("grep", ToolCategory::Read);
    let builder = builder(SCRIPT).await.tool(Counter::new("note", ToolCategory::Edit));
    let (harness, mut events) = ready(builder.subagent(explore(grep))).await;
    harness.send_message("unknown").await.unwrap();
    let end = wait_for(&mut events, "tool_end").await;
    assert_eq!(end["isError"], true);
    assert!(end["result"].as_str().unwrap().contains("explore"), "{end}");
    assert!(!names(&mut events).contains(&"subagent_start".to_owned()));
}

/// Mastra lets a forked subagent run an `ask` tool unasked: here the same gate asks, for
/// forked and fresh ones.
#[tokio::test]
async fn a_forked_subagent_runs_an_ask_tool_unasked() {
    for forked in [false, true] {
        let note = Counter::new("note", ToolCategory::Edit);
        let subagent =
            HarnessSubagent { forked, ..explore(Counter::new("grep", ToolCategory::Read)) };
        let script =
            SCRIPT.replace("agent: You explore, user: note }", "user: { regex: 'note it$' } }");
        let (harness, mut events) =
            ready(builder(&script).await.tool(note.clone()).subagent(subagent)).await;
        let sender = harness.clone();
        let sent = tokio::spawn(async move { sender.send_message("delegate note").await });
        let asked = wait_for(&mut events, "tool_approval_required").await;
        assert_eq!(asked["toolName"], "note");
        assert_eq!(asked["ext"]["path"].as_array().unwrap().len(), 1);
        assert_eq!(note.count(), 0);
        let id = asked["toolCallId"].as_str().unwrap();
        harness.respond_to_tool_approval(id, ApprovalResponse::Approve).await.unwrap();
        sent.await.unwrap().unwrap();
        assert_eq!(note.count(), 1);
    }
}

struct Named;

impl Models for Named {
    fn model(&self, name: Option<&str>) -> Option<Arc<dyn Model>> {
        let name = name.unwrap_or("none");
        let script = format!(
            "rules:\n  - when: {{ agent: You explore }}\n    answer: \"I am {name}\"\n  - when: {{ user: explicit }}\n    answer:\n      - call: subagent\n        with: {{ agentType: explore, task: x, modelId: from-call }}\n      - \"{{{{ result }}}}\"\n  - when: {{ user: go }}\n    answer:\n      - call: subagent\n        with: {{ agentType: explore, task: x }}\n      - \"{{{{ result }}}}\""
        );
        Some(model(&script))
    }
}

/// M07: the call, else the setting, else the definition, else the mode.
#[tokio::test]
async fn m07_the_model_of_a_subagent() {
    let harness = |definition: Option<&str>| {
        let definition = definition.map(str::to_owned);
        async move {
            let subagent = HarnessSubagent {
                default_model_id: definition,
                ..HarnessSubagent::new("explore", "Looks around", "You explore.")
            };
            let mode = HarnessMode::new("build", "Build", HarnessAgent::new("b", "You build."));
            let harness: Harness = Harness::builder("test", memory().await)
                .models(Arc::new(Named))
                .mode(mode.default_model("from-mode"))
                .subagent(subagent)
                .build()
                .unwrap();
            harness
        }
    };
    let says = |harness: Harness, text: &'static str| async move {
        let outcome = harness.send_message(text).await.unwrap();
        let text = json!(outcome.end)["text"].as_str().unwrap().to_owned();
        parse_subagent_meta(&text).0.to_owned()
    };
    let plain = harness(None).await;
    assert_eq!(says(plain, "go").await, "I am from-mode");
    let defined = harness(Some("from-definition")).await;
    assert_eq!(says(defined.clone(), "go").await, "I am from-definition");
    defined.set_subagent_model_id("explore", "from-setting").await.unwrap();
    assert_eq!(says(defined.clone(), "go").await, "I am from-setting");
    assert_eq!(says(defined.clone(), "explicit").await, "I am from-call");
    assert_eq!(defined.subagent_model_id("explore").await.as_deref(), Some("from-setting"));
    let unknown = defined.set_subagent_model_id("nobody", "m").await;
    assert!(matches!(unknown, Err(HarnessError::UnknownSubagent(_))));
}

const FAMILY: &str = "rules:\n  - when: { agent: Level two }\n    answer: deep answer\n  - when: { agent: Level one }\n    answer:\n      - call: subagent\n        with: { agentType: two, task: deeper }\n      - one done\n  - when: { user: { regex: 'fork this$' } }\n    answer: forked answer\n  - when: { user: go }\n    answer:\n      - calls:\n          - { tool: subagent, with: { agentType: one, task: first } }\n          - { tool: subagent, with: { agentType: copy, task: fork this } }\n      - all done";

/// M05, M09: messages of subagents, in parallel, nested and forked, are kept under their own
/// runs, are read by the id that `subagent_end` names, and are deleted with their thread.
#[tokio::test]
async fn m05_m09_messages_of_subagents_are_kept_under_their_own_runs() {
    let nested = HarnessSubagent {
        allowed_harness_tools: vec![ToolName::from_static("subagent")],
        ..HarnessSubagent::new("one", "Goes deeper", "Level one")
    };
    let forked =
        HarnessSubagent { forked: true, ..HarnessSubagent::new("copy", "A copy", "You copy.") };
    let store = memory().await;
    let builder = builder_on(store.clone(), FAMILY)
        .subagent(nested)
        .subagent(HarnessSubagent::new("two", "Is deep", "Level two"))
        .subagent(forked);
    let (harness, mut events) = ready(builder).await;
    harness.send_message("hello before").await.unwrap();
    harness.send_message("go").await.unwrap();
    let thread = harness.current_thread().await.unwrap().id;
    let mut named = BTreeSet::new();
    for _ in 0..3 {
        named.insert(wait_for(&mut events, "subagent_end").await["ext"]["runId"].to_string());
    }
    let runs = harness.subagent_runs(thread).await.unwrap();
    let ids: BTreeSet<_> = runs.iter().map(|run| json!(run.run_id).to_string()).collect();
    assert_eq!(ids, named);
    let mut found = Vec::new();
    for run in &runs {
        let messages = json!(harness.subagent_messages(run.run_id).await.unwrap());
        let texts: Vec<String> = messages
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|message| message["content"][0]["text"].as_str())
            .map(str::to_owned)
            .collect();
        found.push((run.agent_type.clone(), run.path.len(), texts));
    }
    found.sort();
    let expected = [
        ("copy", 1, vec!["You copy.\n\nfork this", "forked answer"]),
        ("one", 1, vec!["first", "one done"]),
        ("two", 2, vec!["deeper", "deep answer"]),
    ];
    let expected = expected.map(|(kind, depth, texts)| {
        (kind.to_owned(), depth, texts.into_iter().map(str::to_owned).collect::<Vec<_>>())
    });
    assert_eq!(found, expected);
    let own = json!(harness.messages(thread, 0, 20).await.unwrap()).to_string();
    assert!(!own.contains("\"deeper\""), "{own}");
    // Another resource cannot read them.
    let (other, _) = ready(builder_on(store, FAMILY).resource_id("other")).await;
    let refused = other.subagent_messages(runs[0].run_id).await;
    assert!(matches!(refused, Err(HarnessError::UnknownThread(_))), "{refused:?}");
    harness.delete_thread(thread).await.unwrap();
    let gone = harness.subagent_messages(runs[0].run_id).await;
    assert!(matches!(gone, Err(HarnessError::UnknownSubagentRun(_))), "{gone:?}");
}

/// M28, M48: a subagent, fresh or forked, stops at its own limit of steps; its caller goes on.
#[tokio::test]
async fn m28_m48_a_subagent_stops_at_its_own_limit_of_steps() {
    let script = "rules:\n  - when: { user: { regex: 'for ever$' } }\n    answer:\n      - call: note\n        with: { text: one }\n      - call: note\n        with: { text: two }\n      - call: note\n        with: { text: three }\n      - finished\n  - when: { user: go }\n    answer:\n      - call: subagent\n        with: { agentType: tireless, task: for ever }\n      - \"{{ result }}\"";
    for forked in [false, true] {
        let note = Counter::new("note", ToolCategory::Edit);
        let tireless = HarnessSubagent {
            forked,
            max_steps: Some(2),
            allowed_harness_tools: vec![ToolName::from_static("note")],
            ..HarnessSubagent::new("tireless", "Goes on", "You go on.")
        };
        let builder = builder(script).await.tool(note.clone()).subagent(tireless);
        let (harness, _) = ready(builder.initial_state(json!({"yolo": true}))).await;
        let outcome = harness.send_message("go").await.unwrap();
        let text = json!(outcome.end)["text"].as_str().unwrap().to_owned();
        assert!(text.contains("This agent did not finish and was stopped."), "{text}");
        assert_eq!(note.count(), 2);
    }
}

/// M48, Z12: a subagent, fresh or forked, spends no more than its limit of credits; its caller
/// has no such limit.
#[tokio::test]
async fn m48_z12_a_subagent_stays_within_its_limit_of_credits() {
    let script = "rules:\n  - when: { user: { regex: 'spend it$' } }\n    answer:\n      - call: note\n        with: { text: one }\n      - call: note\n        with: { text: two }\n      - \"spent: {{ result }}\"\n  - when: { user: go }\n    answer:\n      - call: subagent\n        with: { agentType: thrifty, task: spend it }\n      - call: note\n        with: { text: mine }\n      - \"{{ result }}\"";
    for forked in [false, true] {
        let note = ToolSpec::write(ToolName::from_static("note"), ToolGroup::Custom).priced(2);
        let note = Counter::of(note);
        let thrifty = HarnessSubagent {
            forked,
            max_credits: Some(Credits::new(3)),
            allowed_harness_tools: vec![ToolName::from_static("note")],
            ..HarnessSubagent::new("thrifty", "Spends little", "You save.")
        };
        let builder = builder(script).await.tool(note.clone()).subagent(thrifty);
        let (harness, mut events) = ready(builder.initial_state(json!({"yolo": true}))).await;
        let outcome = harness.send_message("go").await.unwrap();
        assert_eq!(json!(outcome.end)["text"], "noted mine");
        let ended: Vec<_> =
            bare(&mut events).into_iter().filter(|event| event["type"] == "tool_end").collect();
        let errors: Vec<_> = ended.iter().map(|event| event["isError"].as_bool()).collect();
        assert_eq!(errors, [Some(false), Some(true), Some(false), Some(false)], "{ended:?}");
        assert_eq!(ended[1]["result"], "there is not enough credit left for this.");
        assert_eq!(note.count(), 2);
    }
}

/// M05: a nested subagent has no tool that its caller lacks, whatever its definition says.
#[tokio::test]
async fn m05_a_nested_subagent_has_no_tool_that_its_caller_lacks() {
    let script = "rules:\n  - when: { agent: Level two, offered: note }\n    answer: wider\n  - when: { agent: Level two }\n    answer: not wider\n  - when: { agent: Level one }\n    answer:\n      - call: subagent\n        with: { agentType: two, task: deeper }\n      - \"{{ result }}\"\n  - when: { user: one }\n    answer:\n      - call: subagent\n        with: { agentType: one, task: x }\n      - \"{{ result }}\"\n  - when: { user: two }\n    answer:\n      - call: subagent\n        with: { agentType: two, task: x }\n      - \"{{ result }}\"";
    let with = |tool| vec![ToolName::from_static(tool)];
    let one = HarnessSubagent {
        allowed_harness_tools: with("subagent"),
        ..HarnessSubagent::new("one", "Goes deeper", "Level one")
    };
    let two = HarnessSubagent {
        allowed_harness_tools: with("note"),
        ..HarnessSubagent::new("two", "Is deep", "Level two")
    };
    let note = Counter::new("note", ToolCategory::Edit);
    let builder = builder(script).await.tool(note).subagent(one).subagent(two);
    let (harness, _) = ready(builder.initial_state(json!({"yolo": true}))).await;
    for (asked, expected) in [("one", "not wider"), ("two", "wider")] {
        let outcome = harness.send_message(asked).await.unwrap();
        let text = json!(outcome.end)["text"].as_str().unwrap().to_owned();
        assert!(text.starts_with(expected), "{asked}: {text}");
    }
}
