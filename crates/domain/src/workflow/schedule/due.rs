//! When a schedule is due, where clocks change, after a downtime, and while its last
//! workflow still runs.

use super::{CronExpression, MissedStarts, OverlapPolicy};
use crate::notice::time_of_day::{UtcOffset, local_millis, timestamps};
use crate::time::{Timestamp, UtcDay};

const MILLIS_PER_MINUTE: i64 = 60_000;
const MILLIS_PER_DAY: i64 = 24 * 60 * MILLIS_PER_MINUTE;
/// A 29 February is at most eight years away.
const SEARCHED_DAYS: i64 = 9 * 366;
/// How late a start may be and still counts as one on time.
const ON_TIME_MILLIS: i64 = 5 * MILLIS_PER_MINUTE;
/// How far back missed due times are counted.
const COUNTED_MILLIS: i64 = 400 * MILLIS_PER_DAY;
/// How many starts of a schedule wait for the one before.
pub const MAX_QUEUED_STARTS: u32 = 10;

impl CronExpression {
    /// Returns the due times after a point in time, in order. `zone` is the time zone in
    /// which the expression is read.
    ///
    /// Where the clock is set forward, a due time that does not exist is reached with the
    /// change, and several of them once. Where it is set back, a due time that exists twice
    /// counts the first time. An expression whose hour begins with `*` counts hours as they
    /// pass instead: what does not exist is left out, and what exists twice counts twice.
    pub fn due_after<'a>(
        &'a self,
        after: Timestamp,
        zone: UtcOffset<'a>,
    ) -> impl Iterator<Item = Timestamp> + 'a {
        let today = local_millis(after, zone).div_euclid(MILLIS_PER_DAY);
        let days = (today - 1..today + SEARCHED_DAYS).map(UtcDay::from_number);
        let mut last = after;
        days.filter(|day| self.matches_day(*day))
            .flat_map(move |day| self.due_on(day, zone))
            // A time that does not exist before midnight is reached on the next day.
            .filter(move |due| {
                let is_later = *due > last;
                last = last.max(*due);
                is_later
            })
    }

    /// Returns the due times of a local day, in order.
    fn due_on(&self, day: UtcDay, zone: UtcOffset<'_>) -> Vec<Timestamp> {
        let start = day.start().as_millis();
        let mut due: Vec<Timestamp> = self
            .minutes_of_day()
            .flat_map(|minute| {
                let local = start + minute * MILLIS_PER_MINUTE;
                let mut times = timestamps(local, zone);
                if self.follows_hours() {
                    times.retain(|at| local_millis(*at, zone) == local);
                } else {
                    times.sort_unstable();
                    times.truncate(1);
                }
                times
            })
            .collect();
        due.sort_unstable();
        due.dedup();
        due
    }
}

/// What a schedule does when it is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueStart {
    /// The due time to start for, if there is one.
    pub start: Option<Timestamp>,
    /// How many due times passed without a start.
    pub missed: u32,
    /// Due times until then are decided.
    pub decided_until: Timestamp,
    /// The next due time, if there is one.
    pub next: Option<Timestamp>,
}

/// Decides about the due times of a schedule after `decided_until`. Of those that have passed
/// at most one starts a workflow: the last one, on time or by the policy for missed starts.
pub fn decide_due(
    cron: &CronExpression,
    missed_starts: MissedStarts,
    decided_until: Timestamp,
    now: Timestamp,
    zone: UtcOffset<'_>,
) -> DueStart {
    let counted = Timestamp::from_millis(now.as_millis() - COUNTED_MILLIS).max(decided_until);
    let (mut last, mut passed, mut next) = (None, 0_u32, None);
    for due in cron.due_after(counted, zone) {
        if due > now {
            next = Some(due);
            break;
        }
        (last, passed) = (Some(due), passed + 1);
    }
    let on_time = |due: &Timestamp| now.as_millis() - due.as_millis() <= ON_TIME_MILLIS;
    let start = last.filter(|due| missed_starts == MissedStarts::RunOnce || on_time(due));
    DueStart {
        start,
        missed: passed - u32::from(start.is_some()),
        decided_until: last.unwrap_or(decided_until),
        next,
    }
}

/// What happens at a due time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartDecision {
    Start,
    /// It starts when those before it have ended.
    Queue,
    Skip,
}

/// Decides about a start while `running` workflows of the schedule have not ended and
/// `queued` starts wait.
pub const fn decide_overlap(policy: OverlapPolicy, running: u32, queued: u32) -> StartDecision {
    match policy {
        OverlapPolicy::Allow => StartDecision::Start,
        _ if running == 0 && queued == 0 => StartDecision::Start,
        OverlapPolicy::Queue if queued < MAX_QUEUED_STARTS => StartDecision::Queue,
        OverlapPolicy::Queue | OverlapPolicy::Skip => StartDecision::Skip,
    }
}
