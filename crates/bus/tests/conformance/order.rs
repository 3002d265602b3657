//! The most urgent message is next.

use std::sync::Arc;

use ostler_bus::ConsumeOptions;
use ostler_domain::queue_agent::priority::Priority;
use ostler_domain::time::Timestamp;

use crate::kit::{Backend, eventually, on_every_bus};
use crate::support::{RecordingHandler, envelope, publish, queue, wait_for_depth};

on_every_bus!(x58_the_most_urgent_waiting_message_is_next);
/// X58: by class, then by deadline, then in order of arrival. On RabbitMQ
/// within the consumer's prefetch.
async fn x58_the_most_urgent_waiting_message_is_next(backend: &Backend) {
    let bus = backend.bus().await;
    let inbox = queue("agent.busy");
    let seen = RecordingHandler::gated();
    let options = ConsumeOptions { prefetch: 20, ..ConsumeOptions::default() };
    let _consumer = seen.consume_with(&bus, &inbox, options).await;
    publish(&bus, &inbox, [0]).await;
    seen.wait_for(1).await;
    let waiting = [
        (7, Priority::Low, None),
        (6, Priority::Normal, None),
        (5, Priority::Normal, Some(900)),
        (4, Priority::Normal, Some(800)),
        (3, Priority::High, None),
        (2, Priority::Critical, None),
        (1, Priority::Critical, Some(1000)),
        (8, Priority::Low, None),
    ];
    for (number, priority, deadline) in waiting {
        let mut message = envelope(number);
        message.priority = priority;
        message.sla_deadline = deadline.map(Timestamp::from_millis);
        bus.publish(&inbox, Arc::new(message)).await.unwrap();
    }
    // Wait until the consumer has all of them.
    if *backend == Backend::Memory {
        wait_for_depth(&bus, &inbox, 8).await;
    } else {
        wait_for_depth(&bus, &inbox, 0).await;
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    }
    seen.open_gate();
    seen.wait_for(9).await;
    assert_eq!(seen.numbers(), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
}

on_every_bus!(closing_keeps_the_order_of_messages_not_started);
async fn closing_keeps_the_order_of_messages_not_started(backend: &Backend) {
    let bus = backend.bus().await;
    let inbox = queue("agent.reopened");
    let first = RecordingHandler::gated();
    let options = ConsumeOptions { prefetch: 20, ..ConsumeOptions::default() };
    let consumer = first.consume_with(&bus, &inbox, options).await;
    publish(&bus, &inbox, 0..10).await;
    first.wait_for(1).await;
    first.open_gate();
    consumer.close().await;
    let started = first.deliveries().len() as u64;
    let second = RecordingHandler::open();
    let _consumer = second.consume(&bus, &inbox).await;
    second.wait_for(10 - started as usize).await;
    assert_eq!(second.numbers(), (started..10).collect::<Vec<_>>());
}

on_every_bus!(x58_classes_are_ordered_at_prefetch_one);
/// X58: critical before low, also with the smallest prefetch.
async fn x58_classes_are_ordered_at_prefetch_one(backend: &Backend) {
    let bus = backend.bus().await;
    let inbox = queue("agent.busy");
    let seen = RecordingHandler::gated();
    let _consumer = seen.consume(&bus, &inbox).await;
    publish(&bus, &inbox, [0]).await;
    seen.wait_for(1).await;
    for number in [4, 5, 6] {
        let message = ostler_bus::Envelope { priority: Priority::Low, ..envelope(number) };
        bus.publish(&inbox, Arc::new(message)).await.unwrap();
    }
    for number in [1, 2, 3] {
        let message = ostler_bus::Envelope { priority: Priority::Critical, ..envelope(number) };
        bus.publish(&inbox, Arc::new(message)).await.unwrap();
    }
    if *backend != Backend::Memory {
        let handed_out = async || bus.depth(&inbox).await.unwrap().waiting == [1, 0, 0, 1];
        eventually("two of each class to be handed out", handed_out).await;
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    }
    // One by message, so that the next message of a class arrives before the
    // choice.
    for count in 2..=7 {
        seen.gate.add_permits(1);
        seen.wait_for(count).await;
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    seen.open_gate();
    let numbers = seen.numbers();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6]);
}
