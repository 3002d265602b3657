//! Kills processes again and again at one fault point, lets another process finish, and
//! checks the result.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use futures_util::future::join_all;
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::id::InboxId;
use ostler_domain::money::Credits;
use ostler_domain::money::Usd;
use ostler_domain::money::pools::PoolKind;
use ostler_runtime::records::run::RunOutcome;
use ostler_store::{DatabaseHealth, DeadLetterId, DeadLetterKind};
use ostler_testkit::{TestDatabase, eventually};
use serde::Deserialize;
use serde_json::json;

use super::process::{CustomerMessage, ORDERS, Orders, PROCESS};
use super::{rounds, start_process, wait_for_death};
use crate::fake_server::{Reply, SeenRequest, Server};
use crate::support::{ConnectedOrg, GIA, ORG, lenient_settings};

/// The fault points, and how often each is reached at least in a round.
const PLACES: [(&str, usize); 10] = [
    ("after_accept", 5),
    ("after_claim", 4),
    ("before_checkpoint", 2),
    ("after_checkpoint", 2),
    ("after_tool", 2),
    ("after_model", 4),
    ("before_commit", 4),
    ("after_commit", 4),
    ("during_delivery", 4),
    ("after_provider", 4),
];
/// Not a fault point: killed from outside, after some time.
const ANYWHERE: &str = "anywhere";
/// Enough attempts on a slow machine.
const ATTEMPTS: u32 = 1000;

/// What is compared of a stored run.
#[derive(Deserialize)]
struct StoredNumbers {
    input: Vec<InboxId>,
    outcome: RunOutcome,
    credits: Credits,
}

/// The kills at one fault point in one database.
pub(super) struct Campaign {
    place: &'static str,
    database: TestDatabase,
    /// Finishes what a killed process left.
    pub(super) org: ConnectedOrg,
    gateway: Server,
    outside: Server,
    attempts: u32,
}

impl Campaign {
    pub(super) async fn begin(place: &'static str, database: TestDatabase, attempts: u32) -> Self {
        let store = database.migrated().await;
        let [gateway, outside] = [Server::start([fine()]).await, Server::start([fine()]).await];
        let orders = Orders {
            database: database.url.clone(),
            outside: outside.url.clone(),
            messages: Vec::new(),
            attempts,
        };
        let ConnectedOrg { scenario, delivery, receiver, team_requests, channels } =
            orders.assemble(store);
        let scenario = scenario.seed().await;
        let org = ConnectedOrg { scenario, delivery, receiver, team_requests, channels };
        org.scenario.save_settings(&lenient_settings()).await;
        org.scenario.grant(1_000_000).await;
        org.scenario
            .change_agent(GIA, |gia| {
                // Customer service has no tool for e-mail.
                gia.subtype = Subtype::from("billing_specialist");
                gia.autonomy = AutonomyLevel::Autonomous;
                gia.limits.max_messages_per_day = 1_000_000;
                gia.limits.max_cost_per_day = Usd::from_dollars(1_000_000);
            })
            .await;
        org.gateway_at(&gateway).await;
        Self { place, database, org, gateway, outside, attempts }
    }

    pub(super) fn orders(&self, messages: &[CustomerMessage]) -> Orders {
        Orders {
            database: self.database.url.clone(),
            outside: self.outside.url.clone(),
            messages: messages.to_vec(),
            attempts: self.attempts,
        }
    }

    /// Starts a process with these messages that is killed at a fault.
    async fn kill_at(&self, messages: &[CustomerMessage], fault: &str) {
        let orders = serde_json::to_string(&self.orders(messages)).unwrap();
        wait_for_death(start_process(PROCESS, (ORDERS, &orders), Some(fault)), fault).await;
    }

    /// Starts a process that is killed at a fault, or from outside if it does not reach it.
    pub(super) async fn try_to_kill_at(&self, messages: &[CustomerMessage], fault: &str) {
        let orders = serde_json::to_string(&self.orders(messages)).unwrap();
        let mut process = start_process(PROCESS, (ORDERS, &orders), Some(fault));
        if tokio::time::timeout(Duration::from_millis(800), process.wait()).await.is_err() {
            process.kill().await.unwrap();
        }
    }

    /// Starts a process with these messages and kills it after some time.
    pub(super) async fn kill_after(&self, messages: &[CustomerMessage], time: Duration) {
        let orders = serde_json::to_string(&self.orders(messages)).unwrap();
        let mut process = start_process(PROCESS, (ORDERS, &orders), None);
        tokio::time::sleep(time).await;
        process.kill().await.unwrap();
    }

    /// Kills a process while it handles the messages of a round, and finishes them.
    async fn round(&self, round: usize) {
        let messages = messages(round);
        let visits = PLACES.iter().find(|(place, _)| *place == self.place);
        match visits {
            Some((place, visits)) => {
                let fault = format!("{place}:{}", 1 + round % visits);
                self.kill_at(&messages, &fault).await;
            }
            None => {
                let time = Duration::from_millis(50 + (round as u64 * 137) % 600);
                self.kill_after(&messages, time).await;
            }
        }
        self.expire_leases().await;
        // The gateway has no receipts and delivers all again.
        self.orders(&messages).receive_messages(&self.org).await;
        self.finish().await;
        for message in &messages {
            self.assert_one_outcome(message).await;
        }
    }

    /// Expires the leases and claims of killed processes.
    pub(super) async fn expire_leases(&self) {
        let leases =
            "UPDATE conversations SET lease_until = 1, pending_at = 1 WHERE lease_until > 0";
        let sends = "UPDATE outbox SET claimed_until = 1 WHERE state = 'sending'";
        for late in [leases, sends] {
            self.database.execute(late).await;
        }
    }

    /// Answers and sends all that is left.
    pub(super) async fn finish(&self) {
        let left = "SELECT (SELECT count(*) FROM inbox WHERE state = 'pending')
            + (SELECT count(*) FROM outbox WHERE state IN ('pending', 'sending'))";
        eventually("everything to be done", async || {
            self.org.scenario.work().await;
            self.org.delivery.sweep().await.unwrap();
            self.org.deliver().await;
            self.database.number(left).await == 0
        })
        .await;
    }

    /// C19, Z04, Z09: asserts that one answer was committed, and that it was sent: if more than
    /// once, with the same id, by which the gateway recognizes it.
    async fn assert_one_outcome(&self, message: &CustomerMessage) {
        let (place, word) = (self.place, &message.word);
        let rows = format!("SELECT state FROM outbox WHERE payload LIKE '%{word}%'");
        let states = self.database.texts(&rows).await;
        let seen = self.gateway.seen();
        let says = |text: &str| text.contains(word.as_str());
        let arrived = seen.iter().filter(|one| one.json()["text"].as_str().is_some_and(says));
        let ids: HashSet<_> = arrived.map(|one| one.headers()["webhook-id"].clone()).collect();
        match (states.as_slice(), ids.len()) {
            ([state], 1) if state == "sent" => {}
            other => panic!("{place}: {message:?} came to {other:?}"),
        }
    }

    /// Asserts that everything is consistent after the last kill.
    async fn assert_consistent(self, rounds: usize) {
        let (place, database) = (self.place, &self.database);
        let count =
            async |what: &str| database.number(&format!("SELECT count(*) FROM {what}")).await;
        assert_eq!(count("inbox").await as usize, rounds * messages(0).len(), "{place}");
        assert_eq!(count("inbox WHERE state <> 'done'").await, 0, "{place}");
        assert_eq!(count("conversations WHERE lease_until > 0").await, 0, "{place}");
        assert_eq!(count("conversations WHERE pending_at IS NOT NULL").await, 0, "{place}");
        assert_eq!(count("checkpoints").await, 0, "{place}");
        assert_eq!(count("outbox WHERE state = 'unknown'").await, 0, "{place}");
        let runs = self.runs().await;
        let credits = runs.iter().map(|run| run.credits).sum();
        self.assert_ledger_balances(credits).await;
        for round in 0..rounds {
            for message in messages(round) {
                self.assert_tools_acted_once(&message).await;
            }
        }
        let lost = count("journal WHERE state = 'unknown'").await;
        if ["after_checkpoint", "after_tool"].contains(&place) {
            assert!(lost > 0, "{place}: nothing was interrupted");
        }
        println!("{place}: {rounds} kills, {lost} unknown calls");
    }

    /// Returns all runs, and asserts that each message is answered by one of them.
    async fn runs(&self) -> Vec<StoredNumbers> {
        let texts = self.database.texts("SELECT data FROM runs").await;
        let runs: Vec<StoredNumbers> =
            texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        let answered: Vec<InboxId> = runs.iter().flat_map(|run| run.input.clone()).collect();
        let each: BTreeSet<InboxId> = answered.iter().copied().collect();
        let place = self.place;
        assert_eq!(each.len(), answered.len(), "{place}: something was answered twice");
        let messages = self.database.number("SELECT count(*) FROM inbox").await;
        assert_eq!(answered.len() as i64, messages, "{place}");
        for run in &runs {
            assert_eq!(run.outcome, RunOutcome::Answered, "{place}");
        }
        runs
    }

    /// Asserts that nothing is reserved, and that grants equal the rest plus the spending
    /// of the runs.
    async fn assert_ledger_balances(&self, spent: Credits) {
        let (place, store) = (self.place, &self.org.scenario.store);
        let held = "UPDATE reservations SET expires_at = 1 WHERE charges IS NULL";
        self.database.execute(held).await;
        while !store.sweep_reservations().await.unwrap().is_empty() {}
        store.apply_settlements().await.unwrap();
        assert_eq!(store.check_ledger().await.unwrap().mismatches, [], "{place}");
        let account = store.org(ORG).credit_account().await.unwrap();
        let pools = PoolKind::ALL.map(|kind| *account.pool(kind));
        let sum = |what: fn(&ostler_domain::money::pools::CreditPool) -> Credits| {
            pools.iter().map(what).sum::<Credits>()
        };
        assert_eq!(sum(|pool| pool.reserved), Credits::ZERO, "{place}");
        assert_eq!(sum(|pool| pool.spent), spent, "{place}");
        let there = sum(|pool| pool.available) + spent + sum(|pool| pool.expired);
        assert_eq!(sum(|pool| pool.granted), there, "{place}");
        assert!(matches!(
            DatabaseHealth::check(&self.database.url).await,
            DatabaseHealth::Reachable(_)
        ));
    }

    /// Z01: asserts that the tool of a message acted once or has an unknown outcome;
    /// repeated calls had the same idempotency key.
    pub(super) async fn assert_tools_acted_once(&self, message: &CustomerMessage) {
        let (place, word) = (self.place, &message.word);
        let asked = self.outside.seen();
        let asked: Vec<_> = asked.iter().map(SeenRequest::json).collect();
        let asked: Vec<_> = asked.iter().filter(|one| one["word"] == word.as_str()).collect();
        let keys: BTreeSet<&str> = asked.iter().filter_map(|one| one["key"].as_str()).collect();
        let count = async |what: String| {
            self.database.number(&format!("SELECT count(*) FROM {what} LIKE '%{word}%'")).await
        };
        if message.text.starts_with("note") {
            let contacts = count("contacts WHERE data".into()).await;
            assert_eq!(contacts, 1, "{place}: {message:?}");
        } else if message.text.starts_with("mail") {
            let lost = count("journal WHERE state = 'unknown' AND arguments".into()).await;
            let right = if lost == 0 { asked.len() == 1 } else { asked.len() <= 1 };
            assert!(right, "{place}: {message:?} was mailed {} times", asked.len());
        } else if message.text.starts_with("post") {
            assert_eq!(keys.len(), 1, "{place}: {message:?}");
        }
    }
}

fn fine() -> Reply {
    Reply::json(200, &json!({}))
}

/// Returns the messages of a round: a question, one with a local tool, two with external
/// tools, and a second message of the first person.
fn messages(round: usize) -> Vec<CustomerMessage> {
    let message = |(person, what, name): (usize, &str, &str)| {
        let word = format!("w{round:04}{name}");
        CustomerMessage {
            from: format!("+39333{round:04}{person}"),
            text: format!("{what} {word}"),
            word,
        }
    };
    let all = [
        (1, "hello", "a"),
        (2, "mail", "b"),
        (3, "post", "c"),
        (4, "note", "d"),
        (1, "hello again", "e"),
    ];
    all.into_iter().map(message).collect()
}

/// C19, Z01, Z04, Z09: a process is killed at each fault point, again and again, with
/// several conversations in progress. Every accepted message is answered once; answers
/// are sent, and repeated with the same id only; tools act once or are unknown; credits add up; no lease is
/// left.
async fn run_campaigns(databases: Vec<TestDatabase>, rounds: usize) {
    let places = PLACES.iter().map(|(place, _)| *place).chain([ANYWHERE]);
    let campaign = async |(place, database)| {
        let campaign = Campaign::begin(place, database, ATTEMPTS).await;
        for round in 0..rounds {
            campaign.round(round).await;
        }
        campaign.assert_consistent(rounds).await;
    };
    join_all(places.zip(databases).map(campaign)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn c19_z01_z04_z09_a_killed_process_loses_nothing_and_repeats_nothing() {
    let databases = std::iter::repeat_with(TestDatabase::sqlite_file).take(PLACES.len() + 1);
    run_campaigns(databases.collect(), rounds()).await;
}

/// The same on PostgreSQL, where a killed process leaves connections behind.
#[tokio::test(flavor = "multi_thread")]
async fn c19_z01_z04_z09_a_killed_process_on_postgres_loses_nothing() {
    let mut databases = Vec::new();
    for _ in 0..=PLACES.len() {
        databases.push(TestDatabase::postgres().await);
    }
    run_campaigns(databases, rounds().div_ceil(5)).await;
}

/// C19: a message that kills every process that answers it becomes a dead letter, and
/// others are answered.
#[tokio::test(flavor = "multi_thread")]
async fn c19_a_message_that_kills_its_process_becomes_a_dead_letter() {
    const TRIES: u32 = 3;
    let campaign = Campaign::begin("after_model", TestDatabase::sqlite_file(), TRIES).await;
    let all = messages(0);
    for _ in 0..TRIES {
        campaign.kill_at(&all[1..2], "after_claim:1").await;
        campaign.expire_leases().await;
    }
    campaign.finish().await;
    let dead_letters = campaign.org.scenario.org().dead_letters(None, 10).await.unwrap();
    assert!(matches!(dead_letters[0].id, DeadLetterId::Inbox(_)), "{dead_letters:?}");
    assert_eq!(
        (dead_letters.len(), dead_letters[0].kind, dead_letters[0].attempts),
        (1, DeadLetterKind::Dead, TRIES)
    );
    assert!(campaign.outside.seen().is_empty());
    campaign.orders(&all[..1]).receive_messages(&campaign.org).await;
    campaign.finish().await;
    campaign.assert_one_outcome(&all[0]).await;
}
