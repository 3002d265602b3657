//! Turns that are stopped.

use std::time::Duration;

use ostler_engine::driver::{TurnProgress, command_channel};
use ostler_engine::model::{Chunk, StopReason};
use ostler_engine::outcome::OutcomeStatus;
use ostler_engine::turn::{EndReason, KnownOutcomes, TurnEnd, TurnEvent};

use crate::support::{FakeModel, TurnSetup, calls, follow_up, is_acceptable, story, turn, words};

/// How long stopping may take.
const AT_ONCE: Duration = Duration::from_millis(100);

/// Runs a turn and aborts it once it hangs.
async fn stopped(setup: &TurnSetup) -> (ostler_engine::turn::Turn, TurnProgress) {
    let mut turn = turn("hi");
    let (handle, mut commands) = command_channel();
    let later = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        handle.abort();
        tokio::time::Instant::now()
    };
    let known = KnownOutcomes::new();
    let (end, began) = tokio::join!(setup.drive_with(&mut turn, &known, &mut commands), later);
    assert!(began.elapsed() < AT_ONCE);
    assert!(is_acceptable(turn.history(), true));
    (turn, end)
}

/// M30: the text of an answer that was stopped is kept and marked as partial.
#[tokio::test(start_paused = true)]
async fn m30_partial_text_is_kept_and_marked() {
    let half = vec![
        Ok(Chunk::Text("half an ans".into())),
        Ok(Chunk::Call { index: 0, id: "a".into(), name: "pay".into() }),
    ];
    let setup = TurnSetup::of(FakeModel::hanging([half]));
    let (turn, end) = stopped(&setup).await;
    assert_eq!(end, TurnProgress::Ended(TurnEnd::Aborted));
    assert_eq!(story(turn.new_items()), ["half an ans…"]);
    let Some(TurnEvent::Ended(last)) = setup.host.events().pop() else { panic!("the end is last") };
    assert_eq!(last.reason(), EndReason::Aborted);
    assert_eq!(serde_json::to_value(last.reason()).unwrap(), "aborted");
}

/// M30: running tools are dropped, and the outcome of an external call is unknown.
#[tokio::test(start_paused = true)]
async fn m30_running_tools_are_stopped_and_external_calls_become_unknown() {
    let setup = TurnSetup::new([calls(&[
        ("a", "slow", "{}"),
        ("b", "look", "{}"),
        ("c", "slow_pay", "{}"),
    ])]);
    let (turn, end) = stopped(&setup).await;
    assert_eq!(end, TurnProgress::Ended(TurnEnd::Aborted));
    let said = story(turn.new_items());
    assert!(said[3].starts_with("= aborted"), "{said:?}");
    assert_eq!(said[4], "= ok nothing");
    assert!(said[5].starts_with("= outcome_unknown"), "{said:?}");
    let outcomes = setup.host.outcomes.lock().unwrap();
    assert!(outcomes.values().all(|outcome| outcome.status == OutcomeStatus::OutcomeUnknown));
    assert_eq!(outcomes.len(), 1);
}

/// M31: steering abandons the current work and the queue.
#[tokio::test(start_paused = true)]
async fn m31_steering_abandons_the_answer_and_the_queue() {
    let half = vec![Ok(Chunk::Text("about cats".into()))];
    let setup = TurnSetup::of(FakeModel::hanging([half, words("about dogs")]));
    let mut turn = turn("hi");
    let (handle, mut commands) = command_channel();
    let later = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        handle.follow_up(follow_up("and birds")).unwrap();
        handle.steer(follow_up("dogs!")).unwrap();
    };
    let known = KnownOutcomes::new();
    let (end, ()) = tokio::join!(setup.drive_with(&mut turn, &known, &mut commands), later);
    let (text, stop) = ("about dogs".to_owned(), StopReason::End);
    assert_eq!(end, TurnProgress::Ended(TurnEnd::Answer { text, stop }));
    assert_eq!(story(turn.new_items()), ["about cats…", "user 1", "about dogs"]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_ends_at_its_time_limit() {
    let setup = TurnSetup::of(FakeModel::hanging([vec![Ok(Chunk::Text("hm".into()))]]));
    let mut turn = turn("hi");
    assert_eq!(setup.drive(&mut turn).await, TurnProgress::Ended(TurnEnd::TimedOut));
    assert_eq!(story(turn.new_items()), ["hm…"]);
}

/// M09: aborting a turn ends its subagents.
#[tokio::test(start_paused = true)]
async fn m09_an_abort_ends_subagents() {
    let setup = TurnSetup::of(FakeModel::hanging([calls(&[("a", "subagent", "{}")]), vec![]]));
    let (turn, end) = stopped(&setup).await;
    assert_eq!(end, TurnProgress::Ended(TurnEnd::Aborted));
    assert!(story(turn.new_items())[1].starts_with("= aborted"));
    let ends = setup.host.events().into_iter().filter_map(|event| match event {
        TurnEvent::SubagentEnded { agent_type, .. } => Some(agent_type),
        TurnEvent::CallEnded { tool, status: OutcomeStatus::Aborted, .. } => Some(tool),
        TurnEvent::Ended(end) => Some(format!("{:?}", end.reason())),
        _ => None,
    });
    assert_eq!(ends.collect::<Vec<_>>(), ["explore", "subagent", "Aborted"]);
}
