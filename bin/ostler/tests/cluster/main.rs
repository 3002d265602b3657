//! Three processes on one RabbitMQ and one PostgreSQL, in the midst of which a
//! process is killed and both servers are restarted.

#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod customers;
#[path = "../../../../crates/channels/tests/channels/server.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod double;
mod process;
#[path = "../../../../tests/outage/server.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod server;
mod world;

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use customers::{Customers, words_in};
use double::{Reply, Server as Gateway};
use ostler_domain::money::Credits;
use ostler_domain::money::pools::PoolKind;
use ostler_store::Store;
use process::Process;
use serde_json::{Value, json};
use server::Server;
use world::{Installation, ORG};

/// Messages of each conversation; the variable changes it.
const MESSAGES: (&str, usize) = ("OSTLER_CLUSTER_MESSAGES", 12);
/// How long the broker and the database are gone each time, in seconds.
const DOWN: (&str, usize) = ("OSTLER_DOWN_SECS", 1);
const CONVERSATIONS: usize = 24;

fn number_of((variable, usual): (&str, usize)) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(180), waiting).await;
    assert!(waited.is_ok(), "waited for {what} in vain");
}

/// C19, Z04, Z09, F09: customers write to whichever process answers. One process
/// is killed with -9, the broker is restarted, the database is restarted. Every
/// message that was accepted is answered once and in the order of its
/// conversation; replies go out once or are unknown; credits add up; nothing is
/// left in anybody's hands.
#[tokio::test(flavor = "multi_thread")]
async fn c19_z04_z09_three_processes_lose_nothing_and_repeat_nothing() {
    let gateway = Gateway::start([Reply::json(200, &json!({}))]).await;
    let (mut broker, mut database) = (Server::start("broker"), Server::start("database"));
    let place = Installation::make(&database.url, &broker.url, &gateway.url).await;
    let mut processes = vec![Process::serve(&place), Process::serve(&place), Process::work(&place)];
    let doors: Vec<String> = processes.iter().filter_map(|one| one.address.clone()).collect();
    let messages = number_of(MESSAGES);
    let customers = Customers::write(&doors, CONVERSATIONS, messages);
    let all = CONVERSATIONS * messages;
    let answered = async |percent: usize| {
        let what = format!("{percent} % of the answers");
        let so_many = all * percent / 100;
        eventually(&what, async || words_of(&gateway).len() >= so_many).await;
    };
    let down = Duration::from_secs(number_of(DOWN) as u64);

    answered(10).await;
    processes.remove(0).kill();
    answered(30).await;
    broker.stop();
    tokio::time::sleep(down).await;
    broker.come_back();
    answered(50).await;
    database.stop();
    tokio::time::sleep(down).await;
    database.come_back();
    customers.done().await;

    let look = Look(database.url.clone());
    let left = "SELECT (SELECT count(*) FROM inbox WHERE state = 'pending')
        + (SELECT count(*) FROM outbox WHERE state IN ('pending', 'sending'))";
    eventually("everything to be done", async || look.number(left) == 0).await;
    for process in processes {
        process.stop().await;
    }
    each_answered_once(&look, &gateway, messages);
    nothing_is_held(&look, all);
    books_balance(&place, &look).await;
}

/// Every word that the gateway was sent, in order.
fn words_of(gateway: &Gateway) -> Vec<String> {
    let seen = gateway.seen();
    seen.iter().flat_map(|one| words_in(one.json()["text"].as_str().unwrap())).collect()
}

/// Each message has one answer, which went out once or is unknown; what went out
/// is in order.
fn each_answered_once(look: &Look, gateway: &Gateway, messages: usize) {
    let mut answered = Vec::new();
    let mut unknown = BTreeSet::new();
    for row in look.texts("SELECT state || ' ' || payload FROM outbox") {
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
    let arrived = words_of(gateway);
    for who in 0..CONVERSATIONS {
        let theirs = Customers::words(who, messages);
        let heard: Vec<&String> = arrived.iter().filter(|word| theirs.contains(word)).collect();
        let known: Vec<&String> = heard.iter().copied().filter(|w| !unknown.contains(*w)).collect();
        let sent: Vec<&String> = theirs.iter().filter(|word| !unknown.contains(*word)).collect();
        assert_eq!(known, sent, "what is known to be sent arrived once, in order");
        let distinct: BTreeSet<&String> = heard.iter().copied().collect();
        assert_eq!(distinct.len(), heard.len(), "nothing arrived twice");
    }
    println!("{} answers, {} of them unknown", answered.len(), unknown.len());
}

/// No conversation is in anybody's hands, and no message is without an end.
fn nothing_is_held(look: &Look, all: usize) {
    assert_eq!(look.count("inbox"), all);
    assert_eq!(look.count("inbox WHERE state <> 'done'"), 0);
    assert_eq!(look.count("conversations WHERE lease_until > 0 OR pending_at IS NOT NULL"), 0);
    assert_eq!(look.count("checkpoints"), 0);
    let runs = look.texts("SELECT data FROM runs");
    let runs: Vec<Value> = runs.iter().map(|run| serde_json::from_str(run).unwrap()).collect();
    let inputs: Vec<&str> = runs
        .iter()
        .flat_map(|run| run["input"].as_array().unwrap())
        .map(|id| id.as_str().unwrap())
        .collect();
    let each: BTreeSet<&str> = inputs.iter().copied().collect();
    assert_eq!((inputs.len(), each.len()), (all, all), "each message has one run");
}

/// What was granted is there, or was spent for a run that is on record.
async fn books_balance(place: &Installation, look: &Look) {
    let store = Store::open(&place.database).await.unwrap();
    look.texts("UPDATE reservations SET expires_at = 1 WHERE charges IS NULL");
    while !store.sweep_reservations().await.unwrap().is_empty() {}
    store.apply_settlements().await.unwrap();
    assert_eq!(store.check_ledger().await.unwrap().wrong, []);
    let account = store.org(ORG).account().await.unwrap();
    let spent: Credits = PoolKind::ALL.map(|kind| account.pool(kind).spent).into_iter().sum();
    let reserved: Credits = PoolKind::ALL.map(|kind| account.pool(kind).reserved).into_iter().sum();
    let runs = look.number("SELECT sum((data::json ->> 'credits')::bigint) FROM runs");
    assert_eq!((spent.get(), reserved), (runs as u64, Credits::ZERO));
}

/// A look at the database, whomever its rows belong to.
struct Look(String);

impl Look {
    fn texts(&self, sql: &str) -> Vec<String> {
        let psql = ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--command", sql];
        let output = Command::new("psql").arg(&self.0).args(psql).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    fn number(&self, sql: &str) -> usize {
        self.texts(sql)[0].parse().unwrap()
    }

    fn count(&self, what: &str) -> usize {
        self.number(&format!("SELECT count(*) FROM {what}"))
    }
}
