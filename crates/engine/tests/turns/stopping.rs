//! Turns that are stopped.

use std::time::Duration;

use ostler_engine::driver::{Progress, commands};
use ostler_engine::model::{Chunk, StopReason};
use ostler_engine::outcome::Status;
use ostler_engine::turn::{End, EndReason, Event, Known};

use crate::world::{Told, World, calls, follow_up, is_acceptable, story, turn, words};

/// How long stopping may take.
const AT_ONCE: Duration = Duration::from_millis(100);

/// Runs a turn and stops it once it has got stuck.
async fn stopped(world: &World) -> (ostler_engine::turn::Turn, Progress) {
    let mut turn = turn("hi");
    let (handle, mut commands) = commands();
    let later = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        handle.abort();
        tokio::time::Instant::now()
    };
    let known = Known::new();
    let (end, began) = tokio::join!(world.drive_with(&mut turn, &known, &mut commands), later);
    assert!(began.elapsed() < AT_ONCE);
    assert!(is_acceptable(turn.history(), true));
    (turn, end)
}

/// M30: stopped in the middle of an answer, what was said is kept and marked.
#[tokio::test(start_paused = true)]
async fn m30_partial_text_is_kept_and_marked() {
    let half = vec![
        Ok(Chunk::Text("half an ans".into())),
        Ok(Chunk::Call { index: 0, id: "a".into(), name: "pay".into() }),
    ];
    let world = World::of(Told::hanging([half]));
    let (turn, end) = stopped(&world).await;
    assert_eq!(end, Progress::Ended(End::Aborted));
    assert_eq!(story(turn.said()), ["half an ans…"]);
    let Some(Event::Ended(last)) = world.host.events().pop() else { panic!("the end is last") };
    assert_eq!(last.reason(), EndReason::Aborted);
    assert_eq!(serde_json::to_value(last.reason()).unwrap(), "aborted");
}

/// M30: stopped while tools run, they are dropped, and of one that had begun
/// outside nobody knows what became.
#[tokio::test(start_paused = true)]
async fn m30_running_tools_are_stopped() {
    let world =
        World::new([calls(&[("a", "slow", "{}"), ("b", "look", "{}"), ("c", "slow_pay", "{}")])]);
    let (turn, end) = stopped(&world).await;
    assert_eq!(end, Progress::Ended(End::Aborted));
    let said = story(turn.said());
    assert!(said[3].starts_with("= aborted"), "{said:?}");
    assert_eq!(said[4], "= ok nothing");
    assert!(said[5].starts_with("= outcome_unknown"), "{said:?}");
    let outcomes = world.host.outcomes.lock().unwrap();
    assert!(outcomes.values().all(|outcome| outcome.status == Status::OutcomeUnknown));
    assert_eq!(outcomes.len(), 1);
}

/// M31: steering drops what is under way and the queue, and answers this.
#[tokio::test(start_paused = true)]
async fn m31_steering_turns_to_something_else() {
    let half = vec![Ok(Chunk::Text("about cats".into()))];
    let world = World::of(Told::hanging([half, words("about dogs")]));
    let mut turn = turn("hi");
    let (handle, mut commands) = commands();
    let later = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        handle.follow_up(follow_up("and birds")).unwrap();
        handle.steer(follow_up("dogs!")).unwrap();
    };
    let known = Known::new();
    let (end, ()) = tokio::join!(world.drive_with(&mut turn, &known, &mut commands), later);
    let (text, stop) = ("about dogs".to_owned(), StopReason::End);
    assert_eq!(end, Progress::Ended(End::Answer { text, stop }));
    assert_eq!(story(turn.said()), ["about cats…", "user 1", "about dogs"]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_has_its_time() {
    let world = World::of(Told::hanging([vec![Ok(Chunk::Text("hm".into()))]]));
    let mut turn = turn("hi");
    assert_eq!(world.drive(&mut turn).await, Progress::Ended(End::TimedOut));
    assert_eq!(story(turn.said()), ["hm…"]);
}

/// M09: stopping a turn stops the agents that work for it.
#[tokio::test(start_paused = true)]
async fn m09_an_abort_ends_subagents() {
    let world = World::of(Told::hanging([calls(&[("a", "subagent", "{}")]), vec![]]));
    let (turn, end) = stopped(&world).await;
    assert_eq!(end, Progress::Ended(End::Aborted));
    assert!(story(turn.said())[1].starts_with("= aborted"));
    let ends = world.host.events().into_iter().filter_map(|event| match event {
        Event::SubagentEnded { agent_type, .. } => Some(agent_type),
        Event::CallEnded { tool, status: Status::Aborted, .. } => Some(tool),
        Event::Ended(end) => Some(format!("{:?}", end.reason())),
        _ => None,
    });
    assert_eq!(ends.collect::<Vec<_>>(), ["explore", "subagent", "Aborted"]);
}
