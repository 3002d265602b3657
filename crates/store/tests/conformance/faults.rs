//! A full disk, a locked file, a lost connection: each has an error of its own, leaves
//! nothing half-written, and needs no restart.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ostler_domain::id::{BlobId, OrgId};
use ostler_store::{
    AcceptOutcome, ClaimPolicy, ClaimedConversation, CommitOutcome, NewBlob, NewInboxEntry, Store,
    StoreError, TurnCommit,
};
use tokio_postgres::NoTls;

use crate::support::{
    POLICY, TestDatabase, accept, claim, message, thread_messages, turn, with_org,
};

fn large(org: OrgId, name: &str) -> NewInboxEntry {
    NewInboxEntry { payload: format!("\"{}\"", "x".repeat(20_000)), ..message(org, "rosa", name) }
}

/// The write-ahead log is next to the real file, not next to the link.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_database_file_behind_a_link_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let (there, link) = (folder.path().join("there"), folder.path().join("ostler.db"));
    std::fs::create_dir(&there).unwrap();
    std::os::unix::fs::symlink(there.join("real.db"), &link).unwrap();
    let store = Store::connect(&format!("sqlite:{}", link.display())).unwrap();
    store.migrate().await.unwrap();
    let org = with_org(&store, 1).await;
    accept(&store, org, "rosa", "m1").await;
    assert!(claim(&store).await.is_some());
    assert_eq!(store.org(org).org().await.unwrap().id, org, "read beside the writer");
    assert!(there.join("real.db-wal").exists());
}

/// The write-ahead log of a small database stays small, and is empty after the last write.
#[tokio::test(flavor = "multi_thread")]
async fn the_write_ahead_log_stays_small_and_is_emptied() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ostler.db");
    let store = Store::connect(&format!("sqlite:{}", file.display())).unwrap();
    store.migrate().await.unwrap();
    let org = with_org(&store, 1).await;
    let log = || std::fs::metadata(folder.path().join("ostler.db-wal")).map_or(0, |log| log.len());
    let mut longest = 0;
    for n in 0..400 {
        // Much is written, and nothing is kept.
        let file = blob(n);
        let id = file.id;
        store.org(org).put_blob(file).await.unwrap();
        store.org(org).delete_blob(id).await.unwrap();
        longest = longest.max(log());
    }
    assert!((1..32 << 20).contains(&longest), "{longest}");
    store.empty_log().await.unwrap();
    assert_eq!(log(), 0);
    assert_eq!(store.org(org).org().await.unwrap().id, org);
}

fn blob(n: u128) -> NewBlob {
    NewBlob {
        id: BlobId::from_u128(n + 1),
        media_type: "image/png".parse().unwrap(),
        name: None,
        bytes: vec![n as u8; 100_000],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_fails_writes_until_there_is_space() {
    for backend in [TestDatabase::sqlite_file(), TestDatabase::sqlite_memory()] {
        let store = backend.migrated().await;
        let org = with_org(&store, 1).await;
        accept(&store, org, "otto", "before").await;
        let claimed = claim(&store).await.unwrap();
        store.simulate_full_disk(true).await.unwrap();
        let mut accepted = 0;
        let refused = loop {
            match store.org(org).accept_inbound(large(org, &format!("m{accepted}")), 1000).await {
                Ok(_) => accepted += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(refused, StoreError::DiskFull), "{refused}");
        let unwritable = store.check_writable().await;
        assert!(matches!(unwritable, Err(StoreError::DiskFull)), "{unwritable:?}");
        let mut commit = turn(&claimed);
        commit.messages[0].data = format!("\"{}\"", "x".repeat(200_000));
        let refused = store.commit_turn(&commit).await;
        assert!(matches!(refused, Err(StoreError::DiskFull)), "{refused:?}");
        assert!(thread_messages(&store, &claimed).await.is_empty(), "nothing of it was written");
        // Other jobs of the group fail with their own errors.
        let many = (0..8).map(|n| {
            let store = store.clone();
            tokio::spawn(async move {
                store.org(org).accept_inbound(large(org, &format!("n{n}")), 1000).await
            })
        });
        for each in many.collect::<Vec<_>>() {
            let refused = each.await.unwrap();
            assert!(matches!(refused, Err(StoreError::DiskFull)), "{refused:?}");
        }
        store.simulate_full_disk(false).await.unwrap();
        let again = store.org(org).accept_inbound(large(org, &format!("m{accepted}")), 1000).await;
        assert!(matches!(again, Ok(AcceptOutcome::New(_))), "{again:?}");
        assert_eq!(store.commit_turn(&commit).await.unwrap(), CommitOutcome::Complete);
        assert_eq!(claim(&store).await.unwrap().messages.len(), accepted + 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_file_is_waited_for_and_then_reported() {
    let backend = TestDatabase::sqlite_file();
    let store = backend.migrated().await;
    let org = with_org(&store, 1).await;
    let path = backend.url.strip_prefix("sqlite:").unwrap().to_owned();
    let other = rusqlite::Connection::open(path).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let started = Instant::now();
    let waits = {
        let store = store.clone();
        tokio::spawn(
            async move { store.org(org).accept_inbound(message(org, "rosa", "m1"), 9).await },
        )
    };
    assert_eq!(store.orgs().await.unwrap().len(), 1, "reading goes on");
    let refused = waits.await.unwrap();
    assert!(matches!(refused, Err(StoreError::Busy)), "{refused:?}");
    assert!(started.elapsed() >= Duration::from_secs(4), "it was waited for");
    let waits = {
        let store = store.clone();
        tokio::spawn(async move { accept(&store, org, "rosa", "m1").await })
    };
    tokio::time::sleep(Duration::from_millis(300)).await;
    other.execute_batch("COMMIT").unwrap();
    assert!(matches!(waits.await.unwrap(), AcceptOutcome::New(_)));
    assert_eq!(claim(&store).await.unwrap().messages.len(), 1);
}

/// Z04: where the server accepts few connections, those that are open serve a burst; nobody is
/// told that the database is not available.
#[tokio::test(flavor = "multi_thread")]
async fn z04_a_burst_is_served_by_as_many_connections_as_the_server_accepts() {
    let backend = TestDatabase::postgres().await;
    let store = backend.migrated().await;
    let org = with_org(&store, 1).await;
    let (admin, connection) =
        tokio_postgres::connect(&ostler_testkit::postgres_url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let (_, role) = backend.url.rsplit_once('/').unwrap();
    admin.batch_execute(&format!("ALTER ROLE {role} CONNECTION LIMIT 3")).await.unwrap();
    for round in 0..5 {
        let burst = (0..60).map(|n| {
            let store = store.clone();
            let (person, id) = (format!("p{n}"), format!("m{round}-{n}"));
            tokio::spawn(async move {
                store.org(org).accept_inbound(message(org, &person, &id), 1000).await
            })
        });
        for accepted in burst.collect::<Vec<_>>() {
            let accepted = accepted.await.unwrap();
            assert!(matches!(accepted, Ok(AcceptOutcome::New(_))), "{accepted:?}");
        }
    }
    // With no connection at all the error says so.
    drop(store);
    admin.batch_execute(&format!("ALTER ROLE {role} CONNECTION LIMIT 0")).await.unwrap();
    let refused = Store::connect(&backend.url).unwrap().org(org).org().await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
}

/// Terminates all connections of the store repeatedly.
async fn cut(backend: &TestDatabase, stop: Arc<AtomicBool>) -> u64 {
    let (client, connection) = tokio_postgres::connect(&backend.url, NoTls).await.unwrap();
    tokio::spawn(connection);
    let mut ended = 0;
    while !stop.load(Ordering::Relaxed) {
        let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                   WHERE application_name = 'ostler' AND datname = current_database()";
        ended += client.query(sql, &[]).await.unwrap().len() as u64;
        // Long enough for a new connection to do some work.
        tokio::time::sleep(Duration::from_millis(40 + 13 * (ended % 5))).await;
    }
    ended
}

/// Repeats an operation until it succeeds, as callers do after a lost connection.
async fn insist<T>(mut attempt: impl AsyncFnMut() -> ostler_store::Result<T>) -> T {
    for _ in 0..1000 {
        match attempt().await {
            Ok(done) => return done,
            Err(StoreError::Unavailable(_)) => tokio::time::sleep(Duration::from_millis(1)).await,
            Err(other) => panic!("{other}"),
        }
    }
    panic!("it never came through");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_connection_is_reported_and_nothing_happens_twice() {
    const MESSAGES: usize = 100;
    let backend = Arc::new(TestDatabase::postgres().await);
    let store = backend.migrated().await;
    let org = with_org(&store, 1).await;
    let stop = Arc::new(AtomicBool::new(false));
    let cutter = {
        let (backend, stop) = (backend.clone(), stop.clone());
        tokio::spawn(async move { cut(&backend, stop).await })
    };
    for n in 0..MESSAGES {
        let one = message(org, &format!("p{n}"), &format!("m{n}"));
        insist(async || store.org(org).accept_inbound(one.clone(), 1000).await).await;
    }
    // A claim whose response was lost is claimed again after its lease.
    let policy = ClaimPolicy { lease: Duration::from_millis(500), max_attempts: 1000, ..POLICY };
    let mut answered = BTreeSet::new();
    let mut all: Vec<ClaimedConversation> = Vec::new();
    while answered.len() < MESSAGES {
        let claimed = insist(async || store.claim_conversation(policy).await).await;
        let Some(claimed) = claimed else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        if commit(&store, turn(&claimed)).await {
            assert!(answered.insert(claimed.messages[0].id), "answered twice");
            all.push(claimed);
        }
    }
    stop.store(true, Ordering::Relaxed);
    assert!(cutter.await.unwrap() > 3, "connections were cut");
    for claimed in &all {
        assert_eq!(thread_messages(&store, claimed).await.len(), 2, "once and whole");
    }
    assert!(claim(&store).await.is_none());
}

/// Commits a turn unless its lease has expired.
async fn commit(store: &Store, turn: TurnCommit) -> bool {
    insist(async || match store.commit_turn(&turn).await {
        Err(StoreError::StaleLease) => Ok(false),
        other => other.map(|_| true),
    })
    .await
}
