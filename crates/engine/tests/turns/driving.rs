//! Turns that go their way.

use ostler_engine::driver::Progress;
use ostler_engine::model::{Chunk, Restart, StopReason};
use ostler_engine::turn::{End, Event};

use crate::world::{World, calls, conversation, follow_up, is_acceptable, story, turn, words};

fn answer(text: &str) -> Progress {
    Progress::Ended(End::Answer { text: text.into(), stop: StopReason::End })
}

#[tokio::test]
async fn an_answer_ends_the_turn() {
    let world = World::new([words("hello")]);
    let mut turn = turn("hi");
    assert_eq!(world.drive(&mut turn).await, answer("hello"));
    assert_eq!(story(turn.said()), ["hello"]);
    let asked = world.model.asked();
    assert_eq!((&*asked[0].system, asked[0].history.len()), ("You help.", 1));
    assert_eq!(asked[0].offered.len(), world.scope.active().count());
}

/// C10: what a tool came to is what the model is told next.
#[tokio::test]
async fn c10_calls_are_run_and_the_model_is_told() {
    let world = World::new([
        calls(&[("a", "look", r#"{"text": "one"}"#), ("b", "broken", ""), ("c", "look", "{}")]),
        words("done"),
    ]);
    let mut turn = turn("hi");
    assert_eq!(world.drive(&mut turn).await, answer("done"));
    let expected = [
        r#"look{"text":"one"}"#,
        "broken{}",
        "look{}",
        "= ok one",
        "= failed out of order",
        "= ok nothing",
        "done",
    ];
    assert_eq!(story(turn.said()), expected);
    assert!(is_acceptable(turn.history(), true));
    assert_eq!(world.model.asked()[1].history.len(), 3);
}

/// M28: a turn that does not come to an end is ended, with a clear reason.
#[tokio::test]
async fn m28_a_turn_stops_after_its_steps() {
    let endless = (0..2000).map(|n| calls(&[("x", "look", &format!(r#"{{"text": "{n}"}}"#))]));
    let world = World::new(endless);
    let mut turn = turn("hi");
    let end = world.drive(&mut turn).await;
    assert_eq!(end, Progress::Ended(End::StepLimit { most: 1000 }));
    assert_eq!(world.model.asked().len(), 1000);
    assert!(is_acceptable(turn.history(), true));
}

/// The same call again and again is refused first, and then the turn ends.
#[tokio::test]
async fn a_model_that_repeats_itself_is_stopped() {
    let world = World::new((0..20).map(|_| calls(&[("x", "look", r#"{"text": "same"}"#)])));
    let mut turn = turn("hi");
    let end = world.drive(&mut turn).await;
    assert_eq!(end, Progress::Ended(End::Loop { tool: "look".into() }));
    let refused = story(turn.said()).iter().filter(|line| line.starts_with("= denied")).count();
    assert_eq!((world.model.asked().len(), refused), (7, 3));
    assert!(is_acceptable(turn.history(), true));
}

/// C03, C04: an answer that began anew is whole, and what failed is on record.
#[tokio::test]
async fn c03_what_came_before_a_restart_is_void() {
    let restart = Restart { failed: "a".into(), model: "b".into(), why: "cut".into() };
    let mut said = vec![Ok(Chunk::Text("half".into()))];
    said.push(Ok(Chunk::Call { index: 0, id: "x".into(), name: "pay".into() }));
    said.push(Ok(Chunk::Restart(restart.clone())));
    said.extend(words("whole"));
    let world = World::new([said]);
    let mut turn = turn("hi");
    assert_eq!(world.drive(&mut turn).await, answer("whole"));
    assert_eq!(turn.account().restarts, [restart]);
    assert!(world.host.events().contains(&Event::DraftDiscarded));
    // C04: the trace names both models.
    let traced = world.host.events().into_iter().find_map(|event| match event {
        Event::Restarted(Restart { failed, model, why }) => Some((failed, model, why)),
        _ => None,
    });
    assert_eq!(traced, Some(("a".into(), "b".into(), "cut".into())));
    assert!(turn.account().decisions.is_empty());
}

/// A stream that ends in the middle runs nothing of what it had begun to call.
#[tokio::test]
async fn a_cut_answer_runs_no_tool() {
    let mut cut = calls(&[("a", "pay", "{}")]);
    cut.pop();
    let world = World::new([cut]);
    let mut turn = turn("hi");
    let end = world.drive(&mut turn).await;
    assert!(matches!(end, Progress::Ended(End::ModelFailed(_))), "{end:?}");
    assert!(turn.account().decisions.is_empty());
    assert!(turn.said().is_empty());
}

/// An answer that was too long for its last call does not run it.
#[tokio::test]
async fn a_call_that_was_cut_off_is_not_run() {
    let mut said = calls(&[("a", "look", "{}"), ("b", "pay", "")]);
    *said.last_mut().unwrap() = Ok(Chunk::Done(StopReason::MaxTokens));
    let world = World::new([said, words("sorry")]);
    let mut turn = turn("hi");
    assert_eq!(world.drive(&mut turn).await, answer("sorry"));
    assert!(story(turn.said())[3].starts_with("= invalid The answer was cut off"));
    assert!(world.host.stored.lock().unwrap().is_empty());
}

/// M32: what was written meanwhile is answered afterwards, in order.
#[tokio::test]
async fn m32_follow_ups_are_answered_in_order() {
    use ostler_engine::driver::commands;
    use ostler_engine::turn::Known;
    let world = World::new([words("first"), words("second"), words("third")]);
    let mut turn = turn("hi");
    let (handle, mut commands) = commands();
    for text in ["and?", "more?"] {
        handle.follow_up(follow_up(text)).unwrap();
    }
    let end = world.drive_with(&mut turn, &Known::new(), &mut commands).await;
    assert_eq!(end, answer("third"));
    assert_eq!(story(turn.said()), ["first", "user 1", "second", "user 1", "third"]);
    assert!(world.host.events().contains(&Event::FollowUpQueued { count: 2 }));
}

/// A turn ends once, and its end is the last that is heard of it.
#[tokio::test]
async fn the_end_comes_once_and_last() {
    for said in [vec![words("a")], vec![calls(&[("a", "look", "{}")])], vec![vec![]]] {
        let world = World::new(said);
        world.drive(&mut conversation("hi")).await;
        let events = world.host.events();
        let ends = events.iter().filter(|event| matches!(event, Event::Ended(_))).count();
        assert_eq!(ends, 1);
        assert!(matches!(events.last(), Some(Event::Ended(_))));
    }
}
