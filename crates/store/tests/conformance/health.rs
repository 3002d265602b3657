//! Facts about a database: those that `ostler doctor` reports.

use std::time::Duration;

use ostler_domain::id::{CallId, OrgId, RunId};
use ostler_store::{
    Checkpoint, DatabaseKind, Delivery, Guard, Health, Intent, LedgerCheck, Reached, Repeat,
    SCHEMA_VERSION, Store, Work, judge,
};

use crate::world::{Backend, accept, claim, next, turn, with_org};

async fn reached(url: &str) -> Reached {
    match Health::of(url).await {
        Health::Reached(reached) => reached,
        Health::Unreachable { why } => panic!("{why}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_database_is_healthy() {
    let kinds = [(DatabaseKind::Sqlite, Guard::None), (DatabaseKind::Postgres, Guard::Holds)];
    for (backend, (kind, guard)) in Backend::both().await.into_iter().zip(kinds) {
        let store = backend.migrated().await;
        let found = reached(&backend.url).await;
        assert!(found.bytes > 10_000, "{found:?}");
        let work = Some(Work::default());
        let expected = Reached { kind, bytes: found.bytes, schema: SCHEMA_VERSION, guard, work };
        assert_eq!(found, expected);
        drop(store);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_is_looked_at_before_it_is_migrated() {
    for backend in Backend::both().await {
        let store = Store::connect(&backend.url).unwrap();
        assert_eq!(reached(&backend.url).await.work, None);
        store.migrate_to(SCHEMA_VERSION - 1).await.unwrap();
        let found = reached(&backend.url).await;
        assert_eq!((found.schema, found.work), (SCHEMA_VERSION - 1, None));
    }
}

/// Everything that can be wrong, in two orgs.
async fn disorder(store: &Store, org: OrgId) {
    // A call and a reply whose outcome nobody knows, and a dead reply.
    accept(store, org, "rosa", "m1").await;
    let rosa = claim(store).await.unwrap();
    let intent = Intent {
        call: CallId::from_u128(next()),
        tool: "t".into(),
        key: "k".into(),
        arguments: "{}".into(),
        repeat: Repeat::Never,
    };
    let state = Checkpoint { run: RunId::from_u128(next()), version: 1, state: "{}".into() };
    store.checkpoint_turn(rosa.lease, state, vec![intent], Duration::ZERO).await.unwrap();
    let mut commit = turn(&rosa);
    let another = |n: u128| ostler_store::NewOutbound {
        id: ostler_domain::id::OutboxId::from_u128(next() + n),
        ..commit.outbox[0].clone()
    };
    commit.outbox = vec![another(1 << 64), another(2 << 64), another(3 << 64)];
    store.commit_turn(commit).await.unwrap();
    for end in [Delivery::Unknown("?".into()), Delivery::Dead("blocked".into())] {
        let sent = store.claim_outbox(Duration::from_secs(30)).await.unwrap().unwrap();
        store.org(org).record_delivery(&sent, end).await.unwrap();
    }
    // A dead message, a worker that went away, and a conversation that waits.
    accept(store, org, "otto", "m2").await;
    let otto = claim(store).await.unwrap();
    store.make_dead_letter(otto.lease, otto.messages[0].id, "no").await.unwrap();
    accept(store, org, "gus", "m3").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_is_wrong_is_counted() {
    for backend in Backend::both().await {
        let store = backend.migrated().await;
        for id in 1..=2 {
            disorder(&store, with_org(&store, id).await).await;
            // Each org's sender finds its own first.
            backend.execute("UPDATE outbox SET due_at = due_at + 86400000").await;
        }
        let late = "UPDATE conversations SET pending_at = pending_at - 86400000,
              lease_until = CASE WHEN lease_until > 0 THEN lease_until - 86400000 ELSE 0 END
              WHERE pending_at IS NOT NULL;
            UPDATE outbox SET due_at = due_at - 2 * 86400000 - 600000;";
        backend.execute(late).await;
        let work = reached(&backend.url).await.work.unwrap();
        let minutes = work.outbox_overdue.as_secs() / 60;
        assert!((10..1500).contains(&minutes), "{minutes}");
        let expected = Work {
            stuck: 2,
            unclaimed: 2,
            outbox_overdue: work.outbox_overdue,
            unknown_sends: 2,
            unknown_calls: 2,
            dead_letters: 4,
            events: 2,
            // An account is there once somebody has looked at it.
            ledger: LedgerCheck::default(),
        };
        assert_eq!(work, expected);
        let checks = judge(&Health::of(&backend.url).await);
        let warnings = checks.iter().filter(|check| check.verdict.name() == "warning").count();
        assert_eq!(warnings, 5, "{checks:?}");
    }
}

/// A superuser is not held to row-level security, and that is said.
#[tokio::test(flavor = "multi_thread")]
async fn a_superuser_passes_the_guard_by() {
    let backend = Backend::postgres().await;
    backend.migrated().await;
    let server = std::env::var("OSTLER_TEST_POSTGRES_URL").unwrap();
    let (login, _) = server.rsplit_once('/').unwrap();
    let (_, name) = backend.url.rsplit_once('/').unwrap();
    assert_eq!(reached(&format!("{login}/{name}")).await.guard, Guard::PassedBy);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_reached_is_said_and_not_made() {
    let backend = Backend::sqlite_file();
    let path = backend.url.strip_prefix("sqlite:").unwrap();
    let Health::Unreachable { why } = Health::of(&backend.url).await else { panic!("no file") };
    assert!(why.contains("`ostler migrate` makes it"), "{why}");
    assert!(!std::path::Path::new(path).exists());
    std::fs::write(path, "this is a letter and no database, whatever its name says").unwrap();
    let Health::Unreachable { why } = Health::of(&backend.url).await else { panic!("a letter") };
    assert!(why.contains("not a database"), "{why}");
    let away = Health::of("postgres://nobody@127.0.0.1:1/nothing").await;
    assert!(matches!(&away, Health::Unreachable { why } if why.contains("cannot be reached")));
}
