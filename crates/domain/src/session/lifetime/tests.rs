use super::{
    ClosePolicy, CloseReason, CurrentSession, Lifetime, PauseReasons, ReopenPolicy, SessionClock,
    SessionResolution, due_to_close, resolve_session,
};
use crate::channel::Channel;
use crate::id::SessionId;
use crate::session::status::SessionStatus;
use crate::time::Timestamp;
use std::time::Duration;

const START: Timestamp = Timestamp::from_millis(0);
const ID: SessionId = SessionId::from_u128(1);

fn after(minutes: u64) -> Timestamp {
    START + Duration::from_secs(minutes * 60)
}

const HANDED_OFF: PauseReasons =
    PauseReasons { handed_off: true, pending_approvals: 0, unknown_outcomes: 0 };
const NOT_PAUSED: PauseReasons =
    PauseReasons { handed_off: false, pending_approvals: 0, unknown_outcomes: 0 };

fn webchat() -> Lifetime {
    Lifetime::default_for(&Channel::Webchat)
}

/// F01, F02: idle timeout and maximum age of each channel.
#[test]
fn f01_f02_channels_have_their_lifetimes() {
    let hours = |idle: f64, longest: f64| Lifetime {
        idle: Duration::from_secs_f64(idle * 3600.0),
        max_age: Duration::from_secs_f64(longest * 3600.0),
    };
    let table = [
        ("webchat", hours(0.5, 2.0)),
        ("sms", hours(1.0, 24.0)),
        ("email", hours(72.0, 14.0 * 24.0)),
        ("telegram", hours(24.0, 7.0 * 24.0)),
        ("pager", hours(24.0, 7.0 * 24.0)),
    ];
    for (channel, expected) in table {
        assert_eq!(Lifetime::default_for(&Channel::from(channel)), expected, "{channel}");
    }
}

/// F01, F02, A11: silence or age closes a session; age takes precedence.
#[test]
fn f01_f02_a_session_closes_by_idle_timeout_or_age() {
    let check = |touched: u64, now: u64, expected| {
        let mut clock = SessionClock::open(START);
        clock.touch(after(touched));
        assert_eq!(clock.close_reason(webchat(), after(now)), expected, "{touched} {now}");
    };
    check(0, 30, None);
    check(0, 31, Some(CloseReason::IdleTimeout));
    check(100, 120, None);
    check(119, 121, Some(CloseReason::Expired));
    check(0, 121, Some(CloseReason::Expired));
}

/// F01: the clocks are paused while the session waits for a person.
#[test]
fn f01_clocks_pause_while_waiting() {
    let mut clock = SessionClock::open(START);
    clock.sync(HANDED_OFF, after(20));
    clock.sync(HANDED_OFF, after(25));
    assert_eq!(clock.close_reason(webchat(), after(5000)), None);
    clock.sync(NOT_PAUSED, after(5000));
    assert_eq!(clock.close_reason(webchat(), after(5010)), None);
    assert_eq!(clock.close_reason(webchat(), after(5011)), Some(CloseReason::IdleTimeout));
}

/// F01: the clocks stay paused until nothing is waited for any more.
#[test]
fn f01_clocks_stay_paused_until_nothing_is_pending() {
    let mut clock = SessionClock::open(START);
    clock.sync(PauseReasons { pending_approvals: 1, ..HANDED_OFF }, after(10));
    clock.sync(HANDED_OFF, after(20));
    clock.sync(PauseReasons { unknown_outcomes: 1, ..NOT_PAUSED }, after(500));
    assert_eq!(clock.close_reason(webchat(), after(5000)), None);
    clock.sync(NOT_PAUSED, after(5000));
    assert_eq!(clock.close_reason(webchat(), after(5021)), Some(CloseReason::IdleTimeout));
}

/// F01: a message during the pause restarts the idle time, from the resume.
#[test]
fn f01_a_message_during_the_pause_counts() {
    let mut clock = SessionClock::open(START);
    clock.sync(HANDED_OFF, after(10));
    clock.touch(after(60));
    clock.sync(NOT_PAUSED, after(90));
    assert_eq!(clock.close_reason(webchat(), after(120)), None);
    assert_eq!(clock.close_reason(webchat(), after(121)), Some(CloseReason::IdleTimeout));
    clock.touch(after(199));
    assert_eq!(clock.close_reason(webchat(), after(200)), None);
    assert_eq!(clock.close_reason(webchat(), after(201)), Some(CloseReason::Expired));
}

/// A10, A11, F04, F07: reuse, replace, resume.
#[test]
fn a10_a11_f04_a_message_finds_its_session() {
    let session = |status| {
        let clock = SessionClock::open(START);
        Some(CurrentSession { id: ID, clock, status })
    };
    let (active, closed) = (SessionStatus::Active, SessionStatus::Closed(CloseReason::Expired));
    let open = |close, previous| SessionResolution::Open { close, previous };
    let idle = Some((ID, CloseReason::IdleTimeout));
    let table = [
        ("A10 first", None, ReopenPolicy::NewSession, 1, open(None, None)),
        ("A10 second", session(active), ReopenPolicy::NewSession, 30, SessionResolution::Reuse(ID)),
        ("A11", session(active), ReopenPolicy::NewSession, 31, open(idle, None)),
        ("F04 resume", session(active), ReopenPolicy::Resume, 31, open(idle, Some(ID))),
        ("F04 closed before", session(closed), ReopenPolicy::Resume, 1, open(None, Some(ID))),
        ("F04 new", session(closed), ReopenPolicy::NewSession, 1, open(None, None)),
    ];
    for (row, current, policy, minute, expected) in table {
        assert_eq!(resolve_session(current, webchat(), policy, after(minute)), expected, "{row}");
    }
}

/// F07: a handed-off session is reused however long it waits.
#[test]
fn f07_a_handed_off_session_is_reused() {
    let clock = SessionClock::open(START);
    let current = Some(CurrentSession { id: ID, clock, status: SessionStatus::HandedOff });
    let resolution = resolve_session(current, webchat(), ReopenPolicy::NewSession, after(100_000));
    assert_eq!(resolution, SessionResolution::Reuse(ID));
}

/// F03: the sweep finds an idle session without any message, and ignores one that is
/// handed off.
#[test]
fn f03_the_sweep_needs_no_traffic() {
    let session = |status| CurrentSession { id: ID, clock: SessionClock::open(START), status };
    let found = |status| {
        let sweeps = (1..10).map(|n| START + super::SWEEP_INTERVAL * n);
        sweeps.map(|now| due_to_close(&session(status), webchat(), now)).find_map(|end| end)
    };
    assert_eq!(found(SessionStatus::Active), Some(CloseReason::IdleTimeout));
    assert_eq!(found(SessionStatus::HandedOff), None);
    assert_eq!(found(SessionStatus::Closed(CloseReason::Expired)), None);
    assert_eq!(super::SWEEP_INTERVAL, Duration::from_secs(900));
}

/// F05: a summary from three messages on, if the policy says so.
#[test]
fn f05_longer_sessions_are_summarized() {
    let table = [
        (ClosePolicy::SummarizeAndArchive, 2, false),
        (ClosePolicy::SummarizeAndArchive, 3, true),
        (ClosePolicy::Archive, 300, false),
    ];
    for (policy, messages, expected) in table {
        assert_eq!(policy.summarizes(messages), expected, "{policy:?} {messages}");
    }
}
