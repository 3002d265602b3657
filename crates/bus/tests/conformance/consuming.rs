//! Publishing, consuming and stopping.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use ostler_bus::{BusError, ConsumeOptions, Disposition};

use crate::kit::{Backend, eventually, on_every_bus, wait_for_dead_letters};
use crate::support::{RecordingHandler, envelope, failure, publish, queue, wait_for_depth};

on_every_bus!(x27_messages_wait_for_a_consumer);
/// X27: messages published before there is a consumer are delivered later, in
/// order and unchanged (X06).
async fn x27_messages_wait_for_a_consumer(backend: &Backend) {
    let bus = backend.bus().await;
    let inbox = queue("agent.late");
    let sent: Vec<_> = (0..20).map(|number| Arc::new(envelope(number))).collect();
    for envelope in &sent {
        bus.publish(&inbox, Arc::clone(envelope)).await.unwrap();
    }
    wait_for_depth(&bus, &inbox, 20).await;
    let seen = RecordingHandler::open();
    let consumer = seen.consume(&bus, &inbox).await;
    seen.wait_for(20).await;
    let got: Vec<_> = seen.deliveries().into_iter().map(|delivery| delivery.envelope).collect();
    assert_eq!(got, sent);
    assert!(
        seen.deliveries().iter().all(|delivery| delivery.attempt == 1 && !delivery.redelivered)
    );
    consumer.close().await;
}

on_every_bus!(x03_x25_closing_stops_only_its_own_consumer);
/// X03, X25: a closed consumer receives nothing more, others continue, and
/// closing twice is allowed.
async fn x03_x25_closing_stops_only_its_own_consumer(backend: &Backend) {
    let bus = backend.bus().await;
    let (a, b) = (queue("agent.a"), queue("agent.b"));
    let (seen_a, seen_b) = (RecordingHandler::open(), RecordingHandler::open());
    let consumer_a = seen_a.consume(&bus, &a).await;
    let _consumer_b = seen_b.consume(&bus, &b).await;
    publish(&bus, &a, [1]).await;
    seen_a.wait_for(1).await;
    consumer_a.close().await;
    consumer_a.close().await;
    publish(&bus, &a, [2]).await;
    publish(&bus, &b, [3]).await;
    seen_b.wait_for(1).await;
    wait_for_depth(&bus, &a, 1).await;
    assert_eq!((seen_a.numbers(), seen_b.numbers()), (vec![1], vec![3]));
    assert_eq!(bus.depth(&a).await.unwrap().consumers, 0);
    let again = RecordingHandler::open();
    let _consumer = again.consume(&bus, &a).await;
    again.wait_for(1).await;
    assert_eq!(again.numbers(), [2]);
}

on_every_bus!(x05_closing_waits_for_messages_in_progress);
/// X05: close returns after the running handler, also when called twice
/// concurrently; messages not started stay in the queue.
async fn x05_closing_waits_for_messages_in_progress(backend: &Backend) {
    let bus = backend.bus().await;
    let inbox = queue("agent.slow");
    let seen = RecordingHandler::gated();
    let consumer = seen.consume(&bus, &inbox).await;
    publish(&bus, &inbox, [1, 2]).await;
    seen.wait_for(1).await;
    let mut closing = Box::pin(async { tokio::join!(consumer.close(), consumer.close()) });
    let early = tokio::time::timeout(Duration::from_millis(200), &mut closing).await;
    assert!(early.is_err(), "the handler still works");
    seen.open_gate();
    closing.await;
    assert_eq!(seen.numbers(), [1]);
    wait_for_depth(&bus, &inbox, 1).await;
}

on_every_bus!(a_close_that_is_cancelled_can_be_repeated);
async fn a_close_that_is_cancelled_can_be_repeated(backend: &Backend) {
    let bus = backend.bus().await;
    let inbox = queue("agent.slow");
    let seen = RecordingHandler::gated();
    let consumer = seen.consume(&bus, &inbox).await;
    publish(&bus, &inbox, [1]).await;
    seen.wait_for(1).await;
    let cancelled = consumer.close().now_or_never();
    assert!(cancelled.is_none());
    seen.open_gate();
    consumer.close().await;
    assert_eq!(bus.depth(&inbox).await.unwrap().total(), 0);
}

on_every_bus!(dropping_the_handle_stops_the_consumer);
async fn dropping_the_handle_stops_the_consumer(backend: &Backend) {
    let bus = backend.bus().await;
    let inbox = queue("agent.dropped");
    let seen = RecordingHandler::open();
    drop(seen.consume(&bus, &inbox).await);
    let gone = async || bus.depth(&inbox).await.unwrap().consumers == 0;
    eventually("the consumer to be gone", gone).await;
    publish(&bus, &inbox, [1]).await;
    wait_for_depth(&bus, &inbox, 1).await;
    assert!(seen.deliveries().is_empty());
}

on_every_bus!(x26_stop_consumers_stops_every_consumer);
/// X26: all consumers stop after their messages in progress.
async fn x26_stop_consumers_stops_every_consumer(backend: &Backend) {
    let bus = backend.bus().await;
    let queues = ["agent.a", "agent.b", "agent.c"].map(queue);
    let seen = RecordingHandler::gated();
    let mut consumers = Vec::new();
    for name in &queues {
        consumers.push(seen.consume(&bus, name).await);
        publish(&bus, name, [1]).await;
    }
    seen.wait_for(3).await;
    let mut stopping = bus.stop_consumers();
    let early = tokio::time::timeout(Duration::from_millis(200), &mut stopping).await;
    assert!(early.is_err(), "handlers still work");
    seen.open_gate();
    stopping.await;
    for name in &queues {
        publish(&bus, name, [2]).await;
        wait_for_depth(&bus, name, 1).await;
    }
    assert_eq!(seen.numbers(), [1; 3]);
    for consumer in consumers {
        consumer.close().await;
    }
}

on_every_bus!(a_closed_bus_rejects_publishing);
async fn a_closed_bus_rejects_publishing(backend: &Backend) {
    let bus = backend.bus().await;
    let inbox = queue("agent.a");
    let seen = RecordingHandler::open();
    let consumer = seen.consume(&bus, &inbox).await;
    bus.close().await;
    bus.close().await;
    let refused = bus.publish(&inbox, Arc::new(envelope(1))).await;
    assert_eq!(refused, Err(BusError::Closed));
    consumer.close().await;
}

on_every_bus!(concurrency_limits_the_messages_handled_at_once);
async fn concurrency_limits_the_messages_handled_at_once(backend: &Backend) {
    let bus = backend.bus().await;
    let inbox = queue("agent.wide");
    let seen = RecordingHandler::gated();
    let options = ConsumeOptions { concurrency: 3, prefetch: 5, accepts: None };
    let consumer = seen.consume_with(&bus, &inbox, options).await;
    publish(&bus, &inbox, 0..10).await;
    seen.wait_for(3).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(seen.sorted(), [0, 1, 2]);
    seen.open_gate();
    seen.wait_for(10).await;
    consumer.close().await;
    assert_eq!(seen.sorted(), (0..10).collect::<Vec<_>>());
}

on_every_bus!(retry_redelivers_the_same_message_and_counts_attempts);
/// A retry keeps the id, is marked as redelivered, and comes before later
/// messages.
async fn retry_redelivers_the_same_message_and_counts_attempts(backend: &Backend) {
    let bus = backend.bus().await;
    let inbox = queue("agent.again");
    publish(&bus, &inbox, [1, 2]).await;
    let seen = RecordingHandler::returning(|delivery| match delivery.attempt {
        1 | 2 => Disposition::Retry(failure("not yet")),
        _ => Disposition::Done,
    });
    let _consumer = seen.consume(&bus, &inbox).await;
    seen.wait_for(6).await;
    let all = seen.deliveries();
    let attempts: Vec<_> =
        all.iter().map(|delivery| (delivery.attempt, delivery.redelivered)).collect();
    assert_eq!(attempts[..3], [(1, false), (2, true), (3, true)]);
    assert_eq!(seen.numbers(), [1, 1, 1, 2, 2, 2]);
    assert!(
        all[..3].iter().all(|delivery| delivery.envelope.message.id == all[0].envelope.message.id)
    );
    assert!(wait_for_dead_letters(&bus, 0).await.is_empty());
}
