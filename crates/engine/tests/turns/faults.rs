//! Interruptions, unusual providers and faulty models.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::money::Credits;
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::scope::ToolScope;
use ostler_domain::tool::{ToolGroup, ToolName, ToolSpec, Trust};
use ostler_engine::driver::{TurnCommands, TurnProgress, command_channel};
use ostler_engine::gate::Authorized;
use ostler_engine::history::{CallId, Item};
use ostler_engine::model::{Chunk, StopReason, Usage};
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::tool::{SubagentTask, Tool, ToolContext, ToolDefinition, ToolReply, ToolSet};
use ostler_engine::turn::{Input, KnownOutcomes, NewTurn, Turn, TurnAction, TurnEnd, TurnOutput};

use crate::support::{
    AMPLE_BUDGET, FakeModel, TurnSetup, approve, calls, conversation, follow_up, is_acceptable,
    new_turn, story, turn, words,
};

/// Returns the turn as it was stored before its first external call.
fn stored(setup: &TurnSetup) -> Turn {
    Turn::load(&setup.host.stored.lock().unwrap()[0].0).unwrap()
}

/// Creates a setup with a single tool.
fn only(
    spec: ToolSpec,
    said: Vec<crate::support::AnswerChunks>,
    does: fn() -> BoxFuture<'static, ToolReply>,
) -> TurnSetup {
    struct One(ToolDefinition, fn() -> BoxFuture<'static, ToolReply>);
    impl Tool for One {
        fn definition(&self) -> &ToolDefinition {
            &self.0
        }
        fn call<'a>(&'a self, _: &'a Authorized, _: &'a ToolContext) -> BoxFuture<'a, ToolReply> {
            (self.1)()
        }
    }
    let definition = ToolDefinition::new(spec, "", serde_json::json!({"type": "object"}));
    let tools = Arc::new(ToolSet::new([Arc::new(One(definition, does)) as Arc<dyn Tool>]).unwrap());
    let scope = ToolScope::unrestricted(tools.specs().cloned());
    TurnSetup { scope, tools, ..TurnSetup::new(said) }
}

fn custom(name: &'static str) -> ToolSpec {
    ToolSpec::write(ToolName::from_static(name), ToolGroup::Custom)
}

#[tokio::test]
async fn a_long_outcome_is_truncated_before_it_is_stored() {
    let long =
        || std::future::ready(ToolReply::Done(ToolOutcome::ok("x".repeat(1_000_000)))).boxed();
    let setup = only(custom("send").external(), vec![calls(&[("a", "send", "{}")])], long);
    let mut turn = turn("hi");
    setup.drive(&mut turn).await;
    let outcomes = setup.host.outcomes.lock().unwrap();
    let stored = &outcomes.values().next().unwrap().content;
    assert!(stored.len() < 33 * 1024, "{}", stored.len());
    assert_eq!(story(turn.new_items())[1], format!("= ok {stored}"));
}

/// A call repeated after an interruption is charged once.
#[tokio::test]
async fn an_interruption_charges_nothing_twice() {
    let setup = TurnSetup::new([calls(&[("a", "pay", "{}"), ("b", "note", "{}")]), words("x")]);
    setup.drive(&mut turn("hi")).await;
    let mut turn = stored(&setup);
    let before = turn.account().charges();
    let setup = TurnSetup::new([words("ok")]);
    let known = KnownOutcomes::from([((vec![], CallId::new("a")), ToolOutcome::ok("receipt"))]);
    setup.drive_with(&mut turn, &known, &mut TurnCommands::none()).await;
    assert_eq!(before, turn.account().charges());
}

/// Z10: untrusted input stays untrusted after an interruption.
#[tokio::test]
async fn z10_trust_survives_an_interruption() {
    let setup = || {
        let said = vec![calls(&[("a", "mcp", "{}")]), words("x")];
        only(custom("mcp").external().untrusted(), said, || {
            std::future::ready(ToolReply::Done(ToolOutcome::ok("from outside"))).boxed()
        })
    };
    let first = setup();
    first.drive(&mut turn("hi")).await;
    let mut turn = stored(&first);
    let known = first.host.outcomes.lock().unwrap().clone();
    setup().drive_with(&mut turn, &known, &mut TurnCommands::none()).await;
    assert_eq!(turn.trust(), Trust::Untrusted);
}

/// The known outcome of one agent's call is not used for another agent's call with
/// the same id.
#[tokio::test]
async fn known_outcomes_belong_to_one_agent() {
    let setup = TurnSetup::new([
        calls(&[("s1", "subagent", r#"{"text":"1"}"#), ("s2", "subagent", r#"{"text":"2"}"#)]),
        calls(&[("x", "pay", r#"{"text":"1"}"#)]),
        calls(&[("x", "pay", r#"{"text":"2"}"#)]),
    ]);
    setup.drive(&mut turn("hi")).await;
    let last = setup.host.stored.lock().unwrap().last().unwrap().0.clone();
    let mut turn = Turn::load(&last).unwrap();
    let known = KnownOutcomes::from([(
        (vec![CallId::new("s1")], CallId::new("x")),
        ToolOutcome::ok("receipt 1"),
    )]);
    let setup = TurnSetup::new([words("one"), words("two"), words("both")]);
    setup.drive_with(&mut turn, &known, &mut TurnCommands::none()).await;
    let asked = setup.model.asked();
    let receipts = asked
        .iter()
        .filter(|request| story(&request.history).iter().any(|line| line == "= ok receipt 1"))
        .count();
    assert_eq!(receipts, 1, "{:?}", story(turn.history()));
}

#[tokio::test]
async fn an_interrupted_call_of_a_removed_tool_has_an_unknown_outcome() {
    let setup = TurnSetup::new([calls(&[("a", "pay", "{}")]), words("x")]);
    setup.drive(&mut turn("hi")).await;
    let mut turn = stored(&setup);
    let other = only(custom("other"), vec![words("x")], || std::future::pending().boxed());
    other.drive(&mut turn).await;
    assert!(
        story(turn.new_items())[1].starts_with("= outcome_unknown"),
        "{:?}",
        story(turn.new_items())
    );
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_stays_open_after_its_end_is_not_awaited() {
    let model = FakeModel::hanging([calls(&[("a", "pay", "{}")])]);
    let setup = TurnSetup { autonomy: AutonomyLevel::Supervised, ..TurnSetup::of(model) };
    let progress = setup.drive(&mut turn("hi")).await;
    assert!(matches!(progress, TurnProgress::Suspended(_)), "{progress:?}");
}

/// Ids that are missing, repeated in every turn, or invalid are replaced.
#[tokio::test]
async fn every_call_gets_a_unique_id() {
    for id in ["", "call_0", "call_1_0_0", "a/b c"] {
        let mut history = vec![Item::user("hi")];
        for _ in 0..3 {
            let setup = TurnSetup::new([calls(&[(id, "look", "{}"), (id, "look", "{}")])]);
            let mut turn = Turn::new(NewTurn { history, ..new_turn("") });
            setup.drive(&mut turn).await;
            assert!(is_acceptable(turn.history(), true), "{:?}", turn.history());
            history = turn.history().to_vec();
            history.push(Item::user("again"));
        }
    }
}

#[tokio::test]
async fn invalid_tool_names_are_sanitized() {
    let setup = TurnSetup::new([calls(&[("a", "web.fetch é", "{}"), ("b", "", "{}")]), words("x")]);
    let mut turn = turn("hi");
    setup.drive(&mut turn).await;
    assert_eq!(story(turn.new_items())[..2], ["web_fetch__{}", "unnamed{}"]);
}

#[tokio::test]
async fn an_empty_answer_adds_no_history_entry() {
    let setup = TurnSetup::new([vec![Ok(Chunk::Done(StopReason::End))], words("x")]);
    let (handle, mut commands) = command_channel();
    handle.follow_up(follow_up("and?")).unwrap();
    let mut turn = turn("hi");
    setup.drive_with(&mut turn, &KnownOutcomes::new(), &mut commands).await;
    assert!(is_acceptable(turn.history(), true), "{:?}", turn.history());
}

/// Deeply nested arguments are rejected, so that a stored turn can be loaded.
#[tokio::test]
async fn deeply_nested_arguments_are_rejected() {
    let deep = format!(r#"{{"text": {}{}}}"#, "[".repeat(100), "]".repeat(100));
    let setup =
        TurnSetup::new([calls(&[("a", "look", &deep)]), calls(&[("b", "pay", "{}")]), words("x")]);
    let mut turn = turn("hi");
    setup.drive(&mut turn).await;
    assert!(story(turn.new_items())[1].starts_with("= invalid"));
    assert_eq!(stored(&setup).account().steps, 2);
}

/// E01, Z12: a stopped answer is charged for what it has used.
#[tokio::test]
async fn e01_a_stopped_answer_is_charged() {
    let setup = TurnSetup::new([]);
    for told in [None, Some(Usage { input: 100_000, output: 4000, cached: 0, written: 0 })] {
        let (mut turn, mut out) = (turn("hi"), TurnOutput::default());
        turn.resume(&KnownOutcomes::new(), &setup.rules(), &mut out);
        for chunk in told.map(Chunk::Usage).into_iter().chain([Chunk::Text("long".into())]) {
            turn.step(&[], Input::Chunk(chunk), &setup.rules(), &mut out).unwrap();
        }
        turn.step(&[], Input::Abort, &setup.rules(), &mut out).unwrap();
        let charged: u64 = turn.account().charges().iter().map(|c| c.amount.get()).sum();
        assert_eq!(charged, if told.is_some() { 36 } else { 1 });
    }
}

/// C20, Z05: subagents that run at the same time share the budget.
#[tokio::test]
async fn c20_parallel_subagents_share_one_budget() {
    let ten: Vec<String> = (0..10).map(|n| format!("c{n}")).collect();
    let said: Vec<(String, String)> =
        ten.iter().map(|id| (id.clone(), format!(r#"{{"text":"{id}"}}"#))).collect();
    let said: Vec<(&str, &str, &str)> =
        said.iter().map(|(id, json)| (id.as_str(), "subagent", json.as_str())).collect();
    let budget = TurnBudget { session: Credits::new(7), ..AMPLE_BUDGET };
    let (setup, mut out) = (TurnSetup::new([]), TurnOutput::default());
    let mut turn = Turn::new(NewTurn { budget, ..new_turn("hi") });
    turn.resume(&KnownOutcomes::new(), &setup.rules(), &mut out);
    for chunk in calls(&said) {
        turn.step(&[], Input::Chunk(chunk.unwrap()), &setup.rules(), &mut out).unwrap();
    }
    for id in &ten {
        let sub = SubagentTask {
            agent_type: "explore".into(),
            model: None,
            system: "s".into(),
            task: "t".into(),
            forked: false,
            tools: vec![],
            own_tools: Vec::new(),
            max_steps: None,
            max_credits: None,
        };
        let reply = Input::Reply(CallId::new(id), ToolReply::Delegate(sub));
        turn.step(&[], reply, &setup.rules(), &mut out).unwrap();
    }
    let asked = out.actions.iter().filter_map(|(path, action)| match action {
        TurnAction::CallModel { request, .. } if !path.is_empty() => Some(request.max_tokens),
        _ => None,
    });
    let micros: u64 = asked.map(|tokens| tokens * 15).sum();
    assert!(micros / 10_000 <= 7, "{micros}");
}

/// An approved call is paid from a top-up.
#[tokio::test]
async fn an_approved_call_is_topped_up() {
    let setup = TurnSetup::supervised([calls(&[("a", "pay", "{}")])]);
    let mut turn = turn("hi");
    setup.drive(&mut turn).await;
    let budget = TurnBudget { reserved: Credits::ZERO, top_up: Credits::new(50), ..AMPLE_BUDGET };
    let (rules, mut out) = (setup.rules(), TurnOutput::default());
    turn.step(&[], Input::Budget(budget), &rules, &mut out).unwrap();
    let yes = approve(&turn.questions()[0].1);
    turn.step(&[], Input::Decision(CallId::new("a"), yes), &rules, &mut out).unwrap();
    assert!(matches!(out.actions[..], [(_, TurnAction::TopUp(_))]), "{:?}", out.actions);
    turn.step(&[], Input::ToppedUp(Credits::new(2)), &rules, &mut out).unwrap();
    assert!(matches!(out.actions[1].1, TurnAction::Run { .. }), "{:?}", out.actions);
}

/// Repeating a call within one answer counts as repetition, and a person is asked
/// once.
#[tokio::test]
async fn repeated_calls_within_an_answer_count() {
    let ids: Vec<String> = (0..5).map(|n| format!("c{n}")).collect();
    let five: Vec<(&str, &str, &str)> = ids.iter().map(|id| (id.as_str(), "pay", "{}")).collect();
    let setup = TurnSetup::new([calls(&five), words("x")]);
    let mut paid = turn("hi");
    setup.drive(&mut paid).await;
    let ran = story(paid.new_items()).iter().filter(|line| line.starts_with("= ok")).count();
    assert_eq!(ran, 3);
    let setup = TurnSetup::supervised([calls(&five), words("x")]);
    setup.drive(&mut conversation("hi")).await;
    let asked = |event: &ostler_engine::turn::TurnEvent| {
        matches!(event, ostler_engine::turn::TurnEvent::Deferred(_))
    };
    assert_eq!(setup.host.events().iter().filter(|event| asked(event)).count(), 1);
}

/// An answer is bounded even if its chunks are empty.
#[tokio::test]
async fn an_answer_of_endless_calls_is_bounded() {
    let (setup, mut turn, mut out) = (TurnSetup::new([]), turn("hi"), TurnOutput::default());
    turn.resume(&KnownOutcomes::new(), &setup.rules(), &mut out);
    let call = |index| Chunk::Call { index, id: String::new(), name: "look".into() };
    for index in 0..1000 {
        turn.step(&[], Input::Chunk(call(index)), &setup.rules(), &mut out).unwrap();
    }
    let done = Input::Chunk(Chunk::Done(StopReason::ToolCalls));
    turn.step(&[], done, &setup.rules(), &mut out).unwrap();
    let Some(Item::Assistant { calls, .. }) =
        turn.history().iter().rev().find(|item| matches!(item, Item::Assistant { .. }))
    else {
        panic!("an answer")
    };
    assert_eq!(calls.len(), 64);
}

/// A panic before the tool returns a future is a failure as well; that of an
/// external tool has an unknown outcome.
#[tokio::test]
async fn a_panic_is_a_failure_of_its_tool() {
    let said = || vec![calls(&[("a", "boom", "{}")]), words("on")];
    let local = only(custom("boom"), said(), || panic!("at once"));
    let mut turn = turn("hi");
    assert!(matches!(local.drive(&mut turn).await, TurnProgress::Ended(TurnEnd::Answer { .. })));
    assert!(story(turn.new_items())[1].starts_with("= failed"));
    let outside = only(custom("boom").external(), said(), || panic!("at once"));
    let mut turn = crate::support::turn("hi");
    outside.drive(&mut turn).await;
    assert!(story(turn.new_items())[1].starts_with("= outcome_unknown"));
}

#[tokio::test]
async fn unanswered_follow_ups_are_returned() {
    let setup = TurnSetup::new([vec![]]);
    let (handle, mut commands) = command_channel();
    handle.follow_up(follow_up("first")).unwrap();
    let mut turn = turn("hi");
    let end = setup.drive_with(&mut turn, &KnownOutcomes::new(), &mut commands).await;
    assert!(matches!(end, TurnProgress::Ended(TurnEnd::ModelFailed(_))), "{end:?}");
    handle.follow_up(follow_up("second")).unwrap();
    assert_eq!(turn.take_follow_ups(), [follow_up("first")]);
    assert_eq!(commands.into_unread().messages, [follow_up("second")]);
    assert!(handle.follow_up(follow_up("third")).is_err());
}

/// Z10: a follow-up may come from outside.
#[tokio::test]
async fn z10_an_untrusted_follow_up_makes_destructive_tools_ask() {
    let setup = TurnSetup::new([words("x"), words("y")]);
    let (handle, mut commands) = command_channel();
    let mut outside = follow_up("a customer's file");
    outside.trust = Trust::Untrusted;
    handle.follow_up(outside).unwrap();
    let mut turn = turn("hi");
    setup.drive_with(&mut turn, &KnownOutcomes::new(), &mut commands).await;
    assert_eq!(turn.trust(), Trust::Untrusted);
}
