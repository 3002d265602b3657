//! Where and when a notice is sent to a person: at once, after quiet hours, with the next
//! digest, and once more to another destination if nobody reacts.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::preferences::{
    NoticeDestination, NoticePreferences, NoticeTopic, QuietHours, UrgentNotices,
};
use super::time_of_day::{TimeOfDay, UtcOffset};
use super::{NoticeKind, NoticeUrgency};
use crate::time::Timestamp;

/// What the schedule of a notice depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoticeFacts {
    pub kind: NoticeKind,
    pub urgency: NoticeUrgency,
    /// When the decision that the notice asks for expires.
    pub decide_by: Option<Timestamp>,
}

/// A step of notifying a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeStage {
    First,
    /// Nobody has reacted to the first.
    Next,
}

impl NoticeStage {
    /// Both stages.
    pub const ALL: [Self; 2] = [Self::First, Self::Next];

    /// Returns the name as stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Next => "next",
        }
    }
}

/// A delivery of a notice to a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlannedDelivery {
    pub stage: NoticeStage,
    pub destination: NoticeDestination,
    pub due_at: Timestamp,
}

/// Returns the deliveries of a notice to a person. `reachable` has the destinations for
/// which an address is known; a digest counts if its own destination does.
pub fn plan_deliveries(
    facts: NoticeFacts,
    preferences: &NoticePreferences,
    reachable: &BTreeSet<NoticeDestination>,
    zone: UtcOffset<'_>,
    now: Timestamp,
) -> Vec<PlannedDelivery> {
    let can_reach = |destination: &NoticeDestination| match destination {
        NoticeDestination::Digest => reachable.contains(&preferences.digest.to.into()),
        other => reachable.contains(other),
    };
    let not_quiet = |at: Timestamp| match &preferences.quiet_hours {
        Some(quiet) => quiet.end_after(at, facts.urgency, zone),
        None => at,
    };
    let wanted = wanted(facts.kind, preferences);
    let first: Vec<PlannedDelivery> = wanted
        .iter()
        .filter(|destination| can_reach(destination))
        .map(|&destination| {
            let due_at = match destination {
                NoticeDestination::Digest => preferences.digest.at.next(now, zone),
                _ => not_quiet(now),
            };
            PlannedDelivery { stage: NoticeStage::First, destination, due_at }
        })
        .collect();
    let destination = preferences.unanswered.to.into();
    let next = next_stage_at(facts, preferences, !first.is_empty(), now)
        .filter(|_| !wanted.is_empty() && can_reach(&destination))
        .filter(|_| first.iter().all(|one| one.destination != destination))
        .map(|at| PlannedDelivery { stage: NoticeStage::Next, destination, due_at: not_quiet(at) });
    first.into_iter().chain(next).collect()
}

/// Returns the destinations of the first stage.
fn wanted(kind: NoticeKind, preferences: &NoticePreferences) -> BTreeSet<NoticeDestination> {
    let mut wanted = preferences.destinations(kind.topic());
    match kind {
        NoticeKind::EscalationUnanswered if !wanted.is_empty() => {
            [preferences.unanswered.to.into()].into()
        }
        // The group has read it; the owner is responsible.
        NoticeKind::EscalationReminder => {
            wanted.remove(&NoticeDestination::TeamGroup);
            wanted
        }
        _ => wanted,
    }
}

/// Returns when a notice goes to the next stage if nobody reacts. Escalations have stages of
/// their own. A decision is asked for again when three quarters of its time are over.
fn next_stage_at(
    facts: NoticeFacts,
    preferences: &NoticePreferences,
    has_first: bool,
    now: Timestamp,
) -> Option<Timestamp> {
    if let Some(decide_by) = facts.decide_by {
        return Some(now + decide_by.since(now) / 4 * 3);
    }
    if facts.urgency == NoticeUrgency::Normal || facts.kind.topic() == NoticeTopic::Escalations {
        return None;
    }
    Some(if has_first { now + preferences.unanswered.after } else { now })
}

impl QuietHours {
    /// Returns `at`, or the end of the quiet hours that contain it.
    fn end_after(&self, at: Timestamp, urgency: NoticeUrgency, zone: UtcOffset<'_>) -> Timestamp {
        /// A change of the clock can skip the end of the quiet hours, and with it the only
        /// time of a day that is not quiet.
        const DAYS: usize = 3;
        let passes = urgency == NoticeUrgency::Urgent && self.urgent == UrgentNotices::Pass;
        let mut at = at;
        for _ in 0..DAYS {
            if passes || !self.contains(TimeOfDay::of(at, zone)) {
                break;
            }
            at = self.to.next(at + Duration::from_millis(1), zone);
        }
        at
    }

    fn contains(&self, time: TimeOfDay) -> bool {
        if self.from <= self.to {
            self.from <= time && time < self.to
        } else {
            self.from <= time || time < self.to
        }
    }
}

#[cfg(test)]
mod tests;
