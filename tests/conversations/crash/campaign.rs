//! Kills a process again and again at one place, lets another finish what it
//! left, and looks at all that is there then.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::id::InboxId;
use ostler_domain::money::Credits;
use ostler_domain::money::Usd;
use ostler_domain::money::pools::PoolKind;
use ostler_runtime::records::run::{RunOutcome, RunRecord};
use ostler_store::{DeadLetterKind, DatabaseHealth, DeadLetterId};
use ostler_testkit::{TestDatabase, eventually};
use serde_json::json;

use super::process::{Letter, ORDERS, Orders, PROCESS};
use super::{dies, start, times};
use crate::fake_server::{Reply, SeenRequest, Server};
use crate::support::{ConnectedOrg, GIA, ORG, lenient_settings};

/// Every place at which a process ends, and how often each is at least visited
/// while the letters of a round are answered.
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
/// Not a place: killed from outside, sooner or later.
const ANYWHERE: &str = "anywhere";
/// A letter is never given up in a campaign, however slow the machine.
const ATTEMPTS: u32 = 1000;

/// One place in one database.
struct Campaign {
    place: &'static str,
    database: TestDatabase,
    /// Goes on with what a killed process left.
    org: ConnectedOrg,
    gateway: Server,
    outside: Server,
    attempts: u32,
}

impl Campaign {
    async fn begin(place: &'static str, database: TestDatabase, attempts: u32) -> Self {
        let store = database.migrated().await;
        let [gateway, outside] = [Server::start([fine()]).await, Server::start([fine()]).await];
        let orders = Orders {
            database: database.url.clone(),
            outside: outside.url.clone(),
            letters: Vec::new(),
            attempts,
        };
        let ConnectedOrg { scenario, delivery, receiver, team_requests, channels } = orders.assemble(store);
        let scenario = scenario.seed().await;
        let org = ConnectedOrg { scenario, delivery, receiver, team_requests, channels };
        org.scenario.save_settings(&lenient_settings()).await;
        org.scenario.grant(1_000_000).await;
        org.scenario
            .change_agent(GIA, |gia| {
                // Customer service sends no mail.
                gia.subtype = Subtype::from("billing_specialist");
                gia.autonomy = AutonomyLevel::Autonomous;
                gia.limits.max_messages_per_day = 1_000_000;
                gia.limits.max_cost_per_day = Usd::from_dollars(1_000_000);
            })
            .await;
        org.gateway_at(&gateway).await;
        Self { place, database, org, gateway, outside, attempts }
    }

    fn orders(&self, letters: &[Letter]) -> Orders {
        Orders {
            database: self.database.url.clone(),
            outside: self.outside.url.clone(),
            letters: letters.to_vec(),
            attempts: self.attempts,
        }
    }

    /// Has a process bring these letters, and killed at a fault.
    async fn killed_at(&self, letters: &[Letter], fault: &str) {
        let orders = serde_json::to_string(&self.orders(letters)).unwrap();
        dies(start(PROCESS, (ORDERS, &orders), Some(fault)), fault).await;
    }

    /// The same, killed after some time wherever it is.
    async fn killed_after(&self, letters: &[Letter], time: Duration) {
        let orders = serde_json::to_string(&self.orders(letters)).unwrap();
        let mut process = start(PROCESS, (ORDERS, &orders), None);
        tokio::time::sleep(time).await;
        process.kill().await.unwrap();
    }

    /// Kills a process in the middle of these letters, and goes on.
    async fn round(&self, round: usize) {
        let letters = letters(round);
        let visits = PLACES.iter().find(|(place, _)| *place == self.place);
        match visits {
            Some((place, visits)) => {
                let fault = format!("{place}:{}", 1 + round % visits);
                self.killed_at(&letters, &fault).await;
            }
            None => {
                let time = Duration::from_millis(50 + (round as u64 * 137) % 600);
                self.killed_after(&letters, time).await;
            }
        }
        self.given_up().await;
        // The gateway has no receipt for some of them, and brings all again.
        self.orders(&letters).bring(&self.org).await;
        self.finish().await;
        for letter in &letters {
            self.one_outcome(letter).await;
        }
    }

    /// Lets time pass until whoever was killed is given up.
    async fn given_up(&self) {
        let leases =
            "UPDATE conversations SET lease_until = 1, pending_at = 1 WHERE lease_until > 0";
        let sends = "UPDATE outbox SET claimed_until = 1 WHERE state = 'sending'";
        for late in [leases, sends] {
            self.database.execute(late).await;
        }
    }

    /// Does all that is left.
    async fn finish(&self) {
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

    /// C19, Z04, Z09: one answer was committed, and it went out once, or it is
    /// unknown whether it did.
    async fn one_outcome(&self, letter: &Letter) {
        let (place, word) = (self.place, &letter.word);
        let rows = format!("SELECT state FROM outbox WHERE payload LIKE '%{word}%'");
        let states = self.database.texts(&rows).await;
        let seen = self.gateway.seen();
        let says = |text: &str| text.contains(word.as_str());
        let arrived = seen.iter().filter(|one| one.json()["text"].as_str().is_some_and(says));
        match (states.as_slice(), arrived.count()) {
            ([state], 1) if state == "sent" => {}
            ([state], 0 | 1) if state == "unknown" => {}
            other => panic!("{place}: {letter:?} came to {other:?}"),
        }
    }

    /// Looks at everything once no more processes are killed.
    async fn end(self, rounds: usize) {
        let (place, database) = (self.place, &self.database);
        let count =
            async |what: &str| database.number(&format!("SELECT count(*) FROM {what}")).await;
        assert_eq!(count("inbox").await as usize, rounds * letters(0).len(), "{place}");
        assert_eq!(count("inbox WHERE state <> 'done'").await, 0, "{place}");
        assert_eq!(count("conversations WHERE lease_until > 0").await, 0, "{place}");
        assert_eq!(count("conversations WHERE pending_at IS NOT NULL").await, 0, "{place}");
        assert_eq!(count("checkpoints").await, 0, "{place}");
        let unknown = count("outbox WHERE state = 'unknown'").await as usize;
        if ["during_delivery", "after_provider"].contains(&place) {
            assert!(unknown >= rounds, "{place}: {unknown} of {rounds}");
        }
        let runs = self.runs().await;
        let credits = runs.iter().map(|run| run.credits).sum();
        self.books_balance(credits).await;
        for round in 0..rounds {
            for letter in letters(round) {
                self.done_once(&letter).await;
            }
        }
        let lost = count("journal WHERE state = 'unknown'").await;
        if ["after_checkpoint", "after_tool"].contains(&place) {
            assert!(lost > 0, "{place}: nothing was interrupted");
        }
        println!("{place}: {rounds} kills, {unknown} unknown sends, {lost} unknown calls");
    }

    /// All runs; each letter is answered by one of them.
    async fn runs(&self) -> Vec<RunRecord> {
        let texts = self.database.texts("SELECT data FROM runs").await;
        let runs: Vec<RunRecord> =
            texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        let answered: Vec<InboxId> = runs.iter().flat_map(|run| run.input.clone()).collect();
        let each: BTreeSet<InboxId> = answered.iter().copied().collect();
        let place = self.place;
        assert_eq!(each.len(), answered.len(), "{place}: something was answered twice");
        let letters = self.database.number("SELECT count(*) FROM inbox").await;
        assert_eq!(answered.len() as i64, letters, "{place}");
        for run in &runs {
            assert_eq!(run.outcome, RunOutcome::Answered, "{place}");
        }
        runs
    }

    /// Nothing is held, and what was granted is there or was spent for these runs.
    async fn books_balance(&self, spent: Credits) {
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
        assert!(matches!(DatabaseHealth::check(&self.database.url).await, DatabaseHealth::Reachable(_)));
    }

    /// Z01: what a letter had done happened once, or it is unknown whether it
    /// did; what may be repeated had the same key each time.
    async fn done_once(&self, letter: &Letter) {
        let (place, word) = (self.place, &letter.word);
        let asked = self.outside.seen();
        let asked: Vec<_> = asked.iter().map(SeenRequest::json).collect();
        let asked: Vec<_> = asked.iter().filter(|one| one["word"] == word.as_str()).collect();
        let keys: BTreeSet<&str> = asked.iter().filter_map(|one| one["key"].as_str()).collect();
        let count = async |what: String| {
            self.database.number(&format!("SELECT count(*) FROM {what} LIKE '%{word}%'")).await
        };
        if letter.text.starts_with("note") {
            let contacts = count("contacts WHERE data".into()).await;
            assert_eq!(contacts, 1, "{place}: {letter:?}");
        } else if letter.text.starts_with("mail") {
            let lost = count("journal WHERE state = 'unknown' AND arguments".into()).await;
            let right = if lost == 0 { asked.len() == 1 } else { asked.len() <= 1 };
            assert!(right, "{place}: {letter:?} was mailed {} times", asked.len());
        } else if letter.text.starts_with("post") {
            assert_eq!(keys.len(), 1, "{place}: {letter:?}");
        }
    }
}

fn fine() -> Reply {
    Reply::json(200, &json!({}))
}

/// What is written in a round: a plain question, one with a tool that works
/// here, two with tools that reach outside, and two letters of one person.
fn letters(round: usize) -> Vec<Letter> {
    let letter = |(person, what, name): (usize, &str, &str)| {
        let word = format!("w{round:04}{name}");
        Letter { from: format!("+39333{round:04}{person}"), text: format!("{what} {word}"), word }
    };
    let all = [
        (1, "hello", "a"),
        (2, "mail", "b"),
        (3, "post", "c"),
        (4, "note", "d"),
        (1, "hello again", "e"),
    ];
    all.into_iter().map(letter).collect()
}

/// C19, Z01, Z04, Z09: a process is killed at each place, again and again, with
/// several conversations in work. Whatever is accepted is answered once; answers
/// go out once or are unknown; tools act once or are unknown; credits add up;
/// nobody has a conversation any more.
async fn everything_once(databases: Vec<TestDatabase>, rounds: usize) {
    let places = PLACES.iter().map(|(place, _)| *place).chain([ANYWHERE]);
    let campaign = async |(place, database)| {
        let campaign = Campaign::begin(place, database, ATTEMPTS).await;
        for round in 0..rounds {
            campaign.round(round).await;
        }
        campaign.end(rounds).await;
    };
    join_all(places.zip(databases).map(campaign)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn c19_z01_z04_z09_a_killed_process_loses_nothing_and_repeats_nothing() {
    let databases = std::iter::repeat_with(TestDatabase::sqlite_file).take(PLACES.len() + 1);
    everything_once(databases.collect(), times()).await;
}

/// The same on PostgreSQL, where a killed process leaves connections behind.
#[tokio::test(flavor = "multi_thread")]
async fn c19_z01_z04_z09_a_killed_process_on_postgres_loses_nothing() {
    let mut databases = Vec::new();
    for _ in 0..=PLACES.len() {
        databases.push(TestDatabase::postgres().await);
    }
    everything_once(databases, times().div_ceil(5)).await;
}

/// C19: a letter that kills whoever answers it is a dead letter in the end, and
/// others are answered.
#[tokio::test(flavor = "multi_thread")]
async fn c19_a_letter_that_kills_is_a_dead_letter_in_the_end() {
    const TRIES: u32 = 3;
    let campaign = Campaign::begin("after_model", TestDatabase::sqlite_file(), TRIES).await;
    let all = letters(0);
    for _ in 0..TRIES {
        campaign.killed_at(&all[1..2], "after_claim:1").await;
        campaign.given_up().await;
    }
    campaign.finish().await;
    let letters = campaign.org.scenario.org().dead_letters(None, 10).await.unwrap();
    assert!(matches!(letters[0].id, DeadLetterId::Inbox(_)), "{letters:?}");
    assert_eq!((letters.len(), letters[0].kind, letters[0].attempts), (1, DeadLetterKind::Dead, TRIES));
    assert!(campaign.outside.seen().is_empty());
    campaign.orders(&all[..1]).bring(&campaign.org).await;
    campaign.finish().await;
    campaign.one_outcome(&all[0]).await;
}
