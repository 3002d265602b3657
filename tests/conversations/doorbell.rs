//! The bell on the bus: workers of one process wake for what another accepted.

use std::time::Duration;

use ostler_bus::{MessageBus, QueueName};
use ostler_runtime::deps::Settings;
use ostler_testkit::eventually;
use tokio::sync::watch;

use crate::support::{BusPair, ECHO, Scenario, catalogue, on_every_bus};


/// A process on the same store whose workers look by themselves only once.
fn listener(scenario: &Scenario) -> Scenario {
    let settings = Settings { poll_interval: Duration::from_secs(3600), ..Settings::default() };
    Scenario::with_models(scenario.store.clone(), catalogue(ECHO), settings)
}

async fn rings_waiting(bus: &dyn MessageBus) -> u64 {
    let mut waiting = 0;
    for door in 0..16 {
        waiting += bus.depth(&QueueName::inbound(door)).await.unwrap().total();
    }
    waiting
}

on_every_bus!(a_worker_wakes_for_what_another_process_accepted);
/// F09: one process accepts, another answers, in order, though its workers would
/// not look by themselves.
async fn a_worker_wakes_for_what_another_process_accepted(BusPair(here, there): BusPair) {
    let accepting = Scenario::new(ECHO).await;
    accepting.worker.bell().connect(here);
    let answering = listener(&accepting);
    let ears = answering.worker.bell().listen(&there).await.unwrap();
    let (stop, stopped) = watch::channel(false);
    let worker = answering.worker.clone();
    let working = tokio::spawn(async move { worker.run(2, stopped).await });

    for round in 1..=6 {
        accepting.write("rosa", &format!("message {round}")).await;
        let answered = async || {
            let sessions = accepting.sessions().await;
            !sessions.is_empty() && accepting.thread("rosa").await.len() == 2 * round
        };
        eventually("an answer", answered).await;
    }
    let said: Vec<String> =
        accepting.thread("rosa").await.iter().map(|one| one.text().into_owned()).collect();
    let expected: Vec<String> = (1..=6)
        .flat_map(|n| [format!("message {n}"), format!("About message {n}: yes.")])
        .collect();
    assert_eq!(said, expected);
    stop.send_replace(true);
    working.await.unwrap();
    for ear in &ears {
        ear.close().await;
    }
    eventually("every ring to be heard", async || rings_waiting(&*there).await == 0).await;
}

on_every_bus!(rings_that_nobody_hears_are_one);
/// However much is accepted while nobody listens, one ring waits at the door of
/// a conversation, and whoever comes later hears that one.
async fn rings_that_nobody_hears_are_one(BusPair(here, there): BusPair) {
    let accepting = Scenario::new(ECHO).await;
    accepting.worker.bell().connect(here);
    for number in 0..100 {
        accepting.write("rosa", &format!("message {number}")).await;
    }
    eventually("a ring", async || rings_waiting(&*there).await > 0).await;
    assert_eq!(rings_waiting(&*there).await, 1);

    let late = listener(&accepting);
    let _ears = late.worker.bell().listen(&there).await.unwrap();
    eventually("the ring to be heard", async || rings_waiting(&*there).await == 0).await;
}
