//! A full queue is a named choice, and names have room.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{BusError, Limits, MessageBus, OnFull, RabbitBus, RabbitOptions};
use ostler_domain::dispatch::priority::Priority;

use crate::kit::{Backend, Bus, on_every_bus, prefix};
use crate::world::{Seen, broker, envelope, queue};

/// Publishes until the queue refuses; a broker may take a few more than it
/// should.
async fn fill(bus: &Bus, name: &str) -> u64 {
    for number in 0..100 {
        match bus.publish(&queue(name), Arc::new(envelope(number))).await {
            Ok(()) => {}
            Err(error) => {
                assert_eq!(error, BusError::Full(queue(name)));
                return number;
            }
        }
    }
    panic!("a hundred messages found room");
}

on_every_bus!(a_full_queue_refuses);
async fn a_full_queue_refuses(backend: &Backend) {
    let limits = Limits { queue_length: 5, on_full: OnFull::Refuse, ..Limits::default() };
    let bus = backend.limited(limits).await;
    let taken = fill(&bus, "agent.full").await;
    assert!(taken >= 5, "{taken}");
    let mut urgent = envelope(99);
    urgent.priority = Priority::Critical;
    bus.publish(&queue("agent.full"), Arc::new(urgent)).await.unwrap();
    let seen = Seen::open();
    let _consumer = seen.consume(&bus, &queue("agent.full")).await;
    seen.until(taken as usize + 1).await;
    assert_eq!(seen.sorted(), (0..taken).chain([99]).collect::<Vec<_>>());
}

on_every_bus!(a_full_queue_is_waited_for_within_a_bound);
async fn a_full_queue_is_waited_for_within_a_bound(backend: &Backend) {
    let publish_patience = Duration::from_secs(2);
    let limits = Limits { queue_length: 5, publish_patience, ..Limits::default() };
    let bus = backend.limited(limits).await;
    let taken = fill(&bus, "agent.full").await;
    let seen = Seen::open();
    let waits = {
        let bus = Arc::clone(&bus);
        tokio::spawn(async move {
            loop {
                let one = Arc::new(envelope(99));
                if bus.publish(&queue("agent.full"), one).await.is_ok() {
                    return;
                }
            }
        })
    };
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!waits.is_finished());
    let _consumer = seen.consume(&bus, &queue("agent.full")).await;
    waits.await.unwrap();
    seen.until(taken as usize + 1).await;
}

/// The longest prefix leaves room for the longest queue of any class; a longer
/// one is refused before anything is declared.
#[tokio::test(flavor = "multi_thread")]
async fn a_prefix_leaves_room_for_every_name() {
    let connect = async |size| {
        let prefix = format!("{:_<size$}", prefix());
        RabbitBus::connect(&broker(), RabbitOptions { prefix, ..RabbitOptions::default() }).await
    };
    let refused = connect(67).await.err();
    assert_eq!(refused, Some(BusError::Prefix { size: 67, limit: 66 }));
    let bus = connect(66).await.unwrap();
    let mut urgent = envelope(1);
    urgent.priority = Priority::Critical;
    bus.publish(&queue(&"q".repeat(180)), Arc::new(urgent)).await.unwrap();
}
