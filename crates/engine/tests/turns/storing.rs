//! Turns that are interrupted and resumed.

use ostler_engine::driver::TurnProgress;
use ostler_engine::history::CallId;
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::turn::{KnownOutcomes, LoadError, STATE_VERSION, Turn, TurnEnd};

use crate::support::{TurnSetup, calls, is_acceptable, story, turn, words};

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
