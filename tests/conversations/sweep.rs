//! The sweep: what happens without incoming messages.

use std::time::Duration;

use ostler_domain::session::lifetime::CloseReason;
use ostler_domain::session::status::SessionStatus;
use ostler_runtime::records::run::RunOutcome;

use crate::support::{ECHO, Scenario};

/// F03: an idle session is closed by the next sweep.
#[tokio::test]
async fn f03_an_idle_session_is_closed_by_the_sweep() {
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

/// F03: an active session is left open and checked again at its new timeout. Each timeout
/// is checked once.
#[tokio::test]
async fn f03_an_active_session_is_checked_again_at_its_new_timeout() {
    let scenario = Scenario::new(ECHO).await;
    scenario.say("rosa", "hello").await;
    scenario.advance(Duration::from_secs(60));
    scenario.say("rosa", "the menu").await;
    // At the first timeout there is nothing to do.
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

/// F03: in the last millisecond of its timeout a session is still open; a millisecond
/// later it is closed.
#[tokio::test]
async fn f03_a_session_is_open_in_the_last_millisecond_of_its_timeout() {
    let scenario = Scenario::new(ECHO).await;
    scenario.say("rosa", "hello").await;
    scenario.advance(Duration::from_secs(30 * 60));
    assert_eq!(scenario.sweep().await.sessions, 1);
    assert_eq!(scenario.session("rosa").await.status, SessionStatus::Active);
    scenario.advance(Duration::from_millis(1));
    assert_eq!(scenario.sweep().await.sessions, 1);
    assert_ne!(scenario.session("rosa").await.status, SessionStatus::Active);
}

/// A tick is queued once, also if the sweeper runs several times before a worker.
#[tokio::test]
async fn a_tick_is_queued_once() {
    let scenario = Scenario::new(ECHO).await;
    scenario.say("rosa", "hello").await;
    scenario.advance(Duration::from_secs(3600));
    let sweeper = ostler_runtime::operations::sweep::Sweeper::for_worker(
        &scenario.worker,
        Duration::from_secs(900),
    );
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

/// The sweep applies the costs of turns to the account.
#[tokio::test]
async fn the_sweep_applies_the_settlements_of_turns() {
    let scenario = Scenario::new(ECHO).await;
    scenario.say("rosa", "hello").await;
    assert_eq!(scenario.sweep().await.settlements, 1);
    assert_eq!(scenario.sweep().await.settlements, 0);
}
