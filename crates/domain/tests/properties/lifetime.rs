//! Session lifetimes: pauses and messages never close a session earlier.

use std::time::Duration;

use ostler_domain::session::lifetime::{CloseReason, Lifetime, PauseReasons, SessionClock};
use ostler_domain::time::Timestamp;
use proptest::prelude::*;

use crate::check;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Action {
    Touch,
    Pause(PauseReasons),
    Observe,
}

fn pause_reasons() -> impl Strategy<Value = PauseReasons> {
    let any_reasons = (any::<bool>(), 0..3usize, 0..3usize).prop_map(
        |(handed_off, pending_approvals, unknown_outcomes)| PauseReasons {
            handed_off,
            pending_approvals,
            unknown_outcomes,
        },
    );
    prop_oneof![Just(PauseReasons::default()), any_reasons]
}

fn actions() -> impl Strategy<Value = Action> {
    prop_oneof![
        1 => Just(Action::Touch),
        2 => pause_reasons().prop_map(Action::Pause),
        1 => Just(Action::Observe),
    ]
}

/// Actions, each after a delay in milliseconds.
fn histories() -> impl Strategy<Value = Vec<(u64, Action)>> {
    prop::collection::vec((0..50u64, actions()), 0..30)
}

fn lifetimes() -> impl Strategy<Value = Lifetime> {
    (0..120u64, 0..400u64).prop_map(|(idle, longest)| Lifetime {
        idle: Duration::from_millis(idle),
        max_age: Duration::from_millis(longest),
    })
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(0) + Duration::from_millis(millis)
}

fn act(clock: &mut SessionClock, action: Action, now: Timestamp) {
    match action {
        Action::Touch => clock.touch(now),
        Action::Pause(reasons) => clock.sync(reasons, now),
        Action::Observe => {}
    }
}

/// F01, F02: age and idle time are the time that passed while nothing (no person, no
/// approval, no unknown outcome) paused the session, however often the pause reasons are
/// synchronized; age takes precedence over idle time.
#[test]
fn f01_f02_the_clocks_count_the_time_outside_pauses() {
    check(600, &(lifetimes(), histories()), |(lifetime, history)| {
        let mut clock = SessionClock::open(at(0));
        let (mut now, mut age, mut silence, mut paused) = (0, 0, 0, false);
        for (pause, action) in history {
            now += pause;
            if !paused {
                age += pause;
                silence += pause;
            }
            act(&mut clock, action, at(now));
            match action {
                Action::Touch => silence = 0,
                Action::Pause(reasons) => paused = reasons != PauseReasons::default(),
                Action::Observe => {}
            }
            let expected = if Duration::from_millis(age) > lifetime.max_age {
                Some(CloseReason::Expired)
            } else if Duration::from_millis(silence) > lifetime.idle {
                Some(CloseReason::IdleTimeout)
            } else {
                None
            };
            prop_assert_eq!(clock.close_reason(lifetime, at(now)), expected, "at {}", now);
        }
        Ok(())
    });
}

/// F01: a session with pauses never closes before the same session without them.
#[test]
fn f01_a_pause_never_shortens_a_lifetime() {
    check(600, &(lifetimes(), histories()), |(lifetime, history)| {
        let (mut paused, mut plain) = (SessionClock::open(at(0)), SessionClock::open(at(0)));
        let mut now = 0;
        for (pause, action) in history {
            now += pause;
            act(&mut paused, action, at(now));
            if action == Action::Touch {
                plain.touch(at(now));
            }
            let outlives = paused.close_reason(lifetime, at(now)).is_none()
                || plain.close_reason(lifetime, at(now)).is_some();
            prop_assert!(outlives, "at {}", now);
        }
        Ok(())
    });
}

fn clock(history: &[(u64, Action)]) -> (SessionClock, u64) {
    let (mut clock, mut now) = (SessionClock::open(at(0)), 0);
    for &(pause, action) in history {
        now += pause;
        act(&mut clock, action, at(now));
    }
    (clock, now)
}

/// F01, F02: a session that should close stays so, and `expired` stays `expired`.
#[test]
fn f01_f02_a_close_reason_is_final() {
    let cases = (lifetimes(), histories(), 0..500u64, 0..500u64);
    check(600, &cases, |(lifetime, history, soon, later)| {
        let (clock, now) = clock(&history);
        let first = clock.close_reason(lifetime, at(now + soon));
        let second = clock.close_reason(lifetime, at(now + soon + later));
        prop_assert!(first.is_none() || second.is_some());
        prop_assert!(first != Some(CloseReason::Expired) || second == first);
        Ok(())
    });
}

/// F01: a message never closes a session earlier, not even one from a node whose clock is
/// behind.
#[test]
fn f01_a_message_never_shortens_a_lifetime() {
    let cases = (lifetimes(), histories(), 0..1500u64, 0..500u64);
    check(600, &cases, |(lifetime, history, touched, wait)| {
        let (silent, now) = clock(&history);
        let (mut touched_once, looked) = (silent, now.max(touched) + wait);
        touched_once.touch(at(touched));
        let outlives = touched_once.close_reason(lifetime, at(looked)).is_none()
            || silent.close_reason(lifetime, at(looked)).is_some();
        prop_assert!(outlives, "touched at {}, looked at {}", touched, looked);
        Ok(())
    });
}
