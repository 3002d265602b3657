//! Full queues and the length of names.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{BusError, MessageBus, OverflowPolicy, QueueLimits, RabbitBus, RabbitOptions};
use ostler_domain::queue_agent::priority::Priority;

use crate::kit::{Backend, Bus, on_every_bus, prefix};
use crate::support::{RecordingHandler, broker, envelope, queue};

/// Publishes until the queue is full; a broker may accept a few messages more.
async fn fill(bus: &Bus, name: &str) -> u64 {
    for number in 0..100 {
        match bus.publish(&queue(name), Arc::new(envelope(number))).await {
            Ok(()) => {}
            Err(error) => {
                assert_eq!(error, BusError::QueueFull(queue(name)));
                return number;
            }
        }
    }
    panic!("a hundred messages found room");
}

on_every_bus!(a_full_queue_rejects_messages);
async fn a_full_queue_rejects_messages(backend: &Backend) {
    let limits =
        QueueLimits { queue_length: 5, on_full: OverflowPolicy::Reject, ..QueueLimits::default() };
    let bus = backend.bus_with(limits).await;
    let taken = fill(&bus, "agent.full").await;
    assert!(taken >= 5, "{taken}");
    let mut urgent = envelope(99);
    urgent.priority = Priority::Critical;
    bus.publish(&queue("agent.full"), Arc::new(urgent)).await.unwrap();
    let seen = RecordingHandler::open();
    let _consumer = seen.consume(&bus, &queue("agent.full")).await;
    seen.wait_for(taken as usize + 1).await;
    assert_eq!(seen.sorted(), (0..taken).chain([99]).collect::<Vec<_>>());
}

on_every_bus!(publishing_to_a_full_queue_waits_until_the_timeout);
async fn publishing_to_a_full_queue_waits_until_the_timeout(backend: &Backend) {
    let publish_timeout = Duration::from_secs(2);
    let limits = QueueLimits { queue_length: 5, publish_timeout, ..QueueLimits::default() };
    let bus = backend.bus_with(limits).await;
    let taken = fill(&bus, "agent.full").await;
    let seen = RecordingHandler::open();
    let publishing = {
        let bus = Arc::clone(&bus);
        tokio::spawn(async move {
            loop {
                let message = Arc::new(envelope(99));
                if bus.publish(&queue("agent.full"), message).await.is_ok() {
                    return;
                }
            }
        })
    };
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!publishing.is_finished());
    let _consumer = seen.consume(&bus, &queue("agent.full")).await;
    publishing.await.unwrap();
    seen.wait_for(taken as usize + 1).await;
}

/// The longest prefix leaves room for the longest queue name of any class; a
/// longer message is rejected before anything is declared.
#[tokio::test(flavor = "multi_thread")]
async fn a_prefix_leaves_room_for_every_name() {
    let connect = async |size| {
        let prefix = format!("{:_<size$}", prefix());
        RabbitBus::connect(&broker(), RabbitOptions { prefix, ..RabbitOptions::default() }).await
    };
    let refused = connect(67).await.err();
    assert_eq!(refused, Some(BusError::PrefixTooLong { size: 67, limit: 66 }));
    let bus = connect(66).await.unwrap();
    let mut urgent = envelope(1);
    urgent.priority = Priority::Critical;
    bus.publish(&queue(&"q".repeat(180)), Arc::new(urgent)).await.unwrap();
}
