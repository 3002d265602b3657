//! Database health as `ostler doctor` reports it.

use std::time::Duration;

use ostler_domain::id::{CallId, OrgId, RunId};
use ostler_store::{
    Checkpoint, DatabaseHealth, DatabaseKind, DatabaseStatus, LedgerCheck, OutboxDelivery,
    RetrySafety, RowSecurity, SCHEMA_VERSION, Store, StoredIntent, WorkCounts, assess,
};
use ostler_testkit::claim_send;

use crate::support::{TestDatabase, accept, claim, next, turn, with_org};

async fn status(url: &str) -> DatabaseStatus {
    match DatabaseHealth::check(url).await {
        DatabaseHealth::Reachable(status) => *status,
        DatabaseHealth::Unreachable { reason } => panic!("{reason}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_database_is_healthy() {
    let kinds = [
        (DatabaseKind::Sqlite, RowSecurity::Unsupported),
        (DatabaseKind::Postgres, RowSecurity::Enforced),
    ];
    for (backend, (kind, row_security)) in TestDatabase::both().await.into_iter().zip(kinds) {
        let store = backend.migrated().await;
        let found = status(&backend.url).await;
        assert!(found.bytes > 10_000, "{found:?}");
        let work = Some(WorkCounts::default());
        let expected = DatabaseStatus {
            kind,
            bytes: found.bytes,
            schema_version: SCHEMA_VERSION,
            row_security,
            write_error: None,
            damage: Vec::new(),
            clock_skew: found.clock_skew,
            work,
        };
        assert!(found.clock_skew < Duration::from_secs(5), "{found:?}");
        assert_eq!(found, expected);
        drop(store);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_without_a_schema_reports_no_work_counts() {
    for backend in TestDatabase::both().await {
        drop(Store::connect(&backend.url).unwrap());
        let found = status(&backend.url).await;
        assert_eq!((found.schema_version, found.work), (0, None));
    }
}

/// Creates every problem that the health report counts.
async fn create_problems(store: &Store, org: OrgId) {
    // A call and a reply with unknown outcomes, and a dead reply.
    accept(store, org, "rosa", "m1").await;
    let rosa = claim(store).await.unwrap();
    let intent = StoredIntent {
        call: CallId::from_u128(next()),
        tool: "t".into(),
        key: "k".into(),
        arguments: "{}".into(),
        retry_safety: RetrySafety::Unsafe,
    };
    let state = Checkpoint { run: RunId::from_u128(next()), version: 1, state: "{}".into() };
    store.checkpoint_turn(rosa.lease, state, vec![intent], Duration::ZERO).await.unwrap();
    let mut commit = turn(&rosa);
    let another = |n: u128| ostler_store::NewOutboxEntry {
        binding: None,
        id: ostler_domain::id::OutboxId::from_u128(next() + n),
        ..commit.outbox[0].clone()
    };
    commit.outbox = vec![another(1 << 64), another(2 << 64), another(3 << 64)];
    store.commit_turn(&commit).await.unwrap();
    for end in [OutboxDelivery::Unknown("?".into()), OutboxDelivery::Dead("blocked".into())] {
        let sent = claim_send(store, Duration::from_secs(30)).await.unwrap();
        store.org(org).record_delivery(&sent, end).await.unwrap();
    }
    // A dead message, an abandoned lease and a waiting conversation.
    accept(store, org, "otto", "m2").await;
    let otto = claim(store).await.unwrap();
    store.make_dead_letter(otto.lease, otto.messages[0].id, "no").await.unwrap();
    accept(store, org, "gus", "m3").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_problem_is_counted() {
    for backend in TestDatabase::both().await {
        let store = backend.migrated().await;
        for id in 1..=2 {
            create_problems(&store, with_org(&store, id).await).await;
            // The next org's sender claims its own rows first.
            backend.execute("UPDATE outbox SET due_at = due_at + 86400000").await;
        }
        let late = "UPDATE conversations SET pending_at = pending_at - 86400000,
              lease_until = CASE WHEN lease_until > 0 THEN lease_until - 86400000 ELSE 0 END
              WHERE pending_at IS NOT NULL;
            UPDATE outbox SET due_at = due_at - 2 * 86400000 - 600000;";
        backend.execute(late).await;
        let work = status(&backend.url).await.work.unwrap();
        let minutes = work.outbox_overdue.as_secs() / 60;
        assert!((10..1500).contains(&minutes), "{minutes}");
        let expected = WorkCounts {
            abandoned_leases: 2,
            overdue_conversations: 2,
            conversation_wait: work.conversation_wait,
            outbox_overdue: work.outbox_overdue,
            unknown_sends: 2,
            unknown_calls: 2,
            oldest_unknown: work.oldest_unknown,
            dead_letters: 4,
            retried_dead_letters: 0,
            oldest_dead_letter: work.oldest_dead_letter,
            // One of the turn, and one of the notice about a dead letter.
            events: 4,
            // Accounts are created on first access.
            ledger: LedgerCheck::default(),
        };
        assert_eq!(work, expected);
        let day = Duration::from_secs(86_400);
        assert!(work.conversation_wait >= day && work.oldest_unknown > Duration::from_secs(600));
        assert!(work.oldest_dead_letter > Duration::from_secs(600), "{work:?}");
        let checks = assess(&DatabaseHealth::check(&backend.url).await);
        let warnings = checks.iter().filter(|check| check.status.name() == "warning").count();
        assert_eq!(warnings, 5, "{checks:?}");
    }
}

/// A superuser bypasses row-level security, and the report says so.
#[tokio::test(flavor = "multi_thread")]
async fn a_superuser_bypasses_row_level_security() {
    let backend = TestDatabase::postgres().await;
    backend.migrated().await;
    let server = std::env::var("OSTLER_TEST_POSTGRES_URL").unwrap();
    let (login, _) = server.rsplit_once('/').unwrap();
    let (_, name) = backend.url.rsplit_once('/').unwrap();
    assert_eq!(status(&format!("{login}/{name}")).await.row_security, RowSecurity::Bypassed);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_database_is_reported_and_not_created() {
    let backend = TestDatabase::sqlite_file();
    let path = backend.url.strip_prefix("sqlite:").unwrap();
    let DatabaseHealth::Unreachable { reason } = DatabaseHealth::check(&backend.url).await else {
        panic!("no file")
    };
    assert!(reason.contains("`ostler migrate` creates it"), "{reason}");
    assert!(!std::path::Path::new(path).exists());
    std::fs::write(path, "this is a letter and no database, whatever its name says").unwrap();
    let DatabaseHealth::Unreachable { reason } = DatabaseHealth::check(&backend.url).await else {
        panic!("a letter")
    };
    assert!(reason.contains("not a database"), "{reason}");
    let away = DatabaseHealth::check("postgres://nobody@127.0.0.1:1/nothing").await;
    assert!(
        matches!(&away, DatabaseHealth::Unreachable { reason } if reason.contains("cannot be reached"))
    );
}

/// O20: a database that nobody may write is reported.
#[tokio::test(flavor = "multi_thread")]
async fn o20_a_read_only_database_is_reported() {
    let backend = TestDatabase::postgres().await;
    backend.migrated().await;
    let (_, name) = backend.url.rsplit_once('/').unwrap();
    let sql = format!("ALTER DATABASE \"{name}\" SET default_transaction_read_only = on");
    backend.execute(sql.leak()).await;
    let error = status(&backend.url).await.write_error.expect("nothing can be written");
    assert!(error.contains("read-only"), "{error}");
}

/// O20: damaged pages are reported, and work is not counted in them.
#[tokio::test(flavor = "multi_thread")]
async fn o20_a_damaged_file_is_reported() {
    let backend = TestDatabase::sqlite_file();
    drop(backend.migrated().await);
    let path = backend.url.strip_prefix("sqlite:").unwrap();
    let mut bytes = Vec::new();
    // The last connection writes the log into the file when it is closed.
    for _ in 0..500 {
        bytes = std::fs::read(path).unwrap();
        if bytes.len() > 200_000 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // The first damage is in the tables, the second in the schema itself.
    for (number, range) in [400_000..500_000, 4_096..20_000].into_iter().enumerate() {
        let mut damaged = bytes.clone();
        damaged[range].fill(0x5a);
        let file = format!("{path}.{number}");
        std::fs::write(&file, damaged).unwrap();
        let checks = assess(&DatabaseHealth::check(&format!("sqlite:{file}")).await);
        let failed = checks.iter().find(|one| one.status.name() == "failed").expect("a failure");
        assert!(failed.message.contains("stop every process and restore a backup"), "{failed:?}");
    }
}
