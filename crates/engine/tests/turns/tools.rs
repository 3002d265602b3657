//! What becomes of calls.

use std::sync::Arc;

use ostler_domain::gate::{AskReason, DenyReason, Verdict};
use ostler_domain::tool::{ToolName, Trust};
use ostler_engine::driver::Progress;
use ostler_engine::outcome::Status;
use ostler_engine::tool::{BadTool, Definition, ToolSet};
use ostler_engine::turn::{End, Event};
use serde_json::json;

use crate::world::{World, calls, conversation, story, turn, words};

/// M29: a tool that does not exist is answered once with those that do.
#[tokio::test]
async fn m29_an_unknown_tool_is_corrected_once() {
    let world =
        World::new([calls(&[("a", "lokk", "{}")]), calls(&[("b", "lookk", "{}")]), words("sorry")]);
    let mut turn = turn("hi");
    world.drive(&mut turn).await;
    let story = story(turn.said());
    assert!(story[1].contains("These tools are: ") && story[1].contains("look"), "{}", story[1]);
    assert!(!story[3].contains("look"), "{}", story[3]);
    let verdicts: Vec<_> = turn.account().decisions.iter().map(|d| d.verdict.clone()).collect();
    assert_eq!(verdicts, [const { Verdict::Deny(DenyReason::UnknownTool) }; 2]);
}

/// C08, C10: arguments that do not fit go back to the model in words it can
/// correct them by, and count as failures.
#[tokio::test]
async fn c08_arguments_that_do_not_fit_are_failures() {
    let world = World::new([
        calls(&[("a", "look", r#"{"text": 5}"#)]),
        calls(&[("b", "look", "{broken")]),
        calls(&[("c", "look", r#"{"other": 1}"#)]),
        calls(&[("d", "look", "{}")]),
        words("sorry"),
    ]);
    let mut turn = turn("hi");
    world.drive(&mut turn).await;
    let story = story(turn.said());
    assert!(story[1].starts_with("= invalid") && story[1].contains("/text"), "{}", story[1]);
    assert!(story[3].contains("not a JSON object"), "{}", story[3]);
    assert!(story[7].starts_with("= disabled"), "{}", story[7]);
    assert_eq!(turn.account().errors.failures()["look"], 3);
}

/// C06, C09: the third failure turns a tool off within the turn, and that is
/// said once.
#[tokio::test]
async fn c09_a_tool_that_fails_three_times_is_off() {
    let again = |id| calls(&[(id, "broken", &format!(r#"{{"text": "{id}"}}"#))]);
    let world = World::new([again("a"), again("b"), again("c"), again("d"), words("sorry")]);
    let mut turn = turn("hi");
    world.drive(&mut turn).await;
    let lines = story(turn.said());
    let ends: Vec<&str> =
        lines.iter().filter(|line| line.starts_with('=')).map(String::as_str).collect();
    assert_eq!(ends[..3], ["= failed out of order"; 3]);
    assert!(ends[3].starts_with("= disabled"), "{}", ends[3]);
    let off = Event::ToolDisabled { tool: ToolName::from_static("broken") };
    assert_eq!(world.host.events().iter().filter(|event| **event == off).count(), 1);
}

#[tokio::test]
async fn a_tool_that_breaks_down_takes_nothing_with_it() {
    let world = World::new([calls(&[("a", "panics", "{}"), ("b", "look", "{}")]), words("on")]);
    let mut turn = turn("hi");
    world.drive(&mut turn).await;
    assert_eq!(story(turn.said())[2..], ["= failed The tool broke down.", "= ok nothing", "on"]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_has_its_time() {
    let world = World::new([calls(&[("a", "slow", "{}"), ("b", "slow_pay", "{}")]), words("well")]);
    let mut turn = turn("hi");
    world.drive(&mut turn).await;
    let said = story(turn.said());
    assert_eq!(said[2], "= timed_out The tool did not answer within 5 s.");
    assert_eq!(said[3], "= outcome_unknown The tool did not answer within 5 s.");
}

#[tokio::test]
async fn a_long_output_is_cut() {
    let world = World::new([calls(&[("a", "long", "{}")]), words("well")]);
    let mut turn = turn("hi");
    world.drive(&mut turn).await;
    assert!(story(turn.said())[1].ends_with("[4000 more bytes were left out]"));
}

/// What a local tool wants stored is kept for the commit, in order, and later
/// calls of the turn know of it.
#[tokio::test]
async fn effects_are_kept_for_the_commit() {
    let world = World::new([
        calls(&[("a", "note", r#"{"text": "one"}"#)]),
        calls(&[("b", "note", r#"{"text": "two"}"#)]),
        words("noted"),
    ]);
    let mut turn = turn("hi");
    world.drive(&mut turn).await;
    let data: Vec<_> = turn.account().effects.iter().map(|effect| effect.data.clone()).collect();
    assert_eq!(data, ["one", "two"]);
    assert_eq!(story(turn.said())[3], "= ok 1 before");
}

/// Calls of one answer that want something stored run one after the other, in
/// order and each knowing of those before it, whichever agent makes them; reading
/// does not wait for them.
#[tokio::test(start_paused = true)]
async fn calls_that_store_know_of_each_other() {
    let note = |id, text| (id, "slow_note", text);
    let (one, two) = (r#"{"text": "one"}"#, r#"{"text": "two"}"#);
    let world = World::new([
        calls(&[note("a", one), ("l", "look", "{}"), note("b", two), ("c", "note", "{}")]),
        words("noted"),
    ]);
    let mut turn = turn("hi");
    world.drive(&mut turn).await;
    let said = story(turn.said());
    assert_eq!(
        said[4..],
        ["= ok 0 before", "= ok nothing", "= ok 1 before", "= ok 2 before", "noted"]
    );
    let ended = world.host.events().into_iter().filter_map(|event| match event {
        Event::CallEnded { call, .. } => Some(call.0.to_string()),
        _ => None,
    });
    assert_eq!(ended.collect::<Vec<_>>(), ["l", "a", "b", "c"]);
    let data: Vec<_> = turn.account().effects.iter().map(|effect| effect.data.clone()).collect();
    assert_eq!(data, ["one", "two", "nothing"]);
}

/// A stopped turn starts none of the calls that waited for others.
#[tokio::test(start_paused = true)]
async fn calls_that_wait_for_others_are_stopped_with_them() {
    let slow = |id| (id, "slow_note", r#"{"text": "x"}"#);
    let mut world = World::new([calls(&[slow("a"), slow("b")]), words("never")]);
    world.place.timeout = std::time::Duration::from_millis(1500);
    let mut turn = turn("hi");
    assert_eq!(world.drive(&mut turn).await, Progress::Ended(End::TimedOut));
    assert_eq!(turn.account().effects.len(), 1);
    assert!(story(turn.said())[3].starts_with("= aborted"), "{:?}", story(turn.said()));
}

/// Z10: once the turn has read from outside, a destructive tool asks, whatever
/// the autonomy says.
#[tokio::test]
async fn z10_reading_from_outside_lowers_authority() {
    let world = World::new([
        calls(&[("a", "pay", "{}")]),
        calls(&[("b", "web", "{}")]),
        calls(&[("c", "pay", r#"{"text": "again"}"#)]),
        words("checking"),
    ]);
    let mut turn = conversation("hi");
    world.drive(&mut turn).await;
    let verdicts: Vec<_> = turn.account().decisions.iter().map(|d| &d.verdict).collect();
    assert!(matches!(verdicts[0], Verdict::Allow(_)));
    assert_eq!(verdicts[2], &Verdict::Ask(AskReason::Untrusted));
    assert_eq!(turn.trust(), Trust::Untrusted);
    assert_eq!(world.host.stored.lock().unwrap().len(), 1, "one payment was made");
}

/// C05: in a conversation the call is not run, a person is asked, and the turn
/// goes on and answers.
#[tokio::test]
async fn c05_a_conversation_goes_on_without_the_call() {
    let world = World::supervised([calls(&[("a", "pay", "{}")]), words("I am checking")]);
    let mut turn = conversation("hi");
    let end = world.drive(&mut turn).await;
    assert!(matches!(end, Progress::Ended(End::Answer { .. })), "{end:?}");
    assert!(story(turn.said())[1].starts_with("= pending_approval"));
    let deferred = world.host.events().into_iter().find_map(|event| match event {
        Event::Deferred(question) => Some(question.call.name),
        _ => None,
    });
    assert_eq!(deferred.as_deref(), Some("pay"));
    assert!(world.host.stored.lock().unwrap().is_empty());
}

/// Calls with an effect outside are stored before they are made, together, and
/// what they came to afterwards.
#[tokio::test]
async fn calls_outside_are_stored_first() {
    let two = [("a", "pay", "{}"), ("b", "look", "{}"), ("c", "pay", r#"{"text": "2"}"#)];
    let world = World::new([calls(&two), words("paid")]);
    let mut turn = turn("hi");
    world.drive(&mut turn).await;
    let stored = world.host.stored.lock().unwrap();
    let keys: Vec<&str> = stored[0].1.iter().map(|intent| intent.key.as_str()).collect();
    assert_eq!((stored.len(), keys), (1, vec!["run/a", "run/c"]));
    let outcomes = world.host.outcomes.lock().unwrap();
    assert_eq!(outcomes.len(), 2);
    assert!(outcomes.values().all(|outcome| outcome.status == Status::Ok));
}

/// Nothing is done outside if it cannot be stored first.
#[tokio::test]
async fn nothing_is_done_outside_that_was_not_stored() {
    use ostler_engine::driver::{Commands, Driver};
    let mut world = World::new([calls(&[("a", "pay", "{}")])]);
    world.host.fails = true;
    let driver = Driver { place: &world.place, rules: world.rules(), host: &world.host };
    let mut turn = turn("hi");
    let result = driver.drive(&mut turn, &Default::default(), &mut Commands::none()).await;
    assert_eq!(result, Err("the disk is full"));
    assert!(world.host.outcomes.lock().unwrap().is_empty());
}

#[test]
fn a_tool_that_cannot_be_offered_is_refused() {
    let with = |schema| {
        let spec = crate::world::tools().definition("look").unwrap().spec.clone();
        struct One(Definition);
        impl ostler_engine::tool::Tool for One {
            fn definition(&self) -> &Definition {
                &self.0
            }
            fn call<'a>(
                &'a self,
                _: &'a ostler_engine::gate::Authorized,
                _: &'a ostler_engine::tool::ToolContext,
            ) -> futures_util::future::BoxFuture<'a, ostler_engine::tool::Reply> {
                Box::pin(std::future::pending())
            }
        }
        Arc::new(One(Definition::new(spec, "", schema))) as Arc<dyn ostler_engine::tool::Tool>
    };
    let bad = ToolSet::new([with(json!({"type": 5}))]);
    assert!(matches!(bad, Err(BadTool::Schema { .. })), "{bad:?}");
    let far = ToolSet::new([with(json!({"$ref": "https://example.com/schema.json"}))]);
    assert!(matches!(far, Err(BadTool::Schema { .. })), "{far:?}");
    let twice = ToolSet::new([with(json!({})), with(json!({}))]);
    assert!(matches!(twice, Err(BadTool::Twice(_))), "{twice:?}");
}
