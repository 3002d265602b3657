//! Session lifetimes: pauses and messages only ever lengthen a life.

use std::time::Duration;

use ostler_domain::session::lifetime::{CloseReason, Lifetime, SessionClock, Waiting};
use ostler_domain::time::Timestamp;
use proptest::prelude::*;

use crate::check;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Action {
    Touch,
    Wait(Waiting),
    Look,
}

fn waitings() -> impl Strategy<Value = Waiting> {
    let some = (any::<bool>(), 0..3usize, 0..3usize).prop_map(
        |(handed_off, pending_approvals, unknown_outcomes)| Waiting {
            handed_off,
            pending_approvals,
            unknown_outcomes,
        },
    );
    prop_oneof![Just(Waiting::default()), some]
}

fn actions() -> impl Strategy<Value = Action> {
    prop_oneof![
        1 => Just(Action::Touch),
        2 => waitings().prop_map(Action::Wait),
        1 => Just(Action::Look),
    ]
}

/// What happens, each after a pause of so many milliseconds.
fn histories() -> impl Strategy<Value = Vec<(u64, Action)>> {
    prop::collection::vec((0..50u64, actions()), 0..30)
}

fn lifetimes() -> impl Strategy<Value = Lifetime> {
    (0..120u64, 0..400u64).prop_map(|(idle, longest)| Lifetime {
        idle: Duration::from_millis(idle),
        longest: Duration::from_millis(longest),
    })
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(0) + Duration::from_millis(millis)
}

fn act(clock: &mut SessionClock, action: Action, now: Timestamp) {
    match action {
        Action::Touch => clock.touch(now),
        Action::Wait(waiting) => clock.sync(waiting, now),
        Action::Look => {}
    }
}

/// F01, F02: age and silence are the time that passed while the session waited
/// for nobody (no person, no approval, no unknown outcome), and nothing else,
/// however often it is told what it waits for; too much age counts before too much silence.
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
                Action::Wait(waiting) => paused = waiting != Waiting::default(),
                Action::Look => {}
            }
            let expected = if Duration::from_millis(age) > lifetime.longest {
                Some(CloseReason::Expired)
            } else if Duration::from_millis(silence) > lifetime.idle {
                Some(CloseReason::IdleTimeout)
            } else {
                None
            };
            prop_assert_eq!(clock.end(lifetime, at(now)), expected, "at {}", now);
        }
        Ok(())
    });
}

/// F01: a session with pauses outlives the same session without them.
#[test]
fn f01_a_pause_never_shortens_a_life() {
    check(600, &(lifetimes(), histories()), |(lifetime, history)| {
        let (mut paused, mut plain) = (SessionClock::open(at(0)), SessionClock::open(at(0)));
        let mut now = 0;
        for (pause, action) in history {
            now += pause;
            act(&mut paused, action, at(now));
            if action == Action::Touch {
                plain.touch(at(now));
            }
            let outlives =
                paused.end(lifetime, at(now)).is_none() || plain.end(lifetime, at(now)).is_some();
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

/// F01, F02: what has ended stays ended, and `expired` stays `expired`.
#[test]
fn f01_f02_an_end_is_final() {
    let cases = (lifetimes(), histories(), 0..500u64, 0..500u64);
    check(600, &cases, |(lifetime, history, soon, later)| {
        let (clock, now) = clock(&history);
        let first = clock.end(lifetime, at(now + soon));
        let second = clock.end(lifetime, at(now + soon + later));
        prop_assert!(first.is_none() || second.is_some());
        prop_assert!(first != Some(CloseReason::Expired) || second == first);
        Ok(())
    });
}

/// F01: a message never makes a session end earlier, not even one that comes
/// from a node whose clock is behind.
#[test]
fn f01_a_message_never_shortens_a_life() {
    let cases = (lifetimes(), histories(), 0..1500u64, 0..500u64);
    check(600, &cases, |(lifetime, history, touched, wait)| {
        let (silent, now) = clock(&history);
        let (mut touched_once, looked) = (silent, now.max(touched) + wait);
        touched_once.touch(at(touched));
        let outlives = touched_once.end(lifetime, at(looked)).is_none()
            || silent.end(lifetime, at(looked)).is_some();
        prop_assert!(outlives, "touched at {}, looked at {}", touched, looked);
        Ok(())
    });
}
