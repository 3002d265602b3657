//! What happens though nobody writes.

use std::time::Duration;

use ostler_domain::session::lifetime::CloseReason;
use ostler_domain::session::status::SessionStatus;
use ostler_runtime::records::run::RunOutcome;

use crate::support::{ECHO, Scenario};


/// F03: a session in which nobody writes any more is closed by the next sweep.
#[tokio::test]
async fn f03_a_stale_session_is_closed_without_traffic() {
    let scenario = Scenario::new(ECHO).await;
    scenario.say("rosa", "hello").await;
    scenario.advance(Duration::from_secs(29 * 60));
    assert_eq!(scenario.sweep().await.sessions, 0);
    scenario.advance(Duration::from_secs(16 * 60));
    assert_eq!(scenario.sweep().await.sessions, 1);
    let ended = SessionStatus::Closed(CloseReason::IdleTimeout);
    assert_eq!(scenario.session("rosa").await.status, ended);
    assert!(scenario.events().await.contains(&"session_closed".to_owned()));
    assert_eq!(scenario.sweep().await.sessions, 0, "what is closed is not looked at again");
}

/// F03: a session in which somebody wrote shortly before is left alone, and is
/// looked at again when it really ends. No moment is looked at twice.
#[tokio::test]
async fn f03_a_session_that_goes_on_is_looked_at_later() {
    let scenario = Scenario::new(ECHO).await;
    scenario.say("rosa", "hello").await;
    scenario.advance(Duration::from_secs(60));
    scenario.say("rosa", "the menu").await;
    // The time that was written down first comes, and there is nothing to do.
    scenario.advance(Duration::from_secs(29 * 60 + 1));
    let looked = scenario.sweep().await.sessions;
    assert!(looked <= 1);
    for _ in 0..3 {
        assert_eq!(scenario.sweep().await.sessions, 0, "the due time has moved on");
    }
    assert_eq!(scenario.session("rosa").await.status, SessionStatus::Active);
    scenario.advance(Duration::from_secs(61));
    assert_eq!(scenario.sweep().await.sessions, 1);
    let ended = SessionStatus::Closed(CloseReason::IdleTimeout);
    assert_eq!(scenario.session("rosa").await.status, ended);
}

/// F03: at the very millisecond at which a session ends there is nothing to do
/// yet; a moment later there is.
#[tokio::test]
async fn f03_the_last_moment_is_not_the_end() {
    let scenario = Scenario::new(ECHO).await;
    scenario.say("rosa", "hello").await;
    scenario.advance(Duration::from_secs(30 * 60));
    assert_eq!(scenario.sweep().await.sessions, 1);
    assert_eq!(scenario.session("rosa").await.status, SessionStatus::Active);
    scenario.advance(Duration::from_millis(1));
    assert_eq!(scenario.sweep().await.sessions, 1);
    assert_ne!(scenario.session("rosa").await.status, SessionStatus::Active);
}

/// A tick waits once in its inbox, however often the sweeper comes before a
/// worker does.
#[tokio::test]
async fn a_tick_is_put_in_once() {
    let scenario = Scenario::new(ECHO).await;
    scenario.say("rosa", "hello").await;
    scenario.advance(Duration::from_secs(3600));
    let sweeper = ostler_runtime::operations::sweep::Sweeper::for_worker(&scenario.worker, Duration::from_secs(900));
    let swept: Vec<u64> = [
        sweeper.sweep_once().await.unwrap().sessions,
        sweeper.sweep_once().await.unwrap().sessions,
    ]
    .into();
    assert_eq!(swept, [1, 0]);
    scenario.work().await;
    let runs = scenario.runs("rosa").await;
    let kept = |outcome: &RunOutcome| matches!(outcome, RunOutcome::Housekeeping { .. });
    assert_eq!(runs.iter().filter(|run| kept(&run.outcome)).count(), 1);
}

/// What turns have cost is applied to the account by the sweep.
#[tokio::test]
async fn the_sweep_applies_what_turns_have_cost() {
    let scenario = Scenario::new(ECHO).await;
    scenario.say("rosa", "hello").await;
    assert_eq!(scenario.sweep().await.settlements, 1);
    assert_eq!(scenario.sweep().await.settlements, 0);
}
