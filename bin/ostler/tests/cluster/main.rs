//! Three processes on one RabbitMQ and one PostgreSQL. One process is killed and both
//! servers are restarted while customers write.

#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod customers;
#[path = "../../../../crates/channels/tests/channels/fake_server.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod double;
mod installation;
mod process;
#[path = "../../../../tests/outage/server.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod server;

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use customers::{Customers, words_in};
use double::{Reply, Server as Gateway};
use installation::{ClusterInstallation, ORG};
use ostler_domain::money::Credits;
use ostler_domain::money::pools::PoolKind;
use ostler_store::Store;
use ostler_testkit::{TestDatabase, eventually};
use process::Process;
use serde_json::{Value, json};
use server::Server;

/// The variable and the default of the number of messages per conversation.
const MESSAGES: (&str, usize) = ("OSTLER_CLUSTER_MESSAGES", 12);
/// The variable and the default of how long each server is down, in seconds.
const DOWN: (&str, usize) = ("OSTLER_DOWN_SECS", 1);
const CONVERSATIONS: usize = 24;

fn setting((variable, default): (&str, usize)) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// C19, Z04, Z09, F09: customers write to both serving processes. One process is killed
/// with -9, and the broker and the database are restarted. Every accepted message is
/// answered once and in the order of its conversation; replies are sent once or have an
/// unknown outcome; credits add up; no lease or checkpoint is left.
#[tokio::test(flavor = "multi_thread")]
async fn c19_z04_z09_three_processes_lose_nothing_and_repeat_nothing() {
    let gateway = Gateway::start([Reply::json(200, &json!({}))]).await;
    let (mut broker, mut database) = (Server::start("broker"), Server::start("database"));
    let serving = TestDatabase::postgres_on(&database.url).await;
    let installation = ClusterInstallation::create(&serving.url, &broker.url, &gateway.url).await;
    let mut processes = vec![
        Process::serve(&installation),
        Process::serve(&installation),
        Process::worker(&installation),
    ];
    let addresses: Vec<String> =
        processes.iter().filter_map(|process| process.address.clone()).collect();
    let messages = setting(MESSAGES);
    let customers = Customers::write(&addresses, CONVERSATIONS, messages);
    let all = CONVERSATIONS * messages;
    let answered = async |percent: usize| {
        let what = format!("{percent} % of the answers");
        let expected = all * percent / 100;
        eventually(&what, async || received_words(&gateway).len() >= expected).await;
    };
    let down = Duration::from_secs(setting(DOWN) as u64);

    answered(10).await;
    processes.remove(0).kill();
    answered(30).await;
    broker.stop();
    tokio::time::sleep(down).await;
    broker.restart();
    answered(50).await;
    database.stop();
    tokio::time::sleep(down).await;
    database.restart();
    customers.finish().await;

    let sql = Sql::of_superuser(&database.url, &serving.url);
    let left = "SELECT (SELECT count(*) FROM inbox WHERE state = 'pending')
        + (SELECT count(*) FROM outbox WHERE state IN ('pending', 'sending'))";
    eventually("everything to be done", async || sql.number(left) == 0).await;
    for process in processes {
        process.stop().await;
    }
    assert_each_answered_once(&sql, &gateway, messages);
    assert_nothing_is_held(&sql, all);
    assert_books_balance(&installation, &sql).await;
}

/// Returns the unique words that the gateway received, in order. Like any receiver, it
/// recognizes a repeat by its id.
fn received_words(gateway: &Gateway) -> Vec<String> {
    let mut ids = BTreeSet::new();
    let mut seen = gateway.seen();
    seen.retain(|one| ids.insert(one.headers()["webhook-id"].as_bytes().to_vec()));
    seen.iter().flat_map(|one| words_in(one.json()["text"].as_str().unwrap())).collect()
}

/// Each message has one answer, which was sent once or has an unknown outcome; answers
/// are sent in order.
fn assert_each_answered_once(sql: &Sql, gateway: &Gateway, messages: usize) {
    let mut answered = Vec::new();
    let mut unknown = BTreeSet::new();
    for row in sql.texts("SELECT state || ' ' || payload FROM outbox") {
        let (state, payload) = row.split_once(' ').unwrap();
        let payload: Value = serde_json::from_str(payload).unwrap();
        let words = words_in(payload["parts"][0]["text"].as_str().unwrap());
        match state {
            "sent" => {}
            "unknown" => unknown.extend(words.clone()),
            other => panic!("{words:?} is {other}"),
        }
        answered.extend(words);
    }
    answered.sort_unstable();
    let mut expected: Vec<String> =
        (0..CONVERSATIONS).flat_map(|who| Customers::words(who, messages)).collect();
    expected.sort_unstable();
    assert_eq!(answered, expected, "each message has one answer");
    let arrived = received_words(gateway);
    for who in 0..CONVERSATIONS {
        let theirs = Customers::words(who, messages);
        let received: Vec<&String> = arrived.iter().filter(|word| theirs.contains(word)).collect();
        let known: Vec<&String> =
            received.iter().copied().filter(|w| !unknown.contains(*w)).collect();
        let sent: Vec<&String> = theirs.iter().filter(|word| !unknown.contains(*word)).collect();
        assert_eq!(known, sent, "known answers arrived once, in order");
        let distinct: BTreeSet<&String> = received.iter().copied().collect();
        assert_eq!(distinct.len(), received.len(), "nothing arrived twice");
    }
    println!("{} answers, {} of them unknown", answered.len(), unknown.len());
}

/// No conversation has a lease or a checkpoint, and every message is done.
fn assert_nothing_is_held(sql: &Sql, all: usize) {
    assert_eq!(sql.count("inbox"), all);
    assert_eq!(sql.count("inbox WHERE state <> 'done'"), 0);
    assert_eq!(sql.count("conversations WHERE lease_until > 0 OR pending_at IS NOT NULL"), 0);
    assert_eq!(sql.count("checkpoints"), 0);
    let runs = sql.texts("SELECT data FROM runs");
    let runs: Vec<Value> = runs.iter().map(|run| serde_json::from_str(run).unwrap()).collect();
    let inputs: Vec<&str> = runs
        .iter()
        .flat_map(|run| run["input"].as_array().unwrap())
        .map(|id| id.as_str().unwrap())
        .collect();
    let each: BTreeSet<&str> = inputs.iter().copied().collect();
    assert_eq!((inputs.len(), each.len()), (all, all), "each message has one run");
}

/// The spent credits are those of the stored runs.
async fn assert_books_balance(installation: &ClusterInstallation, sql: &Sql) {
    let store = Store::open(&installation.database).await.unwrap();
    sql.texts("UPDATE reservations SET expires_at = 1 WHERE charges IS NULL");
    while !store.sweep_reservations().await.unwrap().is_empty() {}
    store.apply_settlements().await.unwrap();
    assert_eq!(store.check_ledger().await.unwrap().mismatches, []);
    let account = store.org(ORG).credit_account().await.unwrap();
    let spent: Credits = PoolKind::ALL.map(|kind| account.pool(kind).spent).into_iter().sum();
    let reserved: Credits = PoolKind::ALL.map(|kind| account.pool(kind).reserved).into_iter().sum();
    let runs = sql.number("SELECT sum((data::json ->> 'credits')::bigint) FROM runs");
    assert_eq!((spent.get(), reserved), (runs as u64, Credits::ZERO));
}

/// Queries of the database over all orgs.
struct Sql(String);

impl Sql {
    /// Sees the rows of all orgs in the database of a role that does not.
    fn of_superuser(server: &str, database: &str) -> Self {
        let (server, _) = server.rsplit_once('/').unwrap();
        let (_, name) = database.rsplit_once('/').unwrap();
        Self(format!("{server}/{name}"))
    }

    fn texts(&self, query: &str) -> Vec<String> {
        let psql = ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--command", query];
        let output = Command::new("psql").arg(&self.0).args(psql).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    fn number(&self, query: &str) -> usize {
        self.texts(query)[0].parse().unwrap()
    }

    fn count(&self, table: &str) -> usize {
        self.number(&format!("SELECT count(*) FROM {table}"))
    }
}
