//! Turns that are interrupted and taken up again.

use ostler_engine::driver::Progress;
use ostler_engine::history::CallId;
use ostler_engine::outcome::Outcome;
use ostler_engine::turn::{End, Known, LoadError, STATE_VERSION, Turn};

use crate::world::{World, calls, is_acceptable, story, turn, words};

/// The turn as it was stored before its first call outside.
async fn interrupted(said: &[(&str, &str, &str)]) -> Turn {
    let world = World::new([calls(said), words("never heard")]);
    world.drive(&mut turn("hi")).await;
    let stored = world.host.stored.lock().unwrap();
    Turn::load(&stored[0].0).unwrap()
}

/// A crash in the middle of a call outside: the model is not asked again, and
/// the call is not made again; nobody knows what became of it.
#[tokio::test]
async fn an_effect_outside_is_never_repeated() {
    let mut turn = interrupted(&[("a", "pay", "{}"), ("b", "look", "{}")]).await;
    let world = World::new([words("I am not sure")]);
    let end = world.drive(&mut turn).await;
    assert!(matches!(end, Progress::Ended(End::Answer { .. })), "{end:?}");
    assert!(story(turn.said())[2].starts_with("= outcome_unknown"));
    assert_eq!(story(turn.said())[3], "= ok nothing");
    assert!(world.host.stored.lock().unwrap().is_empty(), "nothing was paid");
    assert_eq!(world.model.asked().len(), 1);
}

/// A crash after a call outside has ended: what it came to is known.
#[tokio::test]
async fn a_known_outcome_is_used() {
    let mut turn = interrupted(&[("a", "pay", "{}")]).await;
    let world = World::new([words("paid")]);
    let known = Known::from([((vec![], CallId::new("a")), Outcome::ok("receipt 7"))]);
    world.drive_with(&mut turn, &known, &mut ostler_engine::driver::Commands::none()).await;
    assert_eq!(story(turn.said())[1..], ["= ok receipt 7", "paid"]);
    assert!(is_acceptable(turn.history(), true));
}

/// A turn of the first form is still understood.
#[tokio::test]
async fn an_old_turn_still_loads() {
    let text = include_str!("turn_v1.json");
    let mut turn = Turn::load(text.trim()).unwrap();
    let world = World::new([words("welcome back")]);
    let Progress::Suspended(questions) = world.drive(&mut turn).await else { panic!("it waits") };
    assert_eq!(questions[0].1.call.name, "pay");
}

/// A turn of a newer program is left alone.
#[test]
fn a_newer_turn_is_left_alone() {
    let mut stored: serde_json::Value = serde_json::from_str(&turn("hi").store().unwrap()).unwrap();
    stored["version"] = (STATE_VERSION + 1).into();
    stored["something"] = "new".into();
    let (found, known) = (STATE_VERSION + 1, STATE_VERSION);
    assert_eq!(Turn::load(&stored.to_string()), Err(LoadError::Newer { found, known }));
    assert!(matches!(Turn::load("{}"), Err(LoadError::Unreadable(_))));
}
