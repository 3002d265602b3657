//! Turns that are interrupted and resumed.

use std::time::Duration;

use ostler_engine::driver::TurnProgress;
use ostler_engine::history::CallId;
use ostler_engine::model::Chunk;
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::turn::{
    KnownOutcomes, LoadError, NewTurn, STATE_VERSION, Turn, TurnEnd, TurnLimits,
};

use crate::support::{
    AnswerChunks, FakeModel, TurnSetup, calls, is_acceptable, new_turn, story, turn, words,
};

/// Returns the turn as it was stored before its first external call.
async fn interrupted(said: &[(&str, &str, &str)]) -> Turn {
    let setup = TurnSetup::new([calls(said), words("never heard")]);
    setup.drive(&mut turn("hi")).await;
    let stored = setup.host.stored.lock().unwrap();
    Turn::load(&stored[0].0).unwrap()
}

/// After a crash during an external call, neither the model call nor the tool call
/// is repeated; the outcome is unknown.
#[tokio::test]
async fn an_external_call_is_not_repeated_after_a_crash() {
    let mut turn = interrupted(&[("a", "pay", "{}"), ("b", "look", "{}")]).await;
    let setup = TurnSetup::new([words("I am not sure")]);
    let end = setup.drive(&mut turn).await;
    assert!(matches!(end, TurnProgress::Ended(TurnEnd::Answer { .. })), "{end:?}");
    assert!(story(turn.new_items())[2].starts_with("= outcome_unknown"));
    assert_eq!(story(turn.new_items())[3], "= ok nothing");
    assert!(setup.host.stored.lock().unwrap().is_empty(), "nothing was paid");
    assert_eq!(setup.model.asked().len(), 1);
}

/// After a crash behind an external call, its stored outcome is used.
#[tokio::test]
async fn a_known_outcome_is_used() {
    let mut turn = interrupted(&[("a", "pay", "{}")]).await;
    let setup = TurnSetup::new([words("paid")]);
    let known = KnownOutcomes::from([((vec![], CallId::new("a")), ToolOutcome::ok("receipt 7"))]);
    setup.drive_with(&mut turn, &known, &mut ostler_engine::driver::TurnCommands::none()).await;
    assert_eq!(story(turn.new_items())[1..], ["= ok receipt 7", "paid"]);
    assert!(is_acceptable(turn.history(), true));
}

/// Returns a turn as it is stored while a model is in the middle of its last answer.
async fn interrupted_answer(mut turn: Turn, before: Option<AnswerChunks>) -> Turn {
    let half = vec![Ok(Chunk::Text("half".into()))];
    let setup = TurnSetup::of(FakeModel::hanging(before.into_iter().chain([half])));
    let driven = tokio::time::timeout(Duration::from_secs(1), setup.drive(&mut turn)).await;
    assert!(driven.is_err(), "it waits for the rest of the answer: {driven:?}");
    Turn::load(&turn.store().unwrap()).unwrap()
}

/// Z01: an answer that was lost with its process is asked for again and does not count as a
/// step, neither of the turn nor of a subagent.
#[tokio::test(start_paused = true)]
async fn z01_a_lost_answer_is_no_step() {
    let limits = TurnLimits { max_steps: 2, ..TurnLimits::default() };
    let new = Turn::new(NewTurn { limits, ..new_turn("hi") });
    let mut resumed = interrupted_answer(new, None).await;
    let setup = TurnSetup::new([calls(&[("a", "look", "{}")]), words("found")]);
    let end = setup.drive(&mut resumed).await;
    assert!(matches!(end, TurnProgress::Ended(TurnEnd::Answer { .. })), "{end:?}");

    let delegated = calls(&[("a", "assistant", r#"{"text": "find it"}"#)]);
    let mut resumed = interrupted_answer(turn("hi"), Some(delegated)).await;
    let setup = TurnSetup::new([calls(&[("b", "look", "{}")]), words("found"), words("done")]);
    setup.drive(&mut resumed).await;
    let said = story(resumed.new_items());
    assert!(said[1].starts_with("= ok found"), "{said:?}");
}

#[tokio::test]
async fn a_turn_of_an_older_version_still_loads() {
    let text = include_str!("turn_v1.json");
    let mut turn = Turn::load(text.trim()).unwrap();
    let setup = TurnSetup::new([words("welcome back")]);
    let TurnProgress::Suspended(questions) = setup.drive(&mut turn).await else {
        panic!("it waits")
    };
    assert_eq!(questions[0].1.call.name, "pay");
}

#[test]
fn a_turn_of_a_newer_version_is_rejected() {
    let mut stored: serde_json::Value = serde_json::from_str(&turn("hi").store().unwrap()).unwrap();
    stored["version"] = (STATE_VERSION + 1).into();
    stored["something"] = "new".into();
    let (found, supported) = (STATE_VERSION + 1, STATE_VERSION);
    assert_eq!(Turn::load(&stored.to_string()), Err(LoadError::Newer { found, supported }));
    assert!(matches!(Turn::load("{}"), Err(LoadError::Unreadable(_))));
}
