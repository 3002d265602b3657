//! Assesses open work and problems in a database.

use super::{CheckResult, CheckStatus, NamedCheck, age};
use crate::LedgerCheck;
use crate::maintenance::health::WorkCounts;

/// The checks of a database with the right schema; a new check is a line here.
pub(super) const CHECKS: [NamedCheck<WorkCounts>; 7] = [
    ("ledger", ledger),
    ("leases", leases),
    ("inbox", inbox),
    ("outbox", outbox),
    ("unknown outcomes", unknown_outcomes),
    ("dead letters", dead_letters),
    ("event log", events),
];

/// More events than this slow down readers from the beginning of the log and fill the
/// disk.
const MAX_EVENTS: u64 = 10_000_000;

/// Ok if the count is 0, a warning with this sentence otherwise.
fn warn_if_any(count: u64, ok: &str, warning: impl FnOnce(String) -> String) -> CheckResult {
    match count {
        0 => (CheckStatus::Ok, ok.to_owned()),
        count if count >= WorkCounts::MAX_COUNT => {
            (CheckStatus::Warning, warning(format!("{count} or more")))
        }
        count => (CheckStatus::Warning, warning(count.to_string())),
    }
}

fn leases(work: &WorkCounts) -> CheckResult {
    warn_if_any(work.abandoned_leases, "No worker has abandoned a conversation.", |count| {
        format!(
            "Conversations with an expired lease that no worker has claimed again: {count}; check that workers are running."
        )
    })
}

fn inbox(work: &WorkCounts) -> CheckResult {
    warn_if_any(work.overdue_conversations, "No conversation is waiting for a worker.", |count| {
        format!(
            "Conversations that wait for a worker: {count}, the oldest for {}; start `ostler serve` or `ostler worker`, or raise the concurrency cap of the orgs.",
            age(work.conversation_wait)
        )
    })
}

fn outbox(work: &WorkCounts) -> CheckResult {
    if work.outbox_overdue <= WorkCounts::LATE {
        return (CheckStatus::Ok, "Messages are sent on time.".into());
    }
    (
        CheckStatus::Warning,
        format!(
            "A message has waited to be sent for {}; start `ostler serve` or `ostler worker`, or check that the channel is reachable.",
            age(work.outbox_overdue)
        ),
    )
}

fn unknown_outcomes(work: &WorkCounts) -> CheckResult {
    warn_if_any(work.unknown_sends + work.unknown_calls, "Every outcome is known.", |_| {
        format!(
            "Unknown outcomes: messages {}, calls {}, the oldest for {}; find out what happened, and record it with `ostler unknown-outcome resolve` or `ostler dead-letter`.",
            work.unknown_sends,
            work.unknown_calls,
            age(work.oldest_unknown)
        )
    })
}

fn dead_letters(work: &WorkCounts) -> CheckResult {
    warn_if_any(work.dead_letters, "There are no dead letters.", |count| {
        let retried = match work.retried_dead_letters {
            0 => String::new(),
            retried => format!(", {retried} of them will be tried again"),
        };
        format!(
            "Dead letters: {count}, the oldest for {}{retried}; replay or abandon the others with `ostler dead-letter`.",
            age(work.oldest_dead_letter)
        )
    })
}

fn events(work: &WorkCounts) -> CheckResult {
    let events = work.events;
    if events <= MAX_EVENTS {
        return (CheckStatus::Ok, format!("Events in the log: at most {events}."));
    }
    let message = format!(
        "The event log has up to {events} events; set retention days for the orgs and run `ostler prune`."
    );
    (CheckStatus::Warning, message)
}

/// A mismatch is always an error, so it fails instead of warning.
fn ledger(work: &WorkCounts) -> CheckResult {
    let LedgerCheck { accounts, mismatches } = &work.ledger;
    let Some(first) = mismatches.first() else {
        return (CheckStatus::Ok, format!("Every credit of {accounts} accounts is accounted for."));
    };
    let message = format!(
        "{} of {accounts} accounts do not match the ledger, first {}: granted {} by the account \
         and {} by the ledger, reserved {} and {}, spent {} and {}; stop spending there and \
         restore the changed rows.",
        mismatches.len(),
        first.org,
        first.granted.0.get(),
        first.granted.1.get(),
        first.reserved.0.get(),
        first.reserved.1.get(),
        first.spent.0.get(),
        first.spent.1.get(),
    );
    (CheckStatus::Failed, message)
}
