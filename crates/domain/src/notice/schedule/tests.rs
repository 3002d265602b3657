//! Tables and properties of the schedule, with the clock changes of Berlin in 2026.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;

use super::{NoticeFacts, NoticeStage, PlannedDelivery, plan_deliveries};
use crate::human::escalation::Urgency;
use crate::notice::preferences::{
    DigestSettings, DirectDestination, NoticeDestination, NoticePreferences, NoticeTopic,
    QuietHours, UrgentNotices,
};
use crate::notice::time_of_day::TimeOfDay;
use crate::notice::{LowCredits, NoticeKind};
use crate::time::Timestamp;

use NoticeDestination::{Chat, Digest, Email, TeamGroup};

/// 29 March 2026, 01:00 UTC: 02:00 becomes 03:00.
const SPRING: i64 = 1_774_746_000;
/// 25 October 2026, 01:00 UTC: 03:00 becomes 02:00.
const AUTUMN: i64 = 1_792_890_000;
const HOUR: i64 = 3600;

fn berlin(at: Timestamp) -> i32 {
    let seconds = at.as_millis().div_euclid(1000);
    if (SPRING..AUTUMN).contains(&seconds) { 7200 } else { 3600 }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1000)
}

fn time(text: &str) -> TimeOfDay {
    text.parse().unwrap()
}

fn facts(kind: NoticeKind, escalation: Option<Urgency>) -> NoticeFacts {
    NoticeFacts { kind, urgency: kind.urgency(escalation), decide_by: None }
}

fn quiet(from: &str, to: &str, urgent: UrgentNotices) -> NoticePreferences {
    let quiet_hours = Some(QuietHours { from: time(from), to: time(to), urgent });
    NoticePreferences { quiet_hours, ..NoticePreferences::default() }
}

fn plan(
    facts: NoticeFacts,
    preferences: &NoticePreferences,
    reachable: &[NoticeDestination],
    now: Timestamp,
) -> Vec<(NoticeStage, NoticeDestination, i64)> {
    let reachable: BTreeSet<_> = reachable.iter().copied().collect();
    let all = plan_deliveries(facts, preferences, &reachable, &berlin, now);
    let seconds = |at: Timestamp| (at.as_millis() - now.as_millis()) / 1000;
    all.iter().map(|one| (one.stage, one.destination, seconds(one.due_at))).collect()
}

#[test]
fn o31_times_of_day_are_hours_and_minutes() {
    for text in ["00:00", "07:05", "23:59"] {
        assert_eq!(time(text).to_string(), text);
    }
    assert_eq!(time(" 7:05 ").to_string(), "07:05");
    for text in ["", "7", "24:00", "07:60", "7:5", "-1:00", "+7:00", "07:00:00", "ab:cd"] {
        assert!(text.parse::<TimeOfDay>().is_err(), "{text}");
    }
}

/// O31: a digest comes at its local time also on the days on which clocks change: a time
/// that is skipped comes with the change.
#[test]
fn o31_a_time_of_day_is_reached_when_clocks_show_it() {
    let check = |now: i64, text: &str, after: i64| {
        let next = time(text).next(at(now), &berlin);
        assert_eq!((next.as_millis() / 1000) - now, after, "{text}");
    };
    // The day before the change in spring, at 08:00.
    check(SPRING - 18 * HOUR, "08:00", 0);
    check(SPRING - 18 * HOUR + 1, "08:00", 23 * HOUR - 1);
    check(SPRING - HOUR, "02:30", HOUR);
    check(SPRING - HOUR, "03:30", HOUR + HOUR / 2);
    check(AUTUMN - HOUR, "02:30", HOUR / 2);
    // Clocks show 02:30 a second time.
    check(AUTUMN, "02:30", HOUR / 2);
    check(AUTUMN - 17 * HOUR, "10:00", 0);
    check(AUTUMN - 17 * HOUR + 1, "10:00", 25 * HOUR - 1);
}

/// O31: where notices go unless a person chooses otherwise. An urgent one is mailed if
/// nobody reacts within five minutes; escalations have stages of their own.
#[test]
fn o31_defaults() {
    let all = [Chat, Email, TeamGroup, Digest];
    let check = |kind, escalation, expected: &[(NoticeStage, NoticeDestination, i64)]| {
        let preferences = NoticePreferences::default();
        let planned = plan(facts(kind, escalation), &preferences, &all, at(0));
        assert_eq!(planned, expected, "{kind:?}");
    };
    let chat = [(NoticeStage::First, Chat, 0)];
    for kind in [
        NoticeKind::ApprovalExpired,
        NoticeKind::ToolDisabled,
        NoticeKind::DeadLetter,
        NoticeKind::UnknownOutcome,
        NoticeKind::WorkflowWaiting,
        NoticeKind::WorkflowFailed,
        NoticeKind::RefundRequested,
        NoticeKind::SharingNearCap,
        NoticeKind::LowCredits(LowCredits::Percent20),
    ] {
        check(kind, None, &chat);
    }
    let urgent = [(NoticeStage::First, Chat, 0), (NoticeStage::Next, Email, 300)];
    check(NoticeKind::CreditsExhausted, None, &urgent);
    check(NoticeKind::ModelsFailed, None, &urgent);
    let both = [(NoticeStage::First, Chat, 0), (NoticeStage::First, TeamGroup, 0)];
    check(NoticeKind::Escalation, Some(Urgency::High), &both);
    check(NoticeKind::EscalationReminder, Some(Urgency::Low), &chat);
    check(NoticeKind::EscalationUnanswered, None, &[(NoticeStage::First, Email, 0)]);
    check(NoticeKind::Handoff, None, &[]);
}

/// O31: a decision is asked for again when three quarters of its time are over.
#[test]
fn o31_a_decision_is_asked_for_again_before_it_expires() {
    let facts =
        NoticeFacts { decide_by: Some(at(4000)), ..facts(NoticeKind::ApprovalWanted, None) };
    let planned = plan(facts, &NoticePreferences::default(), &[Chat, Email], at(0));
    assert_eq!(planned, [(NoticeStage::First, Chat, 0), (NoticeStage::Next, Email, 3000)]);
}

/// O31: an urgent notice that no address of the first stage can take goes to the next one
/// at once; one that a person does not want goes nowhere.
#[test]
fn o31_the_next_stage_does_not_wait_for_nobody() {
    let kind = NoticeKind::CreditsExhausted;
    let mut preferences = NoticePreferences::default();
    let planned = plan(facts(kind, None), &preferences, &[Email], at(0));
    assert_eq!(planned, [(NoticeStage::Next, Email, 0)]);
    preferences.topics.insert(NoticeTopic::Credits, [Email].into());
    let planned = plan(facts(kind, None), &preferences, &[Chat, Email], at(0));
    assert_eq!(planned, [(NoticeStage::First, Email, 0)]);
    preferences.topics.insert(NoticeTopic::Credits, BTreeSet::new());
    assert_eq!(plan(facts(kind, None), &preferences, &[Chat, Email], at(0)), []);
}

/// O31: in quiet hours notices wait until their end; urgent ones pass, or wait too.
#[test]
fn o31_quiet_hours() {
    let (normal, urgent) = (NoticeKind::ToolDisabled, NoticeKind::ModelsFailed);
    let check = |preferences: &NoticePreferences, kind, now: i64, expected: i64| {
        let planned = plan(facts(kind, None), preferences, &[Chat], at(now));
        assert_eq!(planned, [(NoticeStage::First, Chat, expected)], "{kind:?} at {now}");
    };
    let night = quiet("22:00", "07:00", UrgentNotices::Pass);
    // 1 January 1970, 01:00, 21:59:59 and 22:00 in Berlin.
    check(&night, normal, 0, 6 * HOUR);
    check(&night, normal, 21 * HOUR - 1, 0);
    check(&night, normal, 21 * HOUR, 9 * HOUR);
    check(&night, normal, 6 * HOUR, 0);
    check(&night, urgent, 0, 0);
    check(&quiet("22:00", "07:00", UrgentNotices::Wait), urgent, 0, 6 * HOUR);
    // The night is an hour shorter in spring and an hour longer in autumn.
    check(&night, normal, SPRING - HOUR, 5 * HOUR);
    check(&night, normal, AUTUMN - HOUR, 6 * HOUR);
    check(&quiet("00:30", "02:30", UrgentNotices::Pass), normal, AUTUMN + 60, HOUR / 2 - 60);
    let noon = quiet("12:00", "13:00", UrgentNotices::Pass);
    check(&noon, normal, 11 * HOUR, HOUR);
    check(&noon, normal, 12 * HOUR, 0);
}

/// O31: collected notices are sent together, at the person's time, to the digest's own
/// destination.
#[test]
fn o31_collected_notices_wait_for_the_digest() {
    let mut preferences = NoticePreferences {
        digest: DigestSettings { at: time("18:00"), to: DirectDestination::Email },
        ..NoticePreferences::default()
    };
    preferences.topics.insert(NoticeTopic::Handoffs, [Digest].into());
    let handoff = facts(NoticeKind::Handoff, None);
    let planned = plan(handoff, &preferences, &[Chat, Email], at(0));
    assert_eq!(planned, [(NoticeStage::First, Digest, 17 * HOUR)]);
    assert_eq!(plan(handoff, &preferences, &[Chat], at(0)), []);
}

fn any_time() -> impl Strategy<Value = TimeOfDay> {
    (0..24u8, 0..60u8).prop_map(|(hour, minute)| time(&format!("{hour}:{minute:02}")))
}

proptest! {
    /// O31: a notice is never sent early, never in quiet hours unless it may pass, and
    /// waits for at most a day and an hour; a day longer if the clock skips the only time
    /// that is not quiet.
    #[test]
    fn o31_every_delivery_is_at_a_time_that_the_person_chose(
        (from, to, digest_at) in (any_time(), any_time(), any_time()),
        around in prop_oneof![Just(SPRING), Just(AUTUMN), Just(0)],
        shift in -60 * HOUR..60 * HOUR,
        urgent in prop_oneof![Just(UrgentNotices::Pass), Just(UrgentNotices::Wait)],
        kind in prop_oneof![Just(NoticeKind::ModelsFailed), Just(NoticeKind::ToolDisabled)],
    ) {
        let now = at(around + shift);
        let mut preferences = NoticePreferences {
            quiet_hours: Some(QuietHours { from, to, urgent }),
            digest: DigestSettings { at: digest_at, to: DirectDestination::Chat },
            ..NoticePreferences::default()
        };
        preferences.topics.insert(kind.topic(), [Chat, Digest].into());
        let facts = facts(kind, None);
        let reachable = [Chat, Email, Digest].into();
        let planned = plan_deliveries(facts, &preferences, &reachable, &berlin, now);
        prop_assert!(planned.len() >= 2);
        let passes = kind == NoticeKind::ModelsFailed && urgent == UrgentNotices::Pass;
        let is_change = |at: Timestamp| [SPRING, AUTUMN].contains(&(at.as_millis() / 1000));
        for PlannedDelivery { destination, due_at, .. } in planned {
            prop_assert!(due_at >= now);
            let longest = if around == SPRING { 49 } else { 25 };
            prop_assert!(due_at.since(now) <= Duration::from_secs(longest * 3600 + 300));
            let shown = TimeOfDay::of(due_at, &berlin);
            let in_quiet = if from <= to { from <= shown && shown < to }
                else { from <= shown || shown < to };
            if destination == Digest {
                prop_assert!(shown == digest_at || is_change(due_at));
            } else {
                prop_assert!(passes || !in_quiet, "{shown}");
            }
        }
    }
}
