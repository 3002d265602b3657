//! Publishing, consuming, stopping.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use ostler_bus::{BusError, ConsumeOptions, Verdict};

use crate::kit::{Backend, dead, eventually, on_every_bus};
use crate::world::{Seen, envelope, failure, publish, queue, until_waiting};

on_every_bus!(x27_messages_wait_for_a_consumer);
/// X27: what is published before anybody consumes is delivered later, in
/// order, and exactly as it was sent (X06).
async fn x27_messages_wait_for_a_consumer(backend: &Backend) {
    let bus = backend.bus().await;
    let inbox = queue("agent.late");
    let sent: Vec<_> = (0..20).map(|number| Arc::new(envelope(number))).collect();
    for envelope in &sent {
        bus.publish(&inbox, Arc::clone(envelope)).await.unwrap();
    }
    until_waiting(&bus, &inbox, 20).await;
    let seen = Seen::open();
    let consumer = seen.consume(&bus, &inbox).await;
    seen.until(20).await;
    let got: Vec<_> = seen.all().into_iter().map(|delivery| delivery.envelope).collect();
    assert_eq!(got, sent);
    assert!(seen.all().iter().all(|one| one.attempt == 1 && !one.redelivered));
    consumer.close().await;
}

on_every_bus!(x03_x25_closing_stops_only_its_own_consumer);
/// X03, X25: a closed consumer takes nothing more, others go on, and closing
/// again does no harm.
async fn x03_x25_closing_stops_only_its_own_consumer(backend: &Backend) {
    let bus = backend.bus().await;
    let (a, b) = (queue("agent.a"), queue("agent.b"));
    let (seen_a, seen_b) = (Seen::open(), Seen::open());
    let consumer_a = seen_a.consume(&bus, &a).await;
    let _consumer_b = seen_b.consume(&bus, &b).await;
    publish(&bus, &a, [1]).await;
    seen_a.until(1).await;
    consumer_a.close().await;
    consumer_a.close().await;
    publish(&bus, &a, [2]).await;
    publish(&bus, &b, [3]).await;
    seen_b.until(1).await;
    until_waiting(&bus, &a, 1).await;
    assert_eq!((seen_a.numbers(), seen_b.numbers()), (vec![1], vec![3]));
    assert_eq!(bus.depth(&a).await.unwrap().consumers, 0);
    let again = Seen::open();
    let _consumer = again.consume(&bus, &a).await;
    again.until(1).await;
    assert_eq!(again.numbers(), [2]);
}

on_every_bus!(x05_closing_waits_for_what_is_in_work);
/// X05: close returns after the handler that had begun, also when it is called
/// twice at once; what had not begun stays in the queue.
async fn x05_closing_waits_for_what_is_in_work(backend: &Backend) {
    let bus = backend.bus().await;
    let inbox = queue("agent.slow");
    let seen = Seen::gated();
    let consumer = seen.consume(&bus, &inbox).await;
    publish(&bus, &inbox, [1, 2]).await;
    seen.until(1).await;
    let mut closing = Box::pin(async { tokio::join!(consumer.close(), consumer.close()) });
    let early = tokio::time::timeout(Duration::from_millis(200), &mut closing).await;
    assert!(early.is_err(), "the handler still works");
    seen.let_pass();
    closing.await;
    assert_eq!(seen.numbers(), [1]);
    until_waiting(&bus, &inbox, 1).await;
}

on_every_bus!(a_close_that_is_cancelled_can_be_repeated);
async fn a_close_that_is_cancelled_can_be_repeated(backend: &Backend) {
    let bus = backend.bus().await;
    let inbox = queue("agent.slow");
    let seen = Seen::gated();
    let consumer = seen.consume(&bus, &inbox).await;
    publish(&bus, &inbox, [1]).await;
    seen.until(1).await;
    let cancelled = consumer.close().now_or_never();
    assert!(cancelled.is_none());
    seen.let_pass();
    consumer.close().await;
    assert_eq!(bus.depth(&inbox).await.unwrap().total(), 0);
}

on_every_bus!(dropping_the_handle_stops_the_consumer);
async fn dropping_the_handle_stops_the_consumer(backend: &Backend) {
    let bus = backend.bus().await;
    let inbox = queue("agent.dropped");
    let seen = Seen::open();
    drop(seen.consume(&bus, &inbox).await);
    let gone = async || bus.depth(&inbox).await.unwrap().consumers == 0;
    eventually("the consumer to be gone", gone).await;
    publish(&bus, &inbox, [1]).await;
    until_waiting(&bus, &inbox, 1).await;
    assert!(seen.all().is_empty());
}

on_every_bus!(x26_stop_all_stops_every_consumer);
/// X26: all consumers stop, after what they had in work.
async fn x26_stop_all_stops_every_consumer(backend: &Backend) {
    let bus = backend.bus().await;
    let queues = ["agent.a", "agent.b", "agent.c"].map(queue);
    let seen = Seen::gated();
    let mut consumers = Vec::new();
    for name in &queues {
        consumers.push(seen.consume(&bus, name).await);
        publish(&bus, name, [1]).await;
    }
    seen.until(3).await;
    let mut stopping = bus.stop_all();
    let early = tokio::time::timeout(Duration::from_millis(200), &mut stopping).await;
    assert!(early.is_err(), "handlers still work");
    seen.let_pass();
    stopping.await;
    for name in &queues {
        publish(&bus, name, [2]).await;
        until_waiting(&bus, name, 1).await;
    }
    assert_eq!(seen.numbers(), [1; 3]);
    for consumer in consumers {
        consumer.close().await;
    }
}

on_every_bus!(a_closed_bus_says_so);
async fn a_closed_bus_says_so(backend: &Backend) {
    let bus = backend.bus().await;
    let inbox = queue("agent.a");
    let seen = Seen::open();
    let consumer = seen.consume(&bus, &inbox).await;
    bus.close().await;
    bus.close().await;
    let refused = bus.publish(&inbox, Arc::new(envelope(1))).await;
    assert_eq!(refused, Err(BusError::Closed));
    consumer.close().await;
}

on_every_bus!(several_are_handled_at_once_and_no_more);
async fn several_are_handled_at_once_and_no_more(backend: &Backend) {
    let bus = backend.bus().await;
    let inbox = queue("agent.wide");
    let seen = Seen::gated();
    let options = ConsumeOptions { concurrency: 3, prefetch: 5, accepts: None };
    let consumer = seen.consume_with(&bus, &inbox, options).await;
    publish(&bus, &inbox, 0..10).await;
    seen.until(3).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(seen.sorted(), [0, 1, 2]);
    seen.let_pass();
    seen.until(10).await;
    consumer.close().await;
    assert_eq!(seen.sorted(), (0..10).collect::<Vec<_>>());
}

on_every_bus!(again_repeats_the_same_message_and_counts);
/// A repeat has the same id, is marked, and comes before what is behind it.
async fn again_repeats_the_same_message_and_counts(backend: &Backend) {
    let bus = backend.bus().await;
    let inbox = queue("agent.again");
    publish(&bus, &inbox, [1, 2]).await;
    let seen = Seen::judging(|delivery| match delivery.attempt {
        1 | 2 => Verdict::Again(failure("not yet")),
        _ => Verdict::Done,
    });
    let _consumer = seen.consume(&bus, &inbox).await;
    seen.until(6).await;
    let all = seen.all();
    let attempts: Vec<_> = all.iter().map(|one| (one.attempt, one.redelivered)).collect();
    assert_eq!(attempts[..3], [(1, false), (2, true), (3, true)]);
    assert_eq!(seen.numbers(), [1, 1, 1, 2, 2, 2]);
    assert!(all[..3].iter().all(|one| one.envelope.message.id == all[0].envelope.message.id));
    assert!(dead(&bus, 0).await.is_empty());
}
