//! Takeovers that race with a turn or with a waiting reply.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ostler_domain::agent::limits::AgentLimits;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::id::UserId;
use ostler_domain::money::Usd;
use ostler_domain::session::key::Peer;
use ostler_domain::session::status::SessionStatus;
use ostler_runtime::conversation::receive::team_chats::{
    Colleague, TeamRequest, TeamRequestHandler,
};
use ostler_runtime::operations::Actor;
use ostler_runtime::records::outgoing::OutgoingMessage;
use ostler_store::{OutboxDelivery, Store};
use ostler_testkit::{TestDatabase, claim_send};

use crate::support::{GIA, ORG, Scenario, agent, text_of};

/// The number of races; `OSTLER_RACES` changes it.
const RACES: usize = 300;
/// The same on PostgreSQL, where each commit goes over a network.
const POSTGRES_RACES: usize = 100;

const SLOW: &str = "
rules:
  - when: { user: slow }
    answer: { text: 'Slowly {{ user }}: yes.', delay: 2ms, chunk: 4, pause: 1ms }
default: 'About {{ user }}: yes.'
";

fn races(usually: usize) -> usize {
    std::env::var("OSTLER_RACES").ok().and_then(|text| text.parse().ok()).unwrap_or(usually)
}

/// A claimed message, and whether the takeover was committed before the claim.
struct Claim {
    after: bool,
    outgoing: OutgoingMessage,
}

/// Sends all messages until `stop`, and returns the claims.
async fn send(scenario: Arc<Scenario>, over: Arc<AtomicBool>, stop: Arc<AtomicBool>) -> Vec<Claim> {
    let mut claims = Vec::new();
    loop {
        let last = stop.load(Ordering::SeqCst);
        let after = over.load(Ordering::SeqCst);
        match claim_send(&scenario.store, Duration::from_secs(10)).await {
            Some(row) => {
                let outgoing = serde_json::from_str(&row.payload).unwrap();
                claims.push(Claim { after, outgoing });
                scenario
                    .store
                    .org(row.org)
                    .record_delivery(&row, OutboxDelivery::Sent)
                    .await
                    .unwrap();
            }
            None if last => return claims,
            None => tokio::time::sleep(Duration::from_micros(200)).await,
        }
    }
}

/// Runs one race. Returns whether the agent's message was sent before the takeover.
async fn race(scenario: &Arc<Scenario>, number: usize) -> bool {
    let who = format!("customer{number}");
    scenario.say(&who, "hello").await;
    let session = scenario.session(&who).await.id;
    let over = Arc::new(AtomicBool::new(false));
    let stop = Arc::new(AtomicBool::new(false));
    let sender = tokio::spawn(send(scenario.clone(), over.clone(), stop.clone()));
    let pace = if number.is_multiple_of(2) { "slow" } else { "fast" };
    scenario.write(&who, &format!("{pace} {number}")).await;
    let working = scenario.clone();
    let worker = tokio::spawn(async move { working.work().await });
    tokio::time::sleep(Duration::from_micros((number as u64 * 613) % 9000)).await;

    let operations = scenario.operations();
    let taken = operations.as_actor(Actor::Terminal, ORG).take_over(session).await.unwrap();
    over.store(true, Ordering::SeqCst);
    assert_eq!(taken.session.status, SessionStatus::HandedOff);
    worker.await.unwrap();
    scenario.work().await;
    stop.store(true, Ordering::SeqCst);
    let claims = sender.await.unwrap();
    let to = Peer::Person(who.clone());
    let ours: Vec<&Claim> = claims.iter().filter(|one| one.outgoing.to == to).collect();
    let late: Vec<String> =
        ours.iter().filter(|one| one.after).map(|one| text_of(&one.outgoing)).collect();
    assert!(late.is_empty(), "race {number}: sent after the takeover: {late:?}");
    assert_eq!(scenario.session(&who).await.status, SessionStatus::HandedOff, "race {number}");
    let thread = scenario.thread(&who).await;
    let wrote = thread.iter().any(|one| one.text() == format!("{pace} {number}"));
    assert!(wrote, "race {number}: what the customer wrote is kept");
    !ours.is_empty()
}

async fn races_on(store: Store, usually: usize) {
    let scenario = Arc::new(Scenario::in_store(store, SLOW).await);
    let most = AgentLimits {
        max_messages_per_day: u32::MAX,
        max_cost_per_day: Usd::from_dollars(1_000_000),
    };
    let gia = agent(GIA, "gia", Subtype::CustomerService);
    scenario.save_agent(ostler_domain::agent::Agent { limits: most, ..gia }).await;
    scenario.grant(100_000).await;
    let mut before = 0;
    let races = races(usually);
    for number in 0..races {
        before += usize::from(race(&scenario, number).await);
    }
    println!("{before} of {races} replies were sent before the takeover");
}

/// Z08: no message of an agent is sent after a takeover is committed, whether it is being
/// written at that moment or waits in the outbox.
#[tokio::test(flavor = "multi_thread")]
async fn z08_no_message_of_an_agent_is_sent_after_a_takeover() {
    let store = TestDatabase::sqlite_memory().migrated().await;
    races_on(store, RACES).await;
}

/// Z08: the same on PostgreSQL.
#[tokio::test(flavor = "multi_thread")]
async fn z08_no_message_of_an_agent_is_sent_after_a_takeover_on_postgres() {
    let store = TestDatabase::postgres().await.migrated().await;
    races_on(store, POSTGRES_RACES).await;
}

/// Z08: a takeover withdraws waiting messages and returns those that are being sent.
#[tokio::test]
async fn z08_a_takeover_withdraws_waiting_messages_and_returns_those_in_flight() {
    let scenario = Scenario::new(SLOW).await;
    scenario.say("rosa", "hello").await;
    let id = scenario.session("rosa").await.id;
    scenario.write("rosa", "first").await;
    scenario.work().await;
    let flying = claim_send(&scenario.store, Duration::from_secs(10)).await.unwrap();
    scenario.write("rosa", "second").await;
    scenario.work().await;
    let operations = scenario.operations();
    let taken = operations.as_actor(Actor::Terminal, ORG).take_over(id).await.unwrap();
    assert_eq!(taken.in_flight, [flying.id]);
    assert_eq!(taken.still_sending, [flying.id]);
    assert_eq!(taken.withdrawn, 1);
    scenario.org().record_delivery(&flying, OutboxDelivery::Sent).await.unwrap();
    assert!(scenario.deliver().await.is_empty());
}

/// Z08: a takeover is answered when the send that was under way has ended.
#[tokio::test]
async fn z08_a_takeover_waits_for_a_send_under_way() {
    let scenario = Scenario::new(SLOW).await;
    scenario.say("rosa", "hello").await;
    let id = scenario.session("rosa").await.id;
    scenario.write("rosa", "first").await;
    scenario.work().await;
    let flying = claim_send(&scenario.store, Duration::from_secs(10)).await.unwrap();
    let operations = scenario.operations();
    let as_actor = operations.as_actor(Actor::Terminal, ORG);
    let taking = as_actor.take_over(id);
    let reporting = async {
        while scenario.session("rosa").await.status != SessionStatus::HandedOff {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        scenario.org().record_delivery(&flying, OutboxDelivery::Sent).await.unwrap();
    };
    let (taken, ()) = futures_util::future::join(taking, reporting).await;
    let taken = taken.unwrap();
    assert_eq!(taken.in_flight, [flying.id]);
    assert!(taken.still_sending.is_empty());
}

/// Z08: who takes over from a team chat is told of a reply that was being sent already.
#[tokio::test]
async fn z08_a_takeover_from_a_chat_names_a_send_under_way() {
    let scenario = Scenario::new(SLOW).await;
    scenario.say("rosa", "hello").await;
    let session = scenario.session("rosa").await.id;
    scenario.write("rosa", "first").await;
    scenario.work().await;
    claim_send(&scenario.store, Duration::from_secs(10)).await.unwrap();
    let by = Colleague { user: UserId::from_u128(7), name: None };
    let request = TeamRequest { org: ORG, session, by, idempotency_key: "press-1".into() };
    let result = TeamRequestHandler::take_over(&scenario.operations(), &request).await.unwrap();
    assert_eq!(result.in_flight, 1);
}
