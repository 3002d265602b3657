//! The most pressing message is next.

use std::sync::Arc;

use ostler_bus::ConsumeOptions;
use ostler_domain::dispatch::priority::Priority;
use ostler_domain::time::Timestamp;

use crate::kit::{Backend, eventually, on_every_bus};
use crate::world::{Seen, envelope, publish, queue, until_waiting};

on_every_bus!(x58_the_most_pressing_waiting_message_is_next);
/// X58: by class, then the nearest deadline, then the order of arrival. On
/// RabbitMQ as far as the consumer's prefetch reaches.
async fn x58_the_most_pressing_waiting_message_is_next(backend: &Backend) {
    let bus = backend.bus().await;
    let inbox = queue("agent.busy");
    let seen = Seen::gated();
    let options = ConsumeOptions { prefetch: 20, ..ConsumeOptions::default() };
    let _consumer = seen.consume_with(&bus, &inbox, options).await;
    publish(&bus, &inbox, [0]).await;
    seen.until(1).await;
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
        let mut one = envelope(number);
        one.priority = priority;
        one.sla_deadline = deadline.map(Timestamp::from_millis);
        bus.publish(&inbox, Arc::new(one)).await.unwrap();
    }
    // Until the consumer knows of all of them.
    if *backend == Backend::Memory {
        until_waiting(&bus, &inbox, 8).await;
    } else {
        until_waiting(&bus, &inbox, 0).await;
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    }
    seen.let_pass();
    seen.until(9).await;
    assert_eq!(seen.numbers(), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
}

on_every_bus!(closing_keeps_the_order_of_what_was_not_begun);
async fn closing_keeps_the_order_of_what_was_not_begun(backend: &Backend) {
    let bus = backend.bus().await;
    let inbox = queue("agent.reopened");
    let first = Seen::gated();
    let options = ConsumeOptions { prefetch: 20, ..ConsumeOptions::default() };
    let consumer = first.consume_with(&bus, &inbox, options).await;
    publish(&bus, &inbox, 0..10).await;
    first.until(1).await;
    first.let_pass();
    consumer.close().await;
    let begun = first.all().len() as u64;
    let second = Seen::open();
    let _consumer = second.consume(&bus, &inbox).await;
    second.until(10 - begun as usize).await;
    assert_eq!(second.numbers(), (begun..10).collect::<Vec<_>>());
}

on_every_bus!(x58_classes_are_ordered_at_prefetch_one);
/// X58: critical before low with the smallest prefetch, too.
async fn x58_classes_are_ordered_at_prefetch_one(backend: &Backend) {
    let bus = backend.bus().await;
    let inbox = queue("agent.busy");
    let seen = Seen::gated();
    let _consumer = seen.consume(&bus, &inbox).await;
    publish(&bus, &inbox, [0]).await;
    seen.until(1).await;
    for number in [4, 5, 6] {
        let one = ostler_bus::Envelope { priority: Priority::Low, ..envelope(number) };
        bus.publish(&inbox, Arc::new(one)).await.unwrap();
    }
    for number in [1, 2, 3] {
        let one = ostler_bus::Envelope { priority: Priority::Critical, ..envelope(number) };
        bus.publish(&inbox, Arc::new(one)).await.unwrap();
    }
    if *backend != Backend::Memory {
        let handed_out = async || bus.depth(&inbox).await.unwrap().waiting == [1, 0, 0, 1];
        eventually("two of each class to be handed out", handed_out).await;
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    }
    // One by one, so that the next of a class is there before it is chosen.
    for count in 2..=7 {
        seen.gate.add_permits(1);
        seen.until(count).await;
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    seen.let_pass();
    let numbers = seen.numbers();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6]);
}
