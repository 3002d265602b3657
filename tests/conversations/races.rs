//! A person takes over while an agent is writing, or what it wrote waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ostler_domain::agent::limits::AgentLimits;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::money::Usd;
use ostler_domain::session::key::Peer;
use ostler_domain::session::status::SessionStatus;
use ostler_runtime::operations::Actor;
use ostler_runtime::talk::outgoing::Outgoing;
use ostler_store::{Delivery, Store};

use crate::world::{GIA, ORG, World, agent, text_of};

/// How many races there are, unless `OSTLER_RACES` says otherwise.
const RACES: usize = 300;

const SLOW: &str = "
rules:
  - when: { user: slow }
    answer: { text: 'Slowly {user}: yes.', delay: 2ms, chunk: 4, pause: 1ms }
default: 'About {user}: yes.'
";

fn races() -> usize {
    std::env::var("OSTLER_RACES").ok().and_then(|text| text.parse().ok()).unwrap_or(RACES)
}

/// A row that a sender was given, and whether the takeover was over before it
/// asked for one.
struct Claim {
    after: bool,
    outgoing: Outgoing,
}

/// Sends all there is, until it is told to stop.
async fn send(world: Arc<World>, over: Arc<AtomicBool>, stop: Arc<AtomicBool>) -> Vec<Claim> {
    let mut claims = Vec::new();
    loop {
        let last = stop.load(Ordering::SeqCst);
        let after = over.load(Ordering::SeqCst);
        match world.store.claim_outbox(Duration::from_secs(10)).await.unwrap() {
            Some(row) => {
                let outgoing = serde_json::from_str(&row.payload).unwrap();
                claims.push(Claim { after, outgoing });
                world.store.org(row.org).record_delivery(&row, Delivery::Sent).await.unwrap();
            }
            None if last => return claims,
            None => tokio::time::sleep(Duration::from_micros(200)).await,
        }
    }
}

/// One race; says whether the agent's words were sent before the takeover.
async fn race(world: &Arc<World>, number: usize) -> bool {
    let who = format!("customer{number}");
    world.say(&who, "hello").await;
    let session = world.session(&who).await.id;
    let over = Arc::new(AtomicBool::new(false));
    let stop = Arc::new(AtomicBool::new(false));
    let sender = tokio::spawn(send(world.clone(), over.clone(), stop.clone()));
    let pace = if number.is_multiple_of(2) { "slow" } else { "fast" };
    world.write(&who, &format!("{pace} {number}")).await;
    let working = world.clone();
    let worker = tokio::spawn(async move { working.work().await });
    tokio::time::sleep(Duration::from_micros((number as u64 * 613) % 9000)).await;

    let operations = world.operations();
    let taken = operations.as_actor(Actor::Terminal, ORG).take_over(session).await.unwrap();
    over.store(true, Ordering::SeqCst);
    assert_eq!(taken.session.status, SessionStatus::HandedOff);
    worker.await.unwrap();
    world.work().await;
    stop.store(true, Ordering::SeqCst);
    let claims = sender.await.unwrap();
    let to = Peer::Person(who.clone());
    let ours: Vec<&Claim> = claims.iter().filter(|one| one.outgoing.to == to).collect();
    let late: Vec<String> =
        ours.iter().filter(|one| one.after).map(|one| text_of(&one.outgoing)).collect();
    assert!(late.is_empty(), "race {number}: sent after the takeover: {late:?}");
    assert_eq!(world.session(&who).await.status, SessionStatus::HandedOff, "race {number}");
    let thread = world.thread(&who).await;
    let wrote = thread.iter().any(|one| one.text() == format!("{pace} {number}"));
    assert!(wrote, "race {number}: what the customer wrote is kept");
    !ours.is_empty()
}

async fn races_on(store: Store) {
    let world = Arc::new(World::on(store, SLOW).await);
    let most = AgentLimits {
        max_messages_per_day: u32::MAX,
        max_cost_per_day: Usd::from_dollars(1_000_000),
    };
    let gia = agent(GIA, "gia", Subtype::CustomerService);
    world.save_agent(ostler_domain::agent::Agent { limits: most, ..gia }).await;
    world.grant(100_000).await;
    let mut before = 0;
    for number in 0..races() {
        before += usize::from(race(&world, number).await);
    }
    println!("{before} of {} replies were sent before the takeover", races());
}

/// Z08: no agent's words are sent once a takeover is committed, whether they are
/// being written at that moment or wait to be sent.
#[tokio::test(flavor = "multi_thread")]
async fn z08_nothing_of_an_agent_is_sent_after_a_takeover() {
    let store = Store::connect("sqlite::memory:").unwrap();
    store.migrate().await.unwrap();
    races_on(store).await;
}

/// Z08: the same on PostgreSQL, where there is one.
#[tokio::test(flavor = "multi_thread")]
async fn z08_nothing_of_an_agent_is_sent_after_a_takeover_on_postgres() {
    let Ok(url) = std::env::var("OSTLER_TEST_POSTGRES_URL") else { return };
    let store = Store::connect(&url).unwrap();
    store.migrate().await.unwrap();
    races_on(store).await;
}

/// Z08: what waits is withdrawn, what is being sent is shown to the operator.
#[tokio::test]
async fn z08_what_is_in_flight_is_shown() {
    let world = World::new(SLOW).await;
    world.say("rosa", "hello").await;
    let id = world.session("rosa").await.id;
    world.write("rosa", "first").await;
    world.work().await;
    let flying = world.store.claim_outbox(Duration::from_secs(10)).await.unwrap().unwrap();
    world.write("rosa", "second").await;
    world.work().await;
    let operations = world.operations();
    let taken = operations.as_actor(Actor::Terminal, ORG).take_over(id).await.unwrap();
    assert_eq!(taken.in_flight, [flying.id]);
    assert_eq!(taken.withdrawn, 1);
    world.org().record_delivery(&flying, Delivery::Sent).await.unwrap();
    assert!(world.deliver().await.is_empty());
}
