//! Tool calls and their outcomes.

use std::sync::Arc;

use ostler_domain::gate::{AskReason, DenyReason, GateDecision};
use ostler_domain::tool::{ToolName, Trust};
use ostler_engine::driver::TurnProgress;
use ostler_engine::outcome::OutcomeStatus;
use ostler_engine::tool::{ToolDefinition, ToolSet, ToolSetError};
use ostler_engine::turn::{TurnEnd, TurnEvent};
use serde_json::json;

use crate::support::{TurnSetup, calls, conversation, story, turn, words};

/// M29: a call of an unknown tool is answered once with the list of tools.
#[tokio::test]
async fn m29_an_unknown_tool_is_answered_once_with_the_tool_list() {
    let setup = TurnSetup::new([
        calls(&[("a", "lokk", "{}")]),
        calls(&[("b", "lookk", "{}")]),
        words("sorry"),
    ]);
    let mut turn = turn("hi");
    setup.drive(&mut turn).await;
    let story = story(turn.new_items());
    assert!(
        story[1].contains("The available tools are: ") && story[1].contains("look"),
        "{}",
        story[1]
    );
    assert!(!story[3].contains("look"), "{}", story[3]);
    let verdicts: Vec<_> = turn.account().decisions.iter().map(|d| d.verdict.clone()).collect();
    assert_eq!(verdicts, [const { GateDecision::Deny(DenyReason::UnknownTool) }; 2]);
}

/// C08, C10: invalid arguments are explained to the model and count as failures.
#[tokio::test]
async fn c08_invalid_arguments_count_as_failures() {
    let setup = TurnSetup::new([
        calls(&[("a", "look", r#"{"text": 5}"#)]),
        calls(&[("b", "look", "{broken")]),
        calls(&[("c", "look", r#"{"other": 1}"#)]),
        calls(&[("d", "look", "{}")]),
        words("sorry"),
    ]);
    let mut turn = turn("hi");
    setup.drive(&mut turn).await;
    let story = story(turn.new_items());
    assert!(story[1].starts_with("= invalid") && story[1].contains("/text"), "{}", story[1]);
    assert!(story[3].contains("not a JSON object"), "{}", story[3]);
    assert!(story[7].starts_with("= disabled"), "{}", story[7]);
    assert_eq!(turn.account().errors.failures()["look"], 3);
}

/// C06, C09: the third failure disables a tool within the turn, and one event
/// reports it.
#[tokio::test]
async fn c09_a_tool_is_disabled_after_three_failures() {
    let again = |id| calls(&[(id, "broken", &format!(r#"{{"text": "{id}"}}"#))]);
    let setup = TurnSetup::new([again("a"), again("b"), again("c"), again("d"), words("sorry")]);
    let mut turn = turn("hi");
    setup.drive(&mut turn).await;
    let lines = story(turn.new_items());
    let ends: Vec<&str> =
        lines.iter().filter(|line| line.starts_with('=')).map(String::as_str).collect();
    assert_eq!(ends[..3], ["= failed out of order"; 3]);
    assert!(ends[3].starts_with("= disabled"), "{}", ends[3]);
    let off = TurnEvent::ToolDisabled { tool: ToolName::from_static("broken") };
    assert_eq!(setup.host.events().iter().filter(|event| **event == off).count(), 1);
}

#[tokio::test]
async fn a_panicking_tool_does_not_end_the_turn() {
    let setup = TurnSetup::new([calls(&[("a", "panics", "{}"), ("b", "look", "{}")]), words("on")]);
    let mut turn = turn("hi");
    setup.drive(&mut turn).await;
    assert_eq!(
        story(turn.new_items())[2..],
        ["= failed The tool failed unexpectedly.", "= ok nothing", "on"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_ends_at_its_time_limit() {
    let setup =
        TurnSetup::new([calls(&[("a", "slow", "{}"), ("b", "slow_pay", "{}")]), words("well")]);
    let mut turn = turn("hi");
    setup.drive(&mut turn).await;
    let said = story(turn.new_items());
    assert_eq!(said[2], "= timed_out The tool did not answer within 5 s.");
    assert_eq!(said[3], "= outcome_unknown The tool did not answer within 5 s.");
}

#[tokio::test]
async fn a_long_output_is_truncated() {
    let setup = TurnSetup::new([calls(&[("a", "long", "{}")]), words("well")]);
    let mut turn = turn("hi");
    setup.drive(&mut turn).await;
    assert!(story(turn.new_items())[1].ends_with("[4000 more bytes were left out]"));
}

/// Effects of local tools are collected for the commit, in order, and visible to
/// later calls of the turn.
#[tokio::test]
async fn effects_are_collected_for_the_commit() {
    let setup = TurnSetup::new([
        calls(&[("a", "note", r#"{"text": "one"}"#)]),
        calls(&[("b", "note", r#"{"text": "two"}"#)]),
        words("noted"),
    ]);
    let mut turn = turn("hi");
    setup.drive(&mut turn).await;
    let data: Vec<_> = turn.account().effects.iter().map(|effect| effect.data.clone()).collect();
    assert_eq!(data, ["one", "two"]);
    assert_eq!(story(turn.new_items())[3], "= ok 1 before");
}

/// Calls of one answer with effects run one after the other, in order, each seeing
/// the effects of those before it, whichever agent makes them; reads do not wait
/// for them.
#[tokio::test(start_paused = true)]
async fn calls_with_effects_run_in_order_and_see_earlier_effects() {
    let note = |id, text| (id, "slow_note", text);
    let (one, two) = (r#"{"text": "one"}"#, r#"{"text": "two"}"#);
    let setup = TurnSetup::new([
        calls(&[note("a", one), ("l", "look", "{}"), note("b", two), ("c", "note", "{}")]),
        words("noted"),
    ]);
    let mut turn = turn("hi");
    setup.drive(&mut turn).await;
    let said = story(turn.new_items());
    assert_eq!(
        said[4..],
        ["= ok 0 before", "= ok nothing", "= ok 1 before", "= ok 2 before", "noted"]
    );
    let ended = setup.host.events().into_iter().filter_map(|event| match event {
        TurnEvent::CallEnded { call, .. } => Some(call.0.to_string()),
        _ => None,
    });
    assert_eq!(ended.collect::<Vec<_>>(), ["l", "a", "b", "c"]);
    let data: Vec<_> = turn.account().effects.iter().map(|effect| effect.data.clone()).collect();
    assert_eq!(data, ["one", "two", "nothing"]);
}

#[tokio::test(start_paused = true)]
async fn queued_calls_are_not_started_after_an_abort() {
    let slow = |id| (id, "slow_note", r#"{"text": "x"}"#);
    let mut setup = TurnSetup::new([calls(&[slow("a"), slow("b")]), words("never")]);
    setup.place.timeout = std::time::Duration::from_millis(1500);
    let mut turn = turn("hi");
    assert_eq!(setup.drive(&mut turn).await, TurnProgress::Ended(TurnEnd::TimedOut));
    assert_eq!(turn.account().effects.len(), 1);
    assert!(story(turn.new_items())[3].starts_with("= aborted"), "{:?}", story(turn.new_items()));
}

/// Z10: after reading from outside, a destructive tool needs approval at every
/// autonomy level.
#[tokio::test]
async fn z10_untrusted_input_makes_destructive_tools_ask() {
    let setup = TurnSetup::new([
        calls(&[("a", "pay", "{}")]),
        calls(&[("b", "web", "{}")]),
        calls(&[("c", "pay", r#"{"text": "again"}"#)]),
        words("checking"),
    ]);
    let mut turn = conversation("hi");
    setup.drive(&mut turn).await;
    let verdicts: Vec<_> = turn.account().decisions.iter().map(|d| &d.verdict).collect();
    assert!(matches!(verdicts[0], GateDecision::Allow(_)));
    assert_eq!(verdicts[2], &GateDecision::Ask(AskReason::Untrusted));
    assert_eq!(turn.trust(), Trust::Untrusted);
    assert_eq!(setup.host.stored.lock().unwrap().len(), 1, "one payment was made");
}

/// C05: in a conversation the call is not run, a person is asked, and the turn
/// continues and answers.
#[tokio::test]
async fn c05_a_conversation_continues_while_a_call_waits_for_approval() {
    let setup = TurnSetup::supervised([calls(&[("a", "pay", "{}")]), words("I am checking")]);
    let mut turn = conversation("hi");
    let end = setup.drive(&mut turn).await;
    assert!(matches!(end, TurnProgress::Ended(TurnEnd::Answer { .. })), "{end:?}");
    assert!(story(turn.new_items())[1].starts_with("= pending_approval"));
    let deferred = setup.host.events().into_iter().find_map(|event| match event {
        TurnEvent::Deferred(question) => Some(question.call.name),
        _ => None,
    });
    assert_eq!(deferred.as_deref(), Some("pay"));
    assert!(setup.host.stored.lock().unwrap().is_empty());
}

/// External calls are stored together before they are made, and their outcomes
/// afterwards.
#[tokio::test]
async fn external_calls_are_stored_before_they_run() {
    let two = [("a", "pay", "{}"), ("b", "look", "{}"), ("c", "pay", r#"{"text": "2"}"#)];
    let setup = TurnSetup::new([calls(&two), words("paid")]);
    let mut turn = turn("hi");
    setup.drive(&mut turn).await;
    let stored = setup.host.stored.lock().unwrap();
    let keys: Vec<&str> =
        stored[0].1.iter().map(|intent| intent.idempotency_key.as_str()).collect();
    assert_eq!((stored.len(), keys), (1, vec!["run/a", "run/c"]));
    let outcomes = setup.host.outcomes.lock().unwrap();
    assert_eq!(outcomes.len(), 2);
    assert!(outcomes.values().all(|outcome| outcome.status == OutcomeStatus::Ok));
}

#[tokio::test]
async fn no_external_call_runs_if_the_checkpoint_fails() {
    use ostler_engine::driver::{Driver, TurnCommands};
    let mut setup = TurnSetup::new([calls(&[("a", "pay", "{}")])]);
    setup.host.fails = true;
    let driver = Driver { context: &setup.place, rules: setup.rules(), host: &setup.host };
    let mut turn = turn("hi");
    let result = driver.drive(&mut turn, &Default::default(), &mut TurnCommands::none()).await;
    assert_eq!(result, Err("the disk is full"));
    assert!(setup.host.outcomes.lock().unwrap().is_empty());
}

#[test]
fn invalid_and_duplicate_tools_are_rejected() {
    let with = |schema| {
        let spec = crate::support::tools().definition("look").unwrap().spec.clone();
        struct One(ToolDefinition);
        impl ostler_engine::tool::Tool for One {
            fn definition(&self) -> &ToolDefinition {
                &self.0
            }
            fn call<'a>(
                &'a self,
                _: &'a ostler_engine::gate::Authorized,
                _: &'a ostler_engine::tool::ToolContext,
            ) -> futures_util::future::BoxFuture<'a, ostler_engine::tool::ToolReply> {
                Box::pin(std::future::pending())
            }
        }
        Arc::new(One(ToolDefinition::new(spec, "", schema))) as Arc<dyn ostler_engine::tool::Tool>
    };
    let bad = ToolSet::new([with(json!({"type": 5}))]);
    assert!(matches!(bad, Err(ToolSetError::Schema { .. })), "{bad:?}");
    let far = ToolSet::new([with(json!({"$ref": "https://example.com/schema.json"}))]);
    assert!(matches!(far, Err(ToolSetError::Schema { .. })), "{far:?}");
    let twice = ToolSet::new([with(json!({})), with(json!({}))]);
    assert!(matches!(twice, Err(ToolSetError::Duplicate(_))), "{twice:?}");
}
