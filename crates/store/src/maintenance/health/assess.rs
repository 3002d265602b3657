//! Assesses the state of a database and tells what to do about problems.

mod work;

use std::time::Duration;

use super::{DatabaseHealth, DatabaseKind, DatabaseStatus, RowSecurity};
use crate::SCHEMA_VERSION;

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
const BASICS: [NamedCheck<DatabaseStatus>; 6] = [
    ("database", reachable),
    ("schema", schema),
    ("tenant isolation", row_security),
    ("writing", writing),
    ("integrity", integrity),
    ("clock", clock),
];

/// Clocks that differ by more than this confuse people who compare times.
const MAX_CLOCK_SKEW: Duration = Duration::from_secs(5);

/// Assesses the state of a database.
pub fn assess(health: &DatabaseHealth) -> Vec<HealthCheck> {
    let check = |name, (status, message)| HealthCheck { name, status, message };
    match health {
        DatabaseHealth::Unreachable { reason } => {
            vec![check("database", (CheckStatus::Failed, format!("{reason}.")))]
        }
        DatabaseHealth::Reachable(database) => {
            let basics = BASICS.iter().map(|(name, assess)| check(*name, assess(database)));
            let work = database.work.iter().flat_map(|work| {
                work::CHECKS.iter().map(move |(name, assess)| check(*name, assess(work)))
            });
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

fn writing(database: &DatabaseStatus) -> CheckResult {
    match &database.write_error {
        None => (CheckStatus::Ok, "The database can be written.".into()),
        Some(reason) => (
            CheckStatus::Failed,
            format!(
                "The database cannot be written: {reason}; check the free space, and that this user may write it."
            ),
        ),
    }
}

fn integrity(database: &DatabaseStatus) -> CheckResult {
    match (database.damage.first(), database.kind) {
        (None, DatabaseKind::Sqlite) => (CheckStatus::Ok, "The file is not damaged.".into()),
        (None, DatabaseKind::Postgres) => {
            (CheckStatus::Ok, "PostgreSQL looks after its own files.".into())
        }
        (Some(first), _) => (
            CheckStatus::Failed,
            format!("The file is damaged ({first}); stop every process and restore a backup."),
        ),
    }
}

fn clock(database: &DatabaseStatus) -> CheckResult {
    let skew = database.clock_skew;
    if skew <= MAX_CLOCK_SKEW {
        return (CheckStatus::Ok, "The clocks of database and program agree.".into());
    }
    (
        CheckStatus::Warning,
        format!(
            "The clocks of the database and of this machine differ by {}; synchronize them, for example with NTP.",
            age(skew)
        ),
    )
}

/// Formats a duration for people.
fn age(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..120 => format!("{seconds} seconds"),
        120..7200 => format!("{} minutes", seconds / 60),
        7200..172_800 => format!("{} hours", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
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
            write_error: None,
            damage: Vec::new(),
            clock_skew: Duration::from_secs(1),
            work: Some(WorkCounts::default()),
        }
    }

    fn reachable(status: DatabaseStatus) -> DatabaseHealth {
        DatabaseHealth::Reachable(Box::new(status))
    }

    fn working(work: WorkCounts) -> DatabaseStatus {
        DatabaseStatus { work: Some(work), ..healthy() }
    }

    #[test]
    fn a_healthy_database_passes_every_check() {
        let checks = assess(&reachable(healthy()));
        assert_eq!(checks.len(), 13);
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
                DatabaseStatus { clock_skew: Duration::from_secs(90), ..healthy() },
                "clock",
                "differ by 90 seconds; synchronize",
            ),
            (
                working(WorkCounts { abandoned_leases: 2, ..WorkCounts::default() }),
                "leases",
                "2; check that workers",
            ),
            (
                working(WorkCounts {
                    overdue_conversations: 1,
                    conversation_wait: Duration::from_secs(90),
                    ..WorkCounts::default()
                }),
                "inbox",
                "1, the oldest for 90 seconds; start `ostler serve`",
            ),
            (
                working(WorkCounts {
                    overdue_conversations: WorkCounts::MAX_COUNT,
                    ..WorkCounts::default()
                }),
                "inbox",
                "10000 or more, the oldest for 0 seconds; start",
            ),
            (
                working(WorkCounts { outbox_overdue: late, ..WorkCounts::default() }),
                "outbox",
                "for 2 minutes; start `ostler serve`",
            ),
            (
                working(WorkCounts {
                    unknown_sends: 1,
                    unknown_calls: 2,
                    oldest_unknown: Duration::from_secs(3 * 86_400),
                    ..WorkCounts::default()
                }),
                "unknown outcomes",
                "messages 1, calls 2, the oldest for 3 days; find out",
            ),
            (
                working(WorkCounts {
                    dead_letters: 3,
                    retried_dead_letters: 1,
                    oldest_dead_letter: Duration::from_secs(3 * 3600),
                    ..WorkCounts::default()
                }),
                "dead letters",
                "3, the oldest for 3 hours, 1 of them will be tried again; replay or abandon",
            ),
            (
                working(WorkCounts { events: u64::MAX, ..WorkCounts::default() }),
                "event log",
                "run `ostler prune`",
            ),
        ];
        for (database, name, message) in table {
            let checks = assess(&reachable(database));
            let failing: Vec<&HealthCheck> =
                checks.iter().filter(|check| check.status != CheckStatus::Ok).collect();
            assert_eq!(failing.len(), 1, "{name}: {failing:?}");
            assert_eq!((failing[0].name, failing[0].status), (name, CheckStatus::Warning));
            assert!(failing[0].message.contains(message), "{}", failing[0].message);
        }
    }

    #[test]
    fn a_database_that_is_damaged_or_read_only_fails() {
        let read_only = DatabaseStatus { write_error: Some("read-only".into()), ..healthy() };
        let damaged = DatabaseStatus { damage: vec!["page 3".into()], ..healthy() };
        for (database, name, message) in [
            (read_only, "writing", "cannot be written: read-only; check the free space"),
            (damaged, "integrity", "damaged (page 3); stop every process and restore"),
        ] {
            let checks = assess(&reachable(database));
            let failed: Vec<&HealthCheck> =
                checks.iter().filter(|check| check.status == CheckStatus::Failed).collect();
            assert_eq!((failed.len(), failed[0].name), (1, name));
            assert!(failed[0].message.contains(message), "{}", failed[0].message);
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
        let checks = assess(&reachable(working(WorkCounts { ledger, ..WorkCounts::default() })));
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
            let checks =
                assess(&reachable(DatabaseStatus { schema_version, work: None, ..healthy() }));
            assert_eq!(checks.len(), 6);
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
