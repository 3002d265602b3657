//! Assesses the state of a database and tells what to do about problems.

use super::{DatabaseHealth, DatabaseKind, DatabaseStatus, RowSecurity, WorkCounts};
use crate::{LedgerCheck, SCHEMA_VERSION};

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckStatus {
    Ok,
    Warning,
    Failed,
}

impl CheckStatus {
    /// Returns the name of the status.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failed => "failed",
        }
    }
}

/// One check and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthCheck {
    pub name: &'static str,
    pub status: CheckStatus,
    /// One sentence: what was found and, if there is a problem, what to do.
    pub message: String,
}

type CheckResult = (CheckStatus, String);
/// A check and its name.
type NamedCheck<T> = (&'static str, fn(&T) -> CheckResult);

/// The checks of every reachable database; a new check is a line here.
const BASICS: [NamedCheck<DatabaseStatus>; 3] =
    [("database", reachable), ("schema", schema), ("tenant isolation", row_security)];
/// The checks of a database with the right schema; a new check is a line here.
const WORK: [NamedCheck<WorkCounts>; 7] = [
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

/// Assesses the state of a database.
pub fn assess(health: &DatabaseHealth) -> Vec<HealthCheck> {
    let check = |name, (status, message)| HealthCheck { name, status, message };
    match health {
        DatabaseHealth::Unreachable { reason } => {
            vec![check("database", (CheckStatus::Failed, format!("{reason}.")))]
        }
        DatabaseHealth::Reachable(database) => {
            let basics = BASICS.iter().map(|(name, assess)| check(*name, assess(database)));
            let work = database
                .work
                .iter()
                .flat_map(|work| WORK.iter().map(move |(name, assess)| check(*name, assess(work))));
            basics.chain(work).collect()
        }
    }
}

fn reachable(database: &DatabaseStatus) -> CheckResult {
    let kind = match database.kind {
        DatabaseKind::Sqlite => "SQLite",
        DatabaseKind::Postgres => "PostgreSQL",
    };
    (CheckStatus::Ok, format!("{kind} is reachable and holds {}.", size(database.bytes)))
}

fn size(bytes: u64) -> String {
    const STEPS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let step = STEPS.into_iter().find(|(unit, _)| bytes >= *unit);
    step.map_or_else(|| format!("{bytes} bytes"), |(unit, name)| format!("{} {name}", bytes / unit))
}

fn schema(database: &DatabaseStatus) -> CheckResult {
    match database.schema_version {
        SCHEMA_VERSION => (CheckStatus::Ok, format!("The schema is at version {SCHEMA_VERSION}.")),
        0 => (CheckStatus::Failed, "There are no tables yet; run `ostler migrate`.".into()),
        found if found < SCHEMA_VERSION => (
            CheckStatus::Failed,
            format!(
                "The schema is at version {found} and this program needs {SCHEMA_VERSION}; run `ostler migrate`."
            ),
        ),
        found => (
            CheckStatus::Failed,
            format!(
                "The schema is at version {found}, newer than this program's {SCHEMA_VERSION}; use a newer ostler."
            ),
        ),
    }
}

fn row_security(database: &DatabaseStatus) -> CheckResult {
    match database.row_security {
        RowSecurity::Unsupported => (CheckStatus::Ok, "The program alone isolates tenants; SQLite has no row-level security.".into()),
        RowSecurity::Enforced => (CheckStatus::Ok, "Row-level security isolates tenants.".into()),
        RowSecurity::Bypassed => (
            CheckStatus::Warning,
            "Row-level security does not apply to this role; connect as a role that is neither a superuser nor has BYPASSRLS.".into(),
        ),
    }
}

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
            "Conversations that have waited for a worker for more than five minutes: {count}; start workers, or raise the concurrency cap of the orgs."
        )
    })
}

fn outbox(work: &WorkCounts) -> CheckResult {
    if work.outbox_overdue <= WorkCounts::LATE {
        return (CheckStatus::Ok, "Messages are sent on time.".into());
    }
    let minutes = work.outbox_overdue.as_secs() / 60;
    (
        CheckStatus::Warning,
        format!(
            "A message has been due for {minutes} minutes; check that a sender is running and that the channel is reachable."
        ),
    )
}

fn unknown_outcomes(work: &WorkCounts) -> CheckResult {
    warn_if_any(work.unknown_sends + work.unknown_calls, "Every outcome is known.", |_| {
        format!(
            "The outcome of {} messages and {} calls is unknown; a person must find out and resolve each.",
            work.unknown_sends, work.unknown_calls
        )
    })
}

fn dead_letters(work: &WorkCounts) -> CheckResult {
    warn_if_any(work.dead_letters, "There are no dead letters.", |count| {
        format!("Dead letters: {count}; replay or abandon each.")
    })
}

fn events(work: &WorkCounts) -> CheckResult {
    let events = work.events;
    if events <= MAX_EVENTS {
        return (CheckStatus::Ok, format!("The event log has at most {events} events."));
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ostler_domain::id::OrgId;
    use ostler_domain::money::Credits;

    use super::{CheckStatus, HealthCheck, assess};
    use crate::maintenance::health::{
        DatabaseHealth, DatabaseKind, DatabaseStatus, RowSecurity, WorkCounts,
    };
    use crate::{AccountMismatch, LedgerCheck, SCHEMA_VERSION};

    fn healthy() -> DatabaseStatus {
        DatabaseStatus {
            kind: DatabaseKind::Postgres,
            bytes: 3 << 20,
            schema_version: SCHEMA_VERSION,
            row_security: RowSecurity::Enforced,
            work: Some(WorkCounts::default()),
        }
    }

    fn working(work: WorkCounts) -> DatabaseStatus {
        DatabaseStatus { work: Some(work), ..healthy() }
    }

    #[test]
    fn a_healthy_database_passes_every_check() {
        let checks = assess(&DatabaseHealth::Reachable(healthy()));
        assert_eq!(checks.len(), 10);
        assert!(checks.iter().all(|check| check.status == CheckStatus::Ok), "{checks:?}");
        assert_eq!(checks[0].message, "PostgreSQL is reachable and holds 3 MiB.");
    }

    #[test]
    fn each_problem_is_a_warning_that_tells_what_to_do() {
        let late = WorkCounts::LATE + Duration::from_secs(60);
        let table = [
            (
                DatabaseStatus { row_security: RowSecurity::Bypassed, ..healthy() },
                "tenant isolation",
                "connect as a role",
            ),
            (
                working(WorkCounts { abandoned_leases: 2, ..WorkCounts::default() }),
                "leases",
                "2; check that workers",
            ),
            (
                working(WorkCounts { overdue_conversations: 1, ..WorkCounts::default() }),
                "inbox",
                "start workers",
            ),
            (
                working(WorkCounts {
                    overdue_conversations: WorkCounts::MAX_COUNT,
                    ..WorkCounts::default()
                }),
                "inbox",
                "10000 or more; start workers",
            ),
            (
                working(WorkCounts { outbox_overdue: late, ..WorkCounts::default() }),
                "outbox",
                "for 6 minutes; check",
            ),
            (
                working(WorkCounts { unknown_sends: 1, unknown_calls: 2, ..WorkCounts::default() }),
                "unknown outcomes",
                "1 messages and 2 calls is unknown; a person",
            ),
            (
                working(WorkCounts { dead_letters: 3, ..WorkCounts::default() }),
                "dead letters",
                "3; replay or abandon",
            ),
            (
                working(WorkCounts { events: u64::MAX, ..WorkCounts::default() }),
                "event log",
                "run `ostler prune`",
            ),
        ];
        for (database, name, message) in table {
            let checks = assess(&DatabaseHealth::Reachable(database));
            let failing: Vec<&HealthCheck> =
                checks.iter().filter(|check| check.status != CheckStatus::Ok).collect();
            assert_eq!(failing.len(), 1, "{name}: {failing:?}");
            assert_eq!((failing[0].name, failing[0].status), (name, CheckStatus::Warning));
            assert!(failing[0].message.contains(message), "{}", failing[0].message);
        }
    }

    /// Z05: an account that does not match the ledger fails the check.
    #[test]
    fn z05_an_account_mismatch_fails_the_check() {
        let credits = Credits::new;
        let mismatches = vec![AccountMismatch {
            org: OrgId::from_u128(1),
            pools_balance: true,
            granted: (credits(10), credits(10)),
            reserved: (credits(3), credits(0)),
            spent: (credits(0), credits(0)),
        }];
        let ledger = LedgerCheck { accounts: 4, mismatches };
        let checks = assess(&DatabaseHealth::Reachable(working(WorkCounts {
            ledger,
            ..WorkCounts::default()
        })));
        let failed: Vec<&HealthCheck> =
            checks.iter().filter(|check| check.status == CheckStatus::Failed).collect();
        assert_eq!(failed.len(), 1);
        assert!(failed[0].message.contains("1 of 4 accounts"), "{}", failed[0].message);
        assert!(failed[0].message.contains("reserved 3 and 0"), "{}", failed[0].message);
    }

    #[test]
    fn a_wrong_schema_version_fails_and_skips_the_work_checks() {
        let table = [
            (0, "no tables yet; run `ostler migrate`"),
            (SCHEMA_VERSION - 1, "run `ostler migrate`"),
            (SCHEMA_VERSION + 1, "use a newer ostler"),
        ];
        for (schema_version, message) in table {
            let checks = assess(&DatabaseHealth::Reachable(DatabaseStatus {
                schema_version,
                work: None,
                ..healthy()
            }));
            assert_eq!(checks.len(), 3);
            assert_eq!(checks[1].status, CheckStatus::Failed);
            assert!(checks[1].message.contains(message), "{}", checks[1].message);
        }
    }

    #[test]
    fn an_unreachable_database_fails() {
        let checks = assess(&DatabaseHealth::Unreachable { reason: "the server is away".into() });
        let message = "the server is away.".into();
        assert_eq!(
            checks,
            [HealthCheck { name: "database", status: CheckStatus::Failed, message }]
        );
    }
}
