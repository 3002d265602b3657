//! Tables: when schedules are due, also where clocks change.

use super::{
    CronExpression, DueStart, MAX_QUEUED_STARTS, MissedStarts, OverlapPolicy, StartDecision,
    decide_due, decide_overlap,
};
use crate::time::{Timestamp, UtcDay};

/// Parses `2026-03-29 02:30` as UTC.
fn utc(text: &str) -> Timestamp {
    let (date, time) = text.split_once(' ').expect("a date and a time");
    let (hour, minute) = time.split_once(':').expect("hours and minutes");
    let number = |text: &str| text.parse::<i64>().expect("a number");
    let day = UtcDay::parse_iso(date).expect("a date").start().as_millis();
    Timestamp::from_millis(day + (number(hour) * 60 + number(minute)) * 60_000)
}

fn text(at: Timestamp) -> String {
    let minutes = at.as_millis().div_euclid(60_000).rem_euclid(24 * 60);
    format!("{} {:02}:{:02}", at.utc_day().to_iso(), minutes / 60, minutes % 60)
}

/// Berlin in 2026: UTC+1, and UTC+2 from 29 March 01:00 UTC to 25 October 01:00 UTC.
fn berlin(at: Timestamp) -> i32 {
    let summer = utc("2026-03-29 01:00")..utc("2026-10-25 01:00");
    if summer.contains(&at) { 7200 } else { 3600 }
}

fn cron(text: &str) -> CronExpression {
    text.parse().unwrap_or_else(|error| unreachable!("{text}: {error}"))
}

fn due(cron_text: &str, after: &str, count: usize, zone: &dyn Fn(Timestamp) -> i32) -> Vec<String> {
    cron(cron_text).due_after(utc(after), zone).take(count).map(text).collect()
}

#[test]
fn o30_cron_expressions_are_due_at_their_times() {
    let utc_zone = |_: Timestamp| 0;
    let check = |expression, after, expected: &[&str]| {
        assert_eq!(due(expression, after, expected.len(), &utc_zone), expected, "{expression}");
    };
    check("30 8 * * *", "2026-11-19 08:30", &["2026-11-20 08:30", "2026-11-21 08:30"]);
    check("*/20 * * * *", "2026-11-19 08:30", &["2026-11-19 08:40", "2026-11-19 09:00"]);
    check("5/25 9 * * *", "2026-11-19 08:30", &["2026-11-19 09:05", "2026-11-19 09:30"]);
    check("0 8,17-18 * * *", "2026-11-19 08:30", &["2026-11-19 17:00", "2026-11-19 18:00"]);
    // 2026-11-19 is a Thursday.
    check("0 9 * * MON-FRI", "2026-11-20 10:00", &["2026-11-23 09:00", "2026-11-24 09:00"]);
    check("0 9 * * 7", "2026-11-20 10:00", &["2026-11-22 09:00", "2026-11-29 09:00"]);
    check("0 0 1 jan,JUL *", "2026-11-20 10:00", &["2027-01-01 00:00", "2027-07-01 00:00"]);
    check(
        "0 0 31 * *",
        "2026-11-20 10:00",
        &["2026-12-31 00:00", "2027-01-31 00:00", "2027-03-31 00:00"],
    );
    check("0 0 29 2 *", "2026-11-20 10:00", &["2028-02-29 00:00", "2032-02-29 00:00"]);
    check("0 0 29 2 *", "2097-01-01 00:00", &["2104-02-29 00:00"]);
    // Either day if both are restricted, both if one of them begins with `*`.
    check("0 0 13 * FRI", "2026-11-01 00:00", &["2026-11-06 00:00", "2026-11-13 00:00"]);
    check("0 0 */2 * FRI", "2026-11-01 00:00", &["2026-11-13 00:00", "2026-11-27 00:00"]);
    check("@weekly", "2026-11-19 08:30", &["2026-11-22 00:00"]);
    check("@Hourly", "2026-11-19 08:30", &["2026-11-19 09:00"]);
}

#[test]
fn o30_texts_that_are_no_cron_expression_are_refused() {
    let check = |text: &str, expected: &str| {
        let error = text.parse::<CronExpression>().expect_err(text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    };
    check("", "is not a cron expression");
    check("* * * *", "minute, hour, day of the month");
    check("0 0 * * * *", "is not a cron expression");
    check("@often", "is not a cron expression");
    check("60 * * * *", "`60` is not a minute; use 0 to 59");
    check("0 24 * * *", "is not a hour");
    check("0 0 0 * *", "is not a day of the month; use 1 to 31");
    check("0 0 1 13 *", "is not a month");
    check("0 0 * * 8", "is not a day of the week");
    check("0 0 * * FRI-MON", "is not a day of the week");
    check("*/0 * * * *", "is not a minute");
    check("5- * * * *", "is not a minute");
    check(", * * * *", "is not a minute");
    check("+5 * * * *", "is not a minute");
    check("0 0 30 2 *", "no month in it has such a day");
    check("0 0 31 4,6,9,11 *", "no month in it has such a day");
}

/// The clock jumps from 02:00 to 03:00 on 29 March 2026 in Berlin, which is 01:00 UTC.
#[test]
fn o30_a_due_time_that_the_clock_skips_is_reached_with_the_change() {
    let check = |expression, expected: &[&str]| {
        assert_eq!(due(expression, "2026-03-28 23:30", expected.len(), &berlin), expected);
    };
    check("30 2 * * *", &["2026-03-29 01:00", "2026-03-30 00:30"]);
    // Several of them are one start.
    check("*/15 2 * * *", &["2026-03-29 01:00", "2026-03-30 00:00"]);
    check("0 2,3 * * *", &["2026-03-29 01:00", "2026-03-30 00:00", "2026-03-30 01:00"]);
    // Hours as they pass.
    check("30 * * * *", &["2026-03-29 00:30", "2026-03-29 01:30", "2026-03-29 02:30"]);
    check("0 */2 * * *", &["2026-03-29 02:00", "2026-03-29 04:00"]);
}

/// The clock goes back from 03:00 to 02:00 on 25 October 2026 in Berlin, which is 01:00 UTC.
#[test]
fn o30_a_due_time_that_exists_twice_counts_once() {
    let check = |expression, expected: &[&str]| {
        assert_eq!(due(expression, "2026-10-24 23:30", expected.len(), &berlin), expected);
    };
    check("30 2 * * *", &["2026-10-25 00:30", "2026-10-26 01:30"]);
    check("*/30 2 * * *", &["2026-10-25 00:00", "2026-10-25 00:30", "2026-10-26 01:00"]);
    // Hours as they pass: no gap, and none twice at the same moment.
    check("30 * * * *", &["2026-10-25 00:30", "2026-10-25 01:30", "2026-10-25 02:30"]);
    check("*/30 * * * *", &["2026-10-25 00:00", "2026-10-25 00:30", "2026-10-25 01:00"]);
    // Asked between the two, the first is over.
    let between = due("30 2 * * *", "2026-10-25 00:45", 1, &berlin);
    assert_eq!(between, ["2026-10-26 01:30"]);
}

/// Havana sets its clock forward at midnight, so that the day begins at 01:00.
#[test]
fn o30_a_skipped_midnight_is_reached_with_the_change() {
    let havana = |at: Timestamp| if at < utc("2026-03-08 05:00") { -18_000 } else { -14_400 };
    let found = due("0 0 * * *", "2026-03-07 12:00", 2, &havana);
    assert_eq!(found, ["2026-03-08 05:00", "2026-03-09 04:00"]);
}

#[test]
fn o30_missed_starts_run_once_or_not_at_all() {
    let zone = |_: Timestamp| 0;
    let check =
        |missed_starts, until: &str, now: &str, expected: (Option<&str>, u32, &str, &str)| {
            let (start, missed, decided, next) = expected;
            let found = decide_due(&cron("0 * * * *"), missed_starts, utc(until), utc(now), &zone);
            let expected = DueStart {
                start: start.map(utc),
                missed,
                decided_until: utc(decided),
                next: Some(utc(next)),
            };
            assert_eq!(found, expected, "{until} {now}");
        };
    use MissedStarts::{RunOnce, Skip};
    let (nine, ten) = ("2026-11-19 09:00", "2026-11-19 10:00");
    for policy in [RunOnce, Skip] {
        check(policy, nine, "2026-11-19 09:59", (None, 0, nine, ten));
        check(policy, nine, ten, (Some(ten), 0, ten, "2026-11-19 11:00"));
        check(policy, nine, "2026-11-19 10:05", (Some(ten), 0, ten, "2026-11-19 11:00"));
    }
    // Three hours without a process.
    let noon = "2026-11-19 12:00";
    check(RunOnce, nine, "2026-11-19 12:30", (Some(noon), 2, noon, "2026-11-19 13:00"));
    check(Skip, nine, "2026-11-19 12:30", (None, 3, noon, "2026-11-19 13:00"));
    check(Skip, nine, "2026-11-19 12:01", (Some(noon), 2, noon, "2026-11-19 13:00"));
}

#[test]
fn o30_overlapping_starts_are_skipped_queued_or_allowed() {
    use OverlapPolicy::{Allow, Queue, Skip};
    let full = MAX_QUEUED_STARTS;
    let table = [
        (Skip, 0, 0, StartDecision::Start),
        (Skip, 1, 0, StartDecision::Skip),
        (Queue, 0, 0, StartDecision::Start),
        (Queue, 1, 0, StartDecision::Queue),
        // The first of the queue goes before.
        (Queue, 0, 1, StartDecision::Queue),
        (Queue, 1, full, StartDecision::Skip),
        (Allow, 5, 0, StartDecision::Start),
    ];
    for (policy, running, queued, expected) in table {
        assert_eq!(decide_overlap(policy, running, queued), expected, "{policy:?}");
    }
}
