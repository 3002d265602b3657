//! What the facts about a database mean, and what to do about it.

use super::{DatabaseKind, Guard, Health, Reached, Work};
use crate::{LedgerCheck, SCHEMA_VERSION};

/// How something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// As it should.
    Ok,
    /// Somebody should look at it.
    Warning,
    /// It does not work.
    Failed,
}

impl Grade {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failed => "failed",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What was looked at.
    pub name: &'static str,
    /// How it stands.
    pub verdict: Grade,
    /// One sentence: what was found and, if it is not as it should be, what to
    /// do.
    pub says: String,
}

type Judgement = (Grade, String);
/// The name of a check, and the check.
type Named<T> = (&'static str, fn(&T) -> Judgement);

/// What is checked of every database that answers; a new check is a line here.
const BASICS: [Named<Reached>; 3] =
    [("database", database), ("schema", schema), ("tenant guard", guard)];
/// What is checked once the schema is the right one; a new check is a line here.
const WORK: [Named<Work>; 7] = [
    ("ledger", ledger),
    ("leases", leases),
    ("inbox", inbox),
    ("outbox", outbox),
    ("unknown outcomes", unknown),
    ("dead letters", dead_letters),
    ("event log", events),
];

/// More events than this slow down whoever reads the log from its beginning,
/// and fill the disk.
const MANY_EVENTS: u64 = 10_000_000;

/// Judges a database.
pub fn judge(health: &Health) -> Vec<Check> {
    let check = |name, (verdict, says)| Check { name, verdict, says };
    match health {
        Health::Unreachable { why } => {
            vec![check("database", (Grade::Failed, format!("{why}.")))]
        }
        Health::Reached(reached) => {
            let basics = BASICS.iter().map(|(name, judge)| check(*name, judge(reached)));
            let work = reached
                .work
                .iter()
                .flat_map(|work| WORK.iter().map(move |(name, judge)| check(*name, judge(work))));
            basics.chain(work).collect()
        }
    }
}

fn database(reached: &Reached) -> Judgement {
    let kind = match reached.kind {
        DatabaseKind::Sqlite => "SQLite",
        DatabaseKind::Postgres => "PostgreSQL",
    };
    (Grade::Ok, format!("{kind} answers; it holds {}.", size(reached.bytes)))
}

fn size(bytes: u64) -> String {
    const STEPS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let step = STEPS.into_iter().find(|(unit, _)| bytes >= *unit);
    step.map_or_else(|| format!("{bytes} bytes"), |(unit, name)| format!("{} {name}", bytes / unit))
}

fn schema(reached: &Reached) -> Judgement {
    match reached.schema {
        SCHEMA_VERSION => (Grade::Ok, format!("The schema is at version {SCHEMA_VERSION}.")),
        0 => (Grade::Failed, "There are no tables yet; run `ostler migrate`.".into()),
        found if found < SCHEMA_VERSION => (
            Grade::Failed,
            format!(
                "The schema is at version {found} and this program needs {SCHEMA_VERSION}; run `ostler migrate`."
            ),
        ),
        found => (
            Grade::Failed,
            format!(
                "The schema is at version {found}, newer than this program's {SCHEMA_VERSION}; use a newer ostler."
            ),
        ),
    }
}

fn guard(reached: &Reached) -> Judgement {
    match reached.guard {
        Guard::None => (Grade::Ok, "Tenants are kept apart by the program alone.".into()),
        Guard::Holds => (Grade::Ok, "Row-level security keeps tenants apart.".into()),
        Guard::PassedBy => (
            Grade::Warning,
            "Row-level security does not hold for this role; connect as one that is neither a superuser nor has BYPASSRLS.".into(),
        ),
    }
}

/// Ok if there are none, a warning with this sentence otherwise.
fn none_of(count: u64, ok: &str, warning: impl FnOnce(String) -> String) -> Judgement {
    match count {
        0 => (Grade::Ok, ok.to_owned()),
        count if count >= Work::MOST => (Grade::Warning, warning(format!("{count} or more"))),
        count => (Grade::Warning, warning(count.to_string())),
    }
}

fn leases(work: &Work) -> Judgement {
    none_of(work.stuck, "No worker has left a conversation behind.", |count| {
        format!(
            "Workers have left conversations behind and nobody has gone on with them: {count}; check that workers are running."
        )
    })
}

fn inbox(work: &Work) -> Judgement {
    none_of(work.unclaimed, "No conversation waits for a worker.", |count| {
        format!(
            "Conversations have waited for a worker for more than five minutes: {count}; start workers, or raise the cap of the orgs."
        )
    })
}

fn outbox(work: &Work) -> Judgement {
    if work.outbox_overdue <= Work::LATE {
        return (Grade::Ok, "Messages go out in time.".into());
    }
    let minutes = work.outbox_overdue.as_secs() / 60;
    (
        Grade::Warning,
        format!(
            "A message has been due to go out for {minutes} minutes; check that a sender is running and that the channel answers."
        ),
    )
}

fn unknown(work: &Work) -> Judgement {
    none_of(work.unknown_sends + work.unknown_calls, "Every outcome is known.", |_| {
        format!(
            "Nobody knows what came of {} messages and {} calls; a person must find out and say so.",
            work.unknown_sends, work.unknown_calls
        )
    })
}

fn dead_letters(work: &Work) -> Judgement {
    none_of(work.dead_letters, "There are no dead letters.", |count| {
        format!("Messages are not tried any more: {count}; replay or abandon each.")
    })
}

fn events(work: &Work) -> Judgement {
    let events = work.events;
    if events <= MANY_EVENTS {
        return (Grade::Ok, format!("The event log has at most {events} events."));
    }
    let says = format!(
        "The event log has up to {events} events; give the orgs retention days and run `ostler prune`."
    );
    (Grade::Warning, says)
}

/// An account that does not add up is never right, so this is no warning.
fn ledger(work: &Work) -> Judgement {
    let LedgerCheck { accounts, wrong } = &work.ledger;
    let Some(first) = wrong.first() else {
        return (Grade::Ok, format!("Every credit of {accounts} accounts is accounted for."));
    };
    let says = format!(
        "{} of {accounts} accounts do not add up, {} first: granted {} by the account and {} by \
         the ledger, reserved {} and {}, spent {} and {}; stop spending there and restore the \
         rows that somebody changed.",
        wrong.len(),
        first.org,
        first.granted.0.get(),
        first.granted.1.get(),
        first.reserved.0.get(),
        first.reserved.1.get(),
        first.spent.0.get(),
        first.spent.1.get(),
    );
    (Grade::Failed, says)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ostler_domain::id::OrgId;
    use ostler_domain::money::Credits;

    use super::{Check, Grade, judge};
    use crate::health::{DatabaseKind, Guard, Health, Reached, Work};
    use crate::{Imbalance, LedgerCheck, SCHEMA_VERSION};

    fn healthy() -> Reached {
        Reached {
            kind: DatabaseKind::Postgres,
            bytes: 3 << 20,
            schema: SCHEMA_VERSION,
            guard: Guard::Holds,
            work: Some(Work::default()),
        }
    }

    fn working(work: Work) -> Reached {
        Reached { work: Some(work), ..healthy() }
    }

    #[test]
    fn a_healthy_database_is_ok_throughout() {
        let checks = judge(&Health::Reached(healthy()));
        assert_eq!(checks.len(), 10);
        assert!(checks.iter().all(|check| check.verdict == Grade::Ok), "{checks:?}");
        assert_eq!(checks[0].says, "PostgreSQL answers; it holds 3 MiB.");
    }

    #[test]
    fn each_fault_is_found_and_says_what_to_do() {
        let late = Work::LATE + Duration::from_secs(60);
        let table = [
            (Reached { guard: Guard::PassedBy, ..healthy() }, "tenant guard", "connect as one"),
            (working(Work { stuck: 2, ..Work::default() }), "leases", "2; check that workers"),
            (working(Work { unclaimed: 1, ..Work::default() }), "inbox", "start workers"),
            (
                working(Work { unclaimed: Work::MOST, ..Work::default() }),
                "inbox",
                "10000 or more; start workers",
            ),
            (
                working(Work { outbox_overdue: late, ..Work::default() }),
                "outbox",
                "for 6 minutes; check",
            ),
            (
                working(Work { unknown_sends: 1, unknown_calls: 2, ..Work::default() }),
                "unknown outcomes",
                "1 messages and 2 calls; a person",
            ),
            (
                working(Work { dead_letters: 3, ..Work::default() }),
                "dead letters",
                "3; replay or abandon",
            ),
            (
                working(Work { events: u64::MAX, ..Work::default() }),
                "event log",
                "run `ostler prune`",
            ),
        ];
        for (reached, name, says) in table {
            let checks = judge(&Health::Reached(reached));
            let wrong: Vec<&Check> =
                checks.iter().filter(|check| check.verdict != Grade::Ok).collect();
            assert_eq!(wrong.len(), 1, "{name}: {wrong:?}");
            assert_eq!((wrong[0].name, wrong[0].verdict), (name, Grade::Warning));
            assert!(wrong[0].says.contains(says), "{}", wrong[0].says);
        }
    }

    /// Z05: an account that does not add up fails the check.
    #[test]
    fn z05_an_account_that_does_not_add_up_fails() {
        let credits = Credits::new;
        let wrong = vec![Imbalance {
            org: OrgId::from_u128(1),
            pools_balance: true,
            granted: (credits(10), credits(10)),
            reserved: (credits(3), credits(0)),
            spent: (credits(0), credits(0)),
        }];
        let ledger = LedgerCheck { accounts: 4, wrong };
        let checks = judge(&Health::Reached(working(Work { ledger, ..Work::default() })));
        let failed: Vec<&Check> =
            checks.iter().filter(|check| check.verdict == Grade::Failed).collect();
        assert_eq!(failed.len(), 1);
        assert!(failed[0].says.contains("1 of 4 accounts"), "{}", failed[0].says);
        assert!(failed[0].says.contains("reserved 3 and 0"), "{}", failed[0].says);
    }

    #[test]
    fn a_schema_that_does_not_fit_fails_and_its_work_is_not_judged() {
        let table = [
            (0, "no tables yet; run `ostler migrate`"),
            (SCHEMA_VERSION - 1, "run `ostler migrate`"),
            (SCHEMA_VERSION + 1, "use a newer ostler"),
        ];
        for (schema, says) in table {
            let checks = judge(&Health::Reached(Reached { schema, work: None, ..healthy() }));
            assert_eq!(checks.len(), 3);
            assert_eq!(checks[1].verdict, Grade::Failed);
            assert!(checks[1].says.contains(says), "{}", checks[1].says);
        }
    }

    #[test]
    fn a_database_that_is_not_there_fails() {
        let checks = judge(&Health::Unreachable { why: "the server is away".into() });
        let says = "the server is away.".into();
        assert_eq!(checks, [Check { name: "database", verdict: Grade::Failed, says }]);
    }
}
