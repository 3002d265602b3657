//! O27: backups under load, restored into either database.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ostler_domain::id::OrgId;
use ostler_store::{
    BackupError, BackupProgress, BackupSummary, EventCursor, SCHEMA_VERSION, Store, StoreError,
};
use tokio::task::JoinHandle;

use crate::privacy::people::{self, contact_with_data};
use crate::support::{TestDatabase, accept, claim, next, turn, with_org};
use crate::webhooks::{self, last_event, notify};

const PHONE: &str = "+39 06 771234";

async fn back_up(store: &Store, path: &Path) -> BackupSummary {
    let file = File::create(path).unwrap();
    store.back_up(file, "0.0.0", "2026-01-01T00:00:00Z", |_| {}).await.unwrap()
}

async fn restore(url: &str, path: &Path) -> Result<BackupSummary, StoreError> {
    let store = Store::connect(url).unwrap();
    store.restore(path.to_owned(), |_: BackupProgress<'_>| {}).await
}

/// Accepts and answers messages until it is stopped, and returns those that were answered.
fn write_until(stop: &Arc<AtomicBool>, store: &Store, org: OrgId) -> JoinHandle<Vec<String>> {
    let (stop, store) = (stop.clone(), store.clone());
    tokio::spawn(async move {
        let mut answered = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let name = format!("p{}", next());
            accept(&store, org, &name, &name).await;
            if let Some(claimed) = claim(&store).await {
                answered.extend(claimed.messages.iter().map(|message| message.payload.clone()));
                store.commit_turn(&turn(&claimed)).await.unwrap();
            }
            // Enough of a load; what is written is copied and compared often.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        answered
    })
}

/// The texts of all events of an org.
async fn events(store: &Store, org: OrgId) -> Vec<String> {
    let all = store.org(org).events_after(EventCursor::default(), 100_000).await.unwrap();
    all.into_iter().map(|event| format!("{} {}", event.kind, event.data)).collect()
}

/// Fails unless every answered message has its run, its reply, its messages and its event.
async fn check_nothing_half(database: &TestDatabase) {
    let orphans = [
        "inbox WHERE run IS NOT NULL AND run NOT IN (SELECT id FROM runs)",
        "events WHERE run IS NOT NULL AND run NOT IN (SELECT id FROM runs)",
        "runs WHERE id NOT IN (SELECT run FROM events WHERE run IS NOT NULL)",
        "sessions WHERE thread NOT IN (SELECT thread FROM messages)",
        "inbox WHERE conversation NOT IN (SELECT id FROM conversations)",
        "outbox WHERE conversation NOT IN (SELECT id FROM conversations)",
        "blob_uses WHERE blob NOT IN (SELECT id FROM blobs)",
    ];
    for rows in orphans {
        assert_eq!(database.count(rows).await, 0, "{rows}");
    }
}

/// O27: the backup is made while others write. What was answered before it began is in it,
/// and nothing is half, from each database to each.
#[tokio::test(flavor = "multi_thread")]
async fn o27_backups_under_load_are_restored_into_either_database() {
    for source in TestDatabase::both().await {
        let store = source.migrated().await;
        let org = people::org(&store, 1).await;
        contact_with_data(&store, &org, "xyzzy", PHONE).await;
        let counted = format!(
            "INSERT INTO rate_counters (org, name, window_ms, ends_at, shard, used)
             VALUES ({}, 'messages', 60000, 9000000000000, 0, 5)",
            source.id_literal(1)
        );
        source.execute(&counted).await;
        if source.url.starts_with("postgres") {
            source.execute(&counted.replace("0, 5)", "3, 4)")).await;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let writers = [(); 3].map(|()| write_until(&stop, &store, org.id));
        testkit_wait(&source, 30).await;
        let texts = "SELECT payload FROM inbox WHERE state = 'done'";
        let answered_before = source.texts(texts).await;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.backup");
        let summary = back_up(&store, &path).await;
        testkit_wait(&source, i64::try_from(answered_before.len()).unwrap() + 30).await;
        stop.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.await.unwrap();
        }
        assert!(answered_before.len() >= 30, "there is a load");
        assert_eq!(summary.bytes, path.metadata().unwrap().len());

        let used = if source.url.starts_with("postgres") { 9 } else { 5 };
        let restored = TestDatabase::both().await;
        for target in &restored {
            let again = restore(&target.url, &path).await.unwrap();
            assert_eq!(again, summary);
            check_nothing_half(target).await;
            let there = target.texts(texts).await;
            assert!(answered_before.iter().all(|text| there.contains(text)));
            assert_eq!(target.number("SELECT used FROM rate_counters").await, used);
            let columns = target.columns_with("xyzzy").await;
            assert_eq!(columns, source.columns_with("xyzzy").await);
            for (table, rows) in &summary.tables {
                assert_eq!(target.count(table).await, i64::try_from(*rows).unwrap(), "{table}");
            }
            // It is used again, and its events continue.
            let store = Store::open(&target.url).await.unwrap();
            let before = events(&store, org.id).await;
            accept(&store, org.id, "later", "later").await;
            while let Some(claimed) = claim(&store).await {
                store.commit_turn(&turn(&claimed)).await.unwrap();
            }
            // On PostgreSQL a reader waits for the transactions of all databases.
            ostler_testkit::eventually("the log continues", async || {
                let after = events(&store, org.id).await;
                assert!(after.starts_with(&before));
                after.len() > before.len()
            })
            .await;
        }
        let [one, other] = restored;
        let (one, other) =
            (Store::open(&one.url).await.unwrap(), Store::open(&other.url).await.unwrap());
        assert_eq!(events(&one, org.id).await[..20], events(&other, org.id).await[..20]);
    }
}

/// Waits until some messages are answered.
async fn testkit_wait(database: &TestDatabase, count: i64) {
    ostler_testkit::eventually("messages are answered", async || {
        database.count("inbox WHERE state = 'done'").await >= count
    })
    .await;
}

/// O27: what is not a whole backup, and what would be written over, is refused with the
/// reason, and nothing is changed.
#[tokio::test(flavor = "multi_thread")]
async fn o27_damaged_backups_and_databases_in_use_are_refused() {
    let source = TestDatabase::sqlite_file();
    let store = source.migrated().await;
    let org = people::org(&store, 1).await;
    contact_with_data(&store, &org, "xyzzy", PHONE).await;
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.backup");
    back_up(&store, &whole).await;
    let bytes = fs::read(&whole).unwrap();
    let wrong = |name: &str, bytes: &[u8]| -> PathBuf {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    for target in TestDatabase::both().await {
        let refused = |path: PathBuf| {
            let url = target.url.clone();
            async move {
                match restore(&url, &path).await {
                    Err(StoreError::Backup(error)) => error,
                    other => panic!("{}: {other:?}", path.display()),
                }
            }
        };
        let header = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for length in [header, header + 3, bytes.len() / 3, bytes.len() / 2, bytes.len() - 1] {
            let error = refused(wrong("cut", &bytes[..length])).await;
            assert!(matches!(error, BackupError::Truncated { .. }), "{length}: {error}");
        }
        for at in (header + 20..bytes.len()).step_by(bytes.len() / 40) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            let error = refused(wrong("damaged", &damaged)).await;
            let known =
                matches!(error, BackupError::Damaged { .. } | BackupError::Truncated { .. });
            assert!(known, "{at}: {error}");
        }
        let longer = refused(wrong("longer", &[&bytes[..], b"x"].concat())).await;
        assert!(matches!(longer, BackupError::Damaged { .. }), "{longer}");
        let error = refused(wrong("text", b"{\"a\": 1}\nhello")).await;
        assert!(matches!(error, BackupError::NotABackup), "{error}");
        let schema = format!("\"schema\":{SCHEMA_VERSION}");
        let text = String::from_utf8_lossy(&bytes[..header]).replace(&schema, "\"schema\":999");
        let newer = refused(wrong("newer", &[text.as_bytes(), &bytes[header..]].concat())).await;
        assert!(newer.to_string().contains("or a newer one"), "{newer}");
        let store = Store::connect(&target.url).unwrap();
        assert_eq!(store.schema_version().await.unwrap(), 0, "nothing was created");

        // Tables without rows are empty; with a row they are not.
        store.migrate().await.unwrap();
        target.execute("INSERT INTO model_uses VALUES ('m', 1, 1)").await;
        let error = refused(whole.clone()).await;
        assert!(error.to_string().contains("rows in `model_uses`"), "{error}");
        target.execute("DELETE FROM model_uses").await;
        restore(&target.url, &whole).await.unwrap();
        assert_eq!(target.count("orgs").await, 1);
    }
}

/// O27: a copy that stopped in the middle is refused, and so is a database without tables.
#[tokio::test(flavor = "multi_thread")]
async fn o27_a_full_disk_fails_the_backup() {
    struct FullDisk;
    impl std::io::Write for FullDisk {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    for database in TestDatabase::both().await {
        let store = Store::connect(&database.url).unwrap();
        let empty = store.back_up(Vec::new(), "0", "", |_| {}).await;
        assert!(matches!(empty, Err(StoreError::Backup(BackupError::NoTables))), "{empty:?}");
        store.migrate().await.unwrap();
        let full = store.back_up(FullDisk, "0", "", |_| {}).await;
        assert!(matches!(full, Err(StoreError::Backup(BackupError::Write(_)))), "{full:?}");
    }
}

/// K07, O27: a webhook of a restored database continues after the event that it had last, on
/// either database.
#[tokio::test(flavor = "multi_thread")]
async fn k07_o27_a_restored_webhook_misses_no_event() {
    for source in TestDatabase::both().await {
        let store = source.migrated().await;
        let org = with_org(&store, 1).await;
        notify(&store, org).await;
        let id = webhooks::create(&store, org).await;
        notify(&store, org).await;
        let here = store.org(org);
        let cursor = here.webhook(id).await.unwrap().cursor;
        let waiting = last_event(&store, org, cursor).await;
        here.add_webhook_deliveries(id, cursor, waiting, Vec::new()).await.unwrap();
        notify(&store, org).await;
        last_event(&store, org, waiting).await;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.backup");
        back_up(&store, &path).await;
        for target in TestDatabase::both().await {
            restore(&target.url, &path).await.unwrap();
            let store = Store::open(&target.url).await.unwrap();
            let here = store.org(org);
            let cursor = here.webhook(id).await.unwrap().cursor;
            notify(&store, org).await;
            ostler_testkit::eventually("the webhook gets two events", async || {
                here.events_after(cursor, 9).await.unwrap().len() == 2
            })
            .await;
            assert_eq!(store.webhooks_with_events(9).await.unwrap(), [(org, id)]);
        }
    }
}
