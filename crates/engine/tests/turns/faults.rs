//! Interruptions, odd providers and greedy models.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::money::Credits;
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::scope::ToolScope;
use ostler_domain::tool::{ToolGroup, ToolName, ToolSpec, Trust};
use ostler_engine::driver::{Commands, Progress, commands};
use ostler_engine::gate::Authorized;
use ostler_engine::history::{CallId, Item};
use ostler_engine::model::{Chunk, StopReason, Usage};
use ostler_engine::outcome::Outcome;
use ostler_engine::tool::{Definition, Reply, SubTurn, Tool, ToolContext, ToolSet};
use ostler_engine::turn::{Action, End, Input, Known, NewTurn, Out, Turn};

use crate::world::{
    RICH, Told, World, approve, calls, conversation, follow_up, is_acceptable, new_turn, story,
    turn, words,
};

/// The turn as it was stored before its first call outside.
fn stored(world: &World) -> Turn {
    Turn::load(&world.host.stored.lock().unwrap()[0].0).unwrap()
}

/// A world with one tool only.
fn only(
    spec: ToolSpec,
    said: Vec<crate::world::Said>,
    does: fn() -> BoxFuture<'static, Reply>,
) -> World {
    struct One(Definition, fn() -> BoxFuture<'static, Reply>);
    impl Tool for One {
        fn definition(&self) -> &Definition {
            &self.0
        }
        fn call<'a>(&'a self, _: &'a Authorized, _: &'a ToolContext) -> BoxFuture<'a, Reply> {
            (self.1)()
        }
    }
    let definition = Definition::new(spec, "", serde_json::json!({"type": "object"}));
    let tools = Arc::new(ToolSet::new([Arc::new(One(definition, does)) as Arc<dyn Tool>]).unwrap());
    let scope = ToolScope::unrestricted(tools.specs().cloned());
    World { scope, tools, ..World::new(said) }
}

fn custom(name: &'static str) -> ToolSpec {
    ToolSpec::write(ToolName::from_static(name), ToolGroup::Custom)
}

/// What a call outside says is bounded before it is stored.
#[tokio::test]
async fn a_long_outcome_is_stored_cut() {
    let long = || std::future::ready(Reply::Done(Outcome::ok("x".repeat(1_000_000)))).boxed();
    let world = only(custom("send").external(), vec![calls(&[("a", "send", "{}")])], long);
    let mut turn = turn("hi");
    world.drive(&mut turn).await;
    let outcomes = world.host.outcomes.lock().unwrap();
    let stored = &outcomes.values().next().unwrap().content;
    assert!(stored.len() < 33 * 1024, "{}", stored.len());
    assert_eq!(story(turn.said())[1], format!("= ok {stored}"));
}

/// A call that is made again after an interruption is charged once.
#[tokio::test]
async fn an_interruption_charges_nothing_twice() {
    let world = World::new([calls(&[("a", "pay", "{}"), ("b", "note", "{}")]), words("x")]);
    world.drive(&mut turn("hi")).await;
    let mut turn = stored(&world);
    let before = turn.account().charges();
    let world = World::new([words("ok")]);
    let known = Known::from([((vec![], CallId::new("a")), Outcome::ok("receipt"))]);
    world.drive_with(&mut turn, &known, &mut Commands::none()).await;
    assert_eq!(before, turn.account().charges());
}

/// Z10: what came from outside is from outside after an interruption, too.
#[tokio::test]
async fn z10_trust_survives_an_interruption() {
    let world = || {
        let said = vec![calls(&[("a", "mcp", "{}")]), words("x")];
        only(custom("mcp").external().untrusted(), said, || {
            std::future::ready(Reply::Done(Outcome::ok("from outside"))).boxed()
        })
    };
    let first = world();
    first.drive(&mut turn("hi")).await;
    let mut turn = stored(&first);
    let known = first.host.outcomes.lock().unwrap().clone();
    world().drive_with(&mut turn, &known, &mut Commands::none()).await;
    assert_eq!(turn.trust(), Trust::Untrusted);
}

/// What is known of one agent's call is not taken for another's of the same name.
#[tokio::test]
async fn known_outcomes_belong_to_one_agent() {
    let world = World::new([
        calls(&[("s1", "subagent", r#"{"text":"1"}"#), ("s2", "subagent", r#"{"text":"2"}"#)]),
        calls(&[("x", "pay", r#"{"text":"1"}"#)]),
        calls(&[("x", "pay", r#"{"text":"2"}"#)]),
    ]);
    world.drive(&mut turn("hi")).await;
    let last = world.host.stored.lock().unwrap().last().unwrap().0.clone();
    let mut turn = Turn::load(&last).unwrap();
    let known =
        Known::from([((vec![CallId::new("s1")], CallId::new("x")), Outcome::ok("receipt 1"))]);
    let world = World::new([words("one"), words("two"), words("both")]);
    world.drive_with(&mut turn, &known, &mut Commands::none()).await;
    let asked = world.model.asked();
    let receipts = asked
        .iter()
        .filter(|request| story(&request.history).iter().any(|line| line == "= ok receipt 1"))
        .count();
    assert_eq!(receipts, 1, "{:?}", story(turn.history()));
}

/// A call that had begun outside is not said to be impossible because its tool
/// is gone: nobody knows whether it was done.
#[tokio::test]
async fn a_begun_call_whose_tool_is_gone_is_unknown() {
    let world = World::new([calls(&[("a", "pay", "{}")]), words("x")]);
    world.drive(&mut turn("hi")).await;
    let mut turn = stored(&world);
    let other = only(custom("other"), vec![words("x")], || std::future::pending().boxed());
    other.drive(&mut turn).await;
    assert!(story(turn.said())[1].starts_with("= outcome_unknown"), "{:?}", story(turn.said()));
}

/// A provider that keeps its stream open after the end is not waited for.
#[tokio::test(start_paused = true)]
async fn a_stream_that_stays_open_holds_nothing_up() {
    let model = Told::hanging([calls(&[("a", "pay", "{}")])]);
    let world = World { autonomy: AutonomyLevel::Supervised, ..World::of(model) };
    let progress = world.drive(&mut turn("hi")).await;
    assert!(matches!(progress, Progress::Suspended(_)), "{progress:?}");
}

/// Providers that give no ids, or the same in every turn, or odd ones.
#[tokio::test]
async fn every_call_has_an_id_of_its_own() {
    for id in ["", "call_0", "call_1_0_0", "a/b c"] {
        let mut history = vec![Item::user("hi")];
        for _ in 0..3 {
            let world = World::new([calls(&[(id, "look", "{}"), (id, "look", "{}")])]);
            let mut turn = Turn::new(NewTurn { history, ..new_turn("") });
            world.drive(&mut turn).await;
            assert!(is_acceptable(turn.history(), true), "{:?}", turn.history());
            history = turn.history().to_vec();
            history.push(Item::user("again"));
        }
    }
}

/// Names that providers refuse do not stay in the conversation.
#[tokio::test]
async fn odd_names_are_cleaned() {
    let world = World::new([calls(&[("a", "web.fetch é", "{}"), ("b", "", "{}")]), words("x")]);
    let mut turn = turn("hi");
    world.drive(&mut turn).await;
    assert_eq!(story(turn.said())[..2], ["web_fetch__{}", "unnamed{}"]);
}

/// An answer without a word leaves no entry that providers refuse.
#[tokio::test]
async fn an_empty_answer_leaves_no_trace() {
    let world = World::new([vec![Ok(Chunk::Done(StopReason::End))], words("x")]);
    let (handle, mut commands) = commands();
    handle.follow_up(follow_up("and?")).unwrap();
    let mut turn = turn("hi");
    world.drive_with(&mut turn, &Known::new(), &mut commands).await;
    assert!(is_acceptable(turn.history(), true), "{:?}", turn.history());
}

/// Arguments that are nested too deep are not taken, so that what was stored can
/// be read.
#[tokio::test]
async fn deep_arguments_are_refused() {
    let deep = format!(r#"{{"text": {}{}}}"#, "[".repeat(100), "]".repeat(100));
    let world =
        World::new([calls(&[("a", "look", &deep)]), calls(&[("b", "pay", "{}")]), words("x")]);
    let mut turn = turn("hi");
    world.drive(&mut turn).await;
    assert!(story(turn.said())[1].starts_with("= invalid"));
    assert_eq!(stored(&world).account().steps, 2);
}

/// E01, Z12: an answer that was stopped has cost something.
#[tokio::test]
async fn e01_what_was_stopped_is_paid() {
    let world = World::new([]);
    for told in [None, Some(Usage { input: 100_000, output: 4000, cached: 0, written: 0 })] {
        let (mut turn, mut out) = (turn("hi"), Out::default());
        turn.resume(&Known::new(), &world.rules(), &mut out);
        for chunk in told.map(Chunk::Usage).into_iter().chain([Chunk::Text("long".into())]) {
            turn.step(&[], Input::Chunk(chunk), &world.rules(), &mut out).unwrap();
        }
        turn.step(&[], Input::Abort, &world.rules(), &mut out).unwrap();
        let charged: u64 = turn.account().charges().iter().map(|c| c.amount.get()).sum();
        assert_eq!(charged, if told.is_some() { 36 } else { 1 });
    }
}

/// C20, Z05: agents at work at the same time share what is left.
#[tokio::test]
async fn c20_agents_at_once_share_one_budget() {
    let ten: Vec<String> = (0..10).map(|n| format!("c{n}")).collect();
    let said: Vec<(String, String)> =
        ten.iter().map(|id| (id.clone(), format!(r#"{{"text":"{id}"}}"#))).collect();
    let said: Vec<(&str, &str, &str)> =
        said.iter().map(|(id, json)| (id.as_str(), "subagent", json.as_str())).collect();
    let budget = TurnBudget { session: Credits::new(7), ..RICH };
    let (world, mut out) = (World::new([]), Out::default());
    let mut turn = Turn::new(NewTurn { budget, ..new_turn("hi") });
    turn.resume(&Known::new(), &world.rules(), &mut out);
    for chunk in calls(&said) {
        turn.step(&[], Input::Chunk(chunk.unwrap()), &world.rules(), &mut out).unwrap();
    }
    for id in &ten {
        let sub = SubTurn {
            agent_type: "explore".into(),
            model: None,
            system: "s".into(),
            task: "t".into(),
            forked: false,
            tools: vec![],
        };
        let reply = Input::Reply(CallId::new(id), Reply::Delegate(sub));
        turn.step(&[], reply, &world.rules(), &mut out).unwrap();
    }
    let asked = out.actions.iter().filter_map(|(path, action)| match action {
        Action::CallModel { request, .. } if !path.is_empty() => Some(request.max_tokens),
        _ => None,
    });
    let micros: u64 = asked.map(|tokens| tokens * 15).sum();
    assert!(micros / 10_000 <= 7, "{micros}");
}

/// A call that a person approved is paid from what is reserved for it.
#[tokio::test]
async fn an_approved_call_is_topped_up() {
    let world = World::supervised([calls(&[("a", "pay", "{}")])]);
    let mut turn = turn("hi");
    world.drive(&mut turn).await;
    let budget = TurnBudget { reserved: Credits::ZERO, top_up: Credits::new(50), ..RICH };
    let (rules, mut out) = (world.rules(), Out::default());
    turn.step(&[], Input::Budget(budget), &rules, &mut out).unwrap();
    let yes = approve(&turn.questions()[0].1);
    turn.step(&[], Input::Decision(CallId::new("a"), yes), &rules, &mut out).unwrap();
    assert!(matches!(out.actions[..], [(_, Action::TopUp(_))]), "{:?}", out.actions);
    turn.step(&[], Input::ToppedUp(Credits::new(2)), &rules, &mut out).unwrap();
    assert!(matches!(out.actions[1].1, Action::Run { .. }), "{:?}", out.actions);
}

/// The same call many times in one answer is a repetition like any other, and a
/// person is asked once.
#[tokio::test]
async fn repetitions_within_an_answer_count() {
    let ids: Vec<String> = (0..5).map(|n| format!("c{n}")).collect();
    let five: Vec<(&str, &str, &str)> = ids.iter().map(|id| (id.as_str(), "pay", "{}")).collect();
    let world = World::new([calls(&five), words("x")]);
    let mut paid = turn("hi");
    world.drive(&mut paid).await;
    let ran = story(paid.said()).iter().filter(|line| line.starts_with("= ok")).count();
    assert_eq!(ran, 3);
    let world = World::supervised([calls(&five), words("x")]);
    world.drive(&mut conversation("hi")).await;
    let asked = |event: &ostler_engine::turn::Event| {
        matches!(event, ostler_engine::turn::Event::Deferred(_))
    };
    assert_eq!(world.host.events().iter().filter(|event| asked(event)).count(), 1);
}

/// An answer has its limits, also if it consists of nothing.
#[tokio::test]
async fn an_answer_of_endless_calls_is_bounded() {
    let (world, mut turn, mut out) = (World::new([]), turn("hi"), Out::default());
    turn.resume(&Known::new(), &world.rules(), &mut out);
    let call = |index| Chunk::Call { index, id: String::new(), name: "look".into() };
    for index in 0..1000 {
        turn.step(&[], Input::Chunk(call(index)), &world.rules(), &mut out).unwrap();
    }
    let done = Input::Chunk(Chunk::Done(StopReason::ToolCalls));
    turn.step(&[], done, &world.rules(), &mut out).unwrap();
    let Some(Item::Assistant { calls, .. }) =
        turn.history().iter().rev().find(|item| matches!(item, Item::Assistant { .. }))
    else {
        panic!("an answer")
    };
    assert_eq!(calls.len(), 64);
}

/// A tool that panics before it even returns a future is a failure like any
/// other; if it has an effect outside, nobody knows whether that happened.
#[tokio::test]
async fn a_panic_stays_with_its_tool() {
    let said = || vec![calls(&[("a", "boom", "{}")]), words("on")];
    let local = only(custom("boom"), said(), || panic!("at once"));
    let mut turn = turn("hi");
    assert!(matches!(local.drive(&mut turn).await, Progress::Ended(End::Answer { .. })));
    assert!(story(turn.said())[1].starts_with("= failed"));
    let outside = only(custom("boom").external(), said(), || panic!("at once"));
    let mut turn = crate::world::turn("hi");
    outside.drive(&mut turn).await;
    assert!(story(turn.said())[1].starts_with("= outcome_unknown"));
}

/// What was written too late is not lost.
#[tokio::test]
async fn follow_ups_that_were_not_answered_are_given_back() {
    let world = World::new([vec![]]);
    let (handle, mut commands) = commands();
    handle.follow_up(follow_up("first")).unwrap();
    let mut turn = turn("hi");
    let end = world.drive_with(&mut turn, &Known::new(), &mut commands).await;
    assert!(matches!(end, Progress::Ended(End::ModelFailed(_))), "{end:?}");
    handle.follow_up(follow_up("second")).unwrap();
    assert_eq!(turn.take_follow_ups(), [follow_up("first")]);
    assert_eq!(commands.left_over().written, [follow_up("second")]);
    assert!(handle.follow_up(follow_up("third")).is_err());
}

/// Z10: what is written meanwhile may be from outside.
#[tokio::test]
async fn z10_a_follow_up_from_outside_lowers_authority() {
    let world = World::new([words("x"), words("y")]);
    let (handle, mut commands) = commands();
    let mut outside = follow_up("a customer's file");
    outside.trust = Trust::Untrusted;
    handle.follow_up(outside).unwrap();
    let mut turn = turn("hi");
    world.drive_with(&mut turn, &Known::new(), &mut commands).await;
    assert_eq!(turn.trust(), Trust::Untrusted);
}
