//! Turns that run to their end.

use ostler_engine::driver::TurnProgress;
use ostler_engine::model::{Chunk, Restart, StopReason};
use ostler_engine::turn::{TurnEnd, TurnEvent};

use crate::support::{
    TurnSetup, calls, conversation, follow_up, is_acceptable, story, turn, words,
};

fn answer(text: &str) -> TurnProgress {
    TurnProgress::Ended(TurnEnd::Answer { text: text.into(), stop: StopReason::End })
}

#[tokio::test]
async fn an_answer_ends_the_turn() {
    let setup = TurnSetup::new([words("hello")]);
    let mut turn = turn("hi");
    assert_eq!(setup.drive(&mut turn).await, answer("hello"));
    assert_eq!(story(turn.new_items()), ["hello"]);
    let asked = setup.model.asked();
    assert_eq!((&*asked[0].system, asked[0].history.len()), ("You help.", 1));
    assert_eq!(asked[0].offered.len(), setup.scope.active().count());
}

/// C10: the model is told the outcome of its calls next.
#[tokio::test]
async fn c10_tool_outcomes_are_passed_to_the_model() {
    let setup = TurnSetup::new([
        calls(&[("a", "look", r#"{"text": "one"}"#), ("b", "broken", ""), ("c", "look", "{}")]),
        words("done"),
    ]);
    let mut turn = turn("hi");
    assert_eq!(setup.drive(&mut turn).await, answer("done"));
    let expected = [
        r#"look{"text":"one"}"#,
        "broken{}",
        "look{}",
        "= ok one",
        "= failed out of order",
        "= ok nothing",
        "done",
    ];
    assert_eq!(story(turn.new_items()), expected);
    assert!(is_acceptable(turn.history(), true));
    assert_eq!(setup.model.asked()[1].history.len(), 3);
}

/// M28: a turn that does not finish is ended with a clear reason.
#[tokio::test]
async fn m28_a_turn_ends_at_its_step_limit() {
    let endless = (0..2000).map(|n| calls(&[("x", "look", &format!(r#"{{"text": "{n}"}}"#))]));
    let setup = TurnSetup::new(endless);
    let mut turn = turn("hi");
    let end = setup.drive(&mut turn).await;
    assert_eq!(end, TurnProgress::Ended(TurnEnd::StepLimit { limit: 1000 }));
    assert_eq!(setup.model.asked().len(), 1000);
    assert!(is_acceptable(turn.history(), true));
}

#[tokio::test]
async fn repeated_calls_are_denied_and_then_end_the_turn() {
    let setup = TurnSetup::new((0..20).map(|_| calls(&[("x", "look", r#"{"text": "same"}"#)])));
    let mut turn = turn("hi");
    let end = setup.drive(&mut turn).await;
    assert_eq!(end, TurnProgress::Ended(TurnEnd::Loop { tool: "look".into() }));
    let refused =
        story(turn.new_items()).iter().filter(|line| line.starts_with("= denied")).count();
    assert_eq!((setup.model.asked().len(), refused), (7, 3));
    assert!(is_acceptable(turn.history(), true));
}

/// C03, C04: a restarted answer is complete, and the failure is recorded.
#[tokio::test]
async fn c03_text_before_a_restart_is_discarded() {
    let restart = Restart { failed: "a".into(), model: "b".into(), why: "cut".into() };
    let mut said = vec![Ok(Chunk::Text("half".into()))];
    said.push(Ok(Chunk::Call { index: 0, id: "x".into(), name: "pay".into() }));
    said.push(Ok(Chunk::Restart(restart.clone())));
    said.extend(words("whole"));
    let setup = TurnSetup::new([said]);
    let mut turn = turn("hi");
    assert_eq!(setup.drive(&mut turn).await, answer("whole"));
    assert_eq!(turn.account().restarts, [restart]);
    assert!(setup.host.events().contains(&TurnEvent::DraftDiscarded));
    // C04: the trace names both models.
    let traced = setup.host.events().into_iter().find_map(|event| match event {
        TurnEvent::Restarted(Restart { failed, model, why }) => Some((failed, model, why)),
        _ => None,
    });
    assert_eq!(traced, Some(("a".into(), "b".into(), "cut".into())));
    assert!(turn.account().decisions.is_empty());
}

#[tokio::test]
async fn an_incomplete_answer_runs_no_tool() {
    let mut cut = calls(&[("a", "pay", "{}")]);
    cut.pop();
    let setup = TurnSetup::new([cut]);
    let mut turn = turn("hi");
    let end = setup.drive(&mut turn).await;
    assert!(matches!(end, TurnProgress::Ended(TurnEnd::ModelFailed(_))), "{end:?}");
    assert!(turn.account().decisions.is_empty());
    assert!(turn.new_items().is_empty());
}

/// A call that was cut off by the token limit is not run.
#[tokio::test]
async fn a_truncated_call_is_not_run() {
    let mut said = calls(&[("a", "look", "{}"), ("b", "pay", "")]);
    *said.last_mut().unwrap() = Ok(Chunk::Done(StopReason::MaxTokens));
    let setup = TurnSetup::new([said, words("sorry")]);
    let mut turn = turn("hi");
    assert_eq!(setup.drive(&mut turn).await, answer("sorry"));
    assert!(story(turn.new_items())[3].starts_with("= invalid The answer was cut off"));
    assert!(setup.host.stored.lock().unwrap().is_empty());
}

/// M32: messages that arrive during an answer are answered afterwards, in order.
#[tokio::test]
async fn m32_follow_ups_are_answered_in_order() {
    use ostler_engine::driver::command_channel;
    use ostler_engine::turn::KnownOutcomes;
    let setup = TurnSetup::new([words("first"), words("second"), words("third")]);
    let mut turn = turn("hi");
    let (handle, mut commands) = command_channel();
    for text in ["and?", "more?"] {
        handle.follow_up(follow_up(text)).unwrap();
    }
    let end = setup.drive_with(&mut turn, &KnownOutcomes::new(), &mut commands).await;
    assert_eq!(end, answer("third"));
    assert_eq!(story(turn.new_items()), ["first", "user 1", "second", "user 1", "third"]);
    assert!(setup.host.events().contains(&TurnEvent::FollowUpQueued { count: 2 }));
}

#[tokio::test]
async fn the_end_event_comes_once_and_last() {
    for said in [vec![words("a")], vec![calls(&[("a", "look", "{}")])], vec![vec![]]] {
        let setup = TurnSetup::new(said);
        setup.drive(&mut conversation("hi")).await;
        let events = setup.host.events();
        let ends = events.iter().filter(|event| matches!(event, TurnEvent::Ended(_))).count();
        assert_eq!(ends, 1);
        assert!(matches!(events.last(), Some(TurnEvent::Ended(_))));
    }
}
