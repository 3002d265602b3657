//! The doorbell on the bus: workers of one process wake when another accepts a message.

use std::time::Duration;

use ostler_bus::{MessageBus, QueueName};
use ostler_runtime::deps::Settings;
use ostler_testkit::eventually;
use tokio::sync::watch;

use crate::support::{BusPair, ECHO, Scenario, catalogue, on_every_bus};

/// Returns a process on the same store whose workers poll only once an hour.
fn listener(scenario: &Scenario) -> Scenario {
    let settings = Settings { poll_interval: Duration::from_secs(3600), ..Settings::default() };
    Scenario::with_models(scenario.store.clone(), catalogue(ECHO), settings)
}

async fn rings_waiting(bus: &dyn MessageBus) -> u64 {
    let mut waiting = 0;
    for shard in 0..16 {
        waiting += bus.depth(&QueueName::inbound(shard)).await.unwrap().total();
    }
    waiting
}

on_every_bus!(a_worker_wakes_when_another_process_accepts_a_message);
/// F09: one process accepts, another answers, in order and without polling.
async fn a_worker_wakes_when_another_process_accepts_a_message(BusPair(here, there): BusPair) {
    let accepting = Scenario::new(ECHO).await;
    accepting.worker.bell().connect(here);
    let answering = listener(&accepting);
    let consumers = answering.worker.bell().listen(&there).await.unwrap();
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
    for consumer in &consumers {
        consumer.close().await;
    }
    eventually("every ring to be heard", async || rings_waiting(&*there).await == 0).await;
}

on_every_bus!(unheard_rings_of_a_conversation_collapse_into_one);
/// While no process listens, one ring per conversation waits, and the next listener gets
/// it.
async fn unheard_rings_of_a_conversation_collapse_into_one(BusPair(here, there): BusPair) {
    let accepting = Scenario::new(ECHO).await;
    accepting.worker.bell().connect(here);
    for number in 0..100 {
        accepting.write("rosa", &format!("message {number}")).await;
    }
    eventually("a ring", async || rings_waiting(&*there).await > 0).await;
    assert_eq!(rings_waiting(&*there).await, 1);

    let late = listener(&accepting);
    let _consumers = late.worker.bell().listen(&there).await.unwrap();
    eventually("the ring to be heard", async || rings_waiting(&*there).await == 0).await;
}
