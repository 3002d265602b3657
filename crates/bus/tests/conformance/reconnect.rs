//! Lost, stalled and refused connections.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{
    BusError, ConsumeOptions, DeadLetterFilter, Delivery, Disposition, QueueLimits, RabbitBus,
    RabbitOptions,
};
use serde_json::json;

use crate::kit::{Bus, TEST_TIMEOUT, eventually, prefix, wait_for_dead_letters};
use crate::proxy::Proxy;
use crate::support::{
    RecordingHandler, broker, envelope, failure, number, publish, queue, wait_for_depth,
};

/// Returns a bus through a proxy, and delivery connected directly with the same
/// queues.
async fn connect_both(timeout: Duration) -> (Proxy, Bus, Bus) {
    let proxy = Proxy::start(&broker()).await;
    let limits = QueueLimits { publish_timeout: timeout, ..QueueLimits::default() };
    let options = RabbitOptions {
        prefix: prefix(),
        limits,
        broker_timeout: Duration::from_secs(2),
        heartbeat_secs: 2,
        reconnect_min_delay: Duration::from_millis(5),
        reconnect_max_delay: Duration::from_millis(100),
        ..RabbitOptions::default()
    };
    let through = connect(&proxy.url, &options).await;
    let direct = connect(&broker(), &options).await;
    (proxy, through, direct)
}

/// Retries, because a bus with short timeouts may fail on a busy machine.
async fn connect(address: &str, options: &RabbitOptions) -> Bus {
    let connecting = async {
        loop {
            if let Ok(bus) = RabbitBus::connect(address, options.clone()).await {
                return Arc::new(bus);
            }
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, connecting).await.expect("the broker answers")
}

/// Returns the numbers in the order of their first occurrence.
fn firsts(numbers: &[u64]) -> Vec<u64> {
    let mut seen = BTreeSet::new();
    numbers.iter().copied().filter(|number| seen.insert(*number)).collect()
}

/// Cuts the connections several times while `work` runs.
async fn cutting<T>(proxy: &Proxy, times: u32, work: impl Future<Output = T>) -> T {
    let cuts = async {
        for _ in 0..times {
            tokio::time::sleep(Duration::from_millis(60)).await;
            proxy.cut();
        }
    };
    tokio::join!(work, cuts).0
}

/// X28: connections are cut while messages are published and consumed: all
/// confirmed messages are handled in order, and a repeat keeps its id.
#[tokio::test(flavor = "multi_thread")]
async fn x28_no_confirmed_message_is_lost_when_connections_are_cut() {
    let (proxy, bus, _) = connect_both(TEST_TIMEOUT).await;
    let inbox = queue("agent.cut");
    let seen = RecordingHandler::open();
    let options = ConsumeOptions { prefetch: 10, ..ConsumeOptions::default() };
    let consumer = seen.consume_with(&bus, &inbox, options).await;
    cutting(&proxy, 10, publish(&bus, &inbox, 0..300)).await;
    let all = async || firsts(&seen.numbers()).len() == 300;
    eventually("all messages", all).await;
    consumer.close().await;
    assert_eq!(firsts(&seen.numbers()), (0..300).collect::<Vec<_>>());
    let ids: BTreeSet<_> =
        seen.deliveries().iter().map(|delivery| delivery.envelope.message.id).collect();
    assert_eq!(ids.len(), 300, "a repeat has the same id");
    wait_for_depth(&bus, &inbox, 0).await;
}

/// Only the consumer loses its connection; it does not handle settled messages
/// again.
#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_reconnects_and_repeats_no_settled_message() {
    let (proxy, bus, direct) = connect_both(TEST_TIMEOUT).await;
    let inbox = queue("agent.cut");
    let seen = RecordingHandler::open();
    let options = ConsumeOptions { concurrency: 4, prefetch: 20, accepts: None };
    let consumer = seen.consume_with(&bus, &inbox, options).await;
    cutting(&proxy, 10, publish(&direct, &inbox, 0..300)).await;
    seen.wait_for(300).await;
    wait_for_depth(&direct, &inbox, 0).await;
    consumer.close().await;
    assert_eq!(seen.sorted(), (0..300).collect::<Vec<_>>());
}

/// A handler that runs while the connection is lost is not started again; its
/// result counts for the redelivered message.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_in_progress_survives_a_lost_connection() {
    let (proxy, bus, direct) = connect_both(TEST_TIMEOUT).await;
    let inbox = queue("agent.long");
    let seen = RecordingHandler::gated();
    let consumer = seen.consume(&bus, &inbox).await;
    publish(&direct, &inbox, [1, 2]).await;
    seen.wait_for(1).await;
    proxy.cut();
    let back = async || direct.depth(&inbox).await.unwrap().consumers == 1;
    eventually("the consumer to be back", back).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(seen.numbers(), [1]);
    seen.open_gate();
    seen.wait_for(2).await;
    consumer.close().await;
    assert_eq!(seen.numbers(), [1, 2]);
    wait_for_depth(&direct, &inbox, 0).await;
}

/// The redelivered message is marked and keeps its id.
#[tokio::test(flavor = "multi_thread")]
async fn another_consumer_gets_the_messages_of_a_disconnected_one() {
    let (proxy, bus, direct) = connect_both(TEST_TIMEOUT).await;
    let inbox = queue("agent.disconnected");
    let disconnected = RecordingHandler::gated();
    let _consumer = disconnected.consume(&bus, &inbox).await;
    publish(&direct, &inbox, [1]).await;
    disconnected.wait_for(1).await;
    proxy.shut();
    let successor = RecordingHandler::open();
    let _successor = successor.consume(&direct, &inbox).await;
    successor.wait_for(1).await;
    let (first, second) = (&disconnected.deliveries()[0], &successor.deliveries()[0]);
    assert_eq!(first.envelope.message.id, second.envelope.message.id);
    assert_eq!((first.redelivered, second.redelivered, second.attempt), (false, true, 2));
}

/// Patient publishers wait, impatient ones get an error, and consumers
/// reconnect.
#[tokio::test(flavor = "multi_thread")]
async fn publishing_waits_for_an_unreachable_broker_until_the_timeout() {
    let (proxy, bus, _) = connect_both(TEST_TIMEOUT).await;
    let (impatient_proxy, impatient, _) = connect_both(Duration::from_millis(300)).await;
    let inbox = queue("agent.away");
    let seen = RecordingHandler::open();
    let _consumer = seen.consume(&bus, &inbox).await;
    publish(&bus, &inbox, [1]).await;
    seen.wait_for(1).await;
    proxy.shut();
    impatient_proxy.shut();
    let refused = impatient.publish(&inbox, Arc::new(envelope(9))).await;
    assert!(matches!(refused, Err(BusError::Unavailable { .. })), "{refused:?}");
    let publishing = {
        let (bus, inbox) = (Arc::clone(&bus), inbox.clone());
        tokio::spawn(async move { publish(&bus, &inbox, [2, 3]).await })
    };
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(!publishing.is_finished());
    proxy.open();
    impatient_proxy.open();
    publishing.await.unwrap();
    seen.wait_for(3).await;
    assert_eq!(firsts(&seen.numbers()), [1, 2, 3]);
    let again =
        async || impatient.publish(&queue("agent.impatient"), Arc::new(envelope(1))).await.is_ok();
    eventually("the impatient bus to be back", again).await;
}

/// A connection that stays open but does not answer is replaced.
#[tokio::test(flavor = "multi_thread")]
async fn a_stalled_connection_is_replaced() {
    let (proxy, bus, direct) = connect_both(TEST_TIMEOUT).await;
    let inbox = queue("agent.stalled");
    let seen = RecordingHandler::open();
    let _consumer = seen.consume(&bus, &inbox).await;
    publish(&bus, &inbox, [1]).await;
    seen.wait_for(1).await;
    proxy.stall();
    let publishing = {
        let (bus, inbox) = (Arc::clone(&bus), inbox.clone());
        tokio::spawn(async move { publish(&bus, &inbox, [2]).await })
    };
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(!publishing.is_finished());
    // The old connection stays silent; a new delivery works.
    proxy.cut();
    publishing.await.unwrap();
    publish(&direct, &inbox, [3]).await;
    eventually("the rest", async || firsts(&seen.numbers()).len() == 3).await;
    assert_eq!(firsts(&seen.numbers()), [1, 2, 3]);
}

/// X28: each failed message is a dead letter once, or repeated under the same
/// id.
#[tokio::test(flavor = "multi_thread")]
async fn x28_dead_letters_are_not_lost_when_connections_are_cut() {
    let (proxy, bus, direct) = connect_both(TEST_TIMEOUT).await;
    let inbox = queue("agent.fails");
    let seen = RecordingHandler::returning(|delivery| match number(delivery) % 2 {
        0 => Disposition::Done,
        _ => Disposition::DeadLetter(failure("odd")),
    });
    let consumer = seen.consume(&bus, &inbox).await;
    cutting(&proxy, 8, publish(&direct, &inbox, 0..100)).await;
    wait_for_depth(&direct, &inbox, 0).await;
    eventually("all", async || firsts(&seen.numbers()).len() == 100).await;
    consumer.close().await;
    wait_for_depth(&direct, &inbox, 0).await;
    wait_for_dead_letters(&direct, 50).await;
    let dead_letters = direct.dead_letters(DeadLetterFilter::All, 1000).await.unwrap();
    let ids: BTreeSet<_> = dead_letters.iter().map(|delivery| delivery.id).collect();
    let odd: BTreeSet<_> = seen
        .deliveries()
        .iter()
        .filter(|delivery| number(delivery) % 2 == 1)
        .map(|delivery| delivery.envelope.message.id)
        .collect();
    assert_eq!(ids, odd);
}

/// The reply is published while the requester is disconnected.
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_survives_a_lost_connection_of_the_requester() {
    let (proxy, bus, direct) = connect_both(TEST_TIMEOUT).await;
    let name = queue("agent.slow");
    let replies = Arc::clone(&direct);
    let handler = move |delivery: Delivery| {
        let bus = Arc::clone(&replies);
        async move {
            tokio::time::sleep(Duration::from_millis(300)).await;
            let to = delivery.envelope.context.reply_to.clone().unwrap();
            let reply = delivery.envelope.reply("slowly", json!(number(&delivery)));
            bus.publish(&to, Arc::new(reply)).await.unwrap();
            Disposition::Done
        }
    };
    let options = ConsumeOptions::default();
    let _consumer = direct.consume(&name, options, Arc::new(handler)).await.unwrap();
    let request = bus.request(&name, envelope(7), TEST_TIMEOUT);
    let cut = async {
        tokio::time::sleep(Duration::from_millis(150)).await;
        proxy.cut();
    };
    let (reply, ()) = tokio::join!(request, cut);
    assert_eq!(*reply.unwrap().message.payload, json!(7));
}

/// Members receive broadcasts after their connection was lost.
#[tokio::test(flavor = "multi_thread")]
async fn team_membership_survives_a_lost_connection() {
    let (proxy, bus, direct) = connect_both(TEST_TIMEOUT).await;
    let team = "crew".parse().unwrap();
    let seen = RecordingHandler::open();
    let mut consumers = Vec::new();
    for name in ["a", "b"] {
        bus.join_team(&team, &name.parse().unwrap()).await.unwrap();
        consumers.push(seen.consume(&bus, &queue(&format!("agent.{name}"))).await);
    }
    proxy.cut();
    direct.broadcast(&team, Arc::new(envelope(1))).await.unwrap();
    bus.broadcast(&team, Arc::new(envelope(2))).await.unwrap();
    eventually("both to both", async || seen.deliveries().len() >= 4).await;
    assert_eq!(BTreeSet::from_iter(seen.numbers()), [1, 2].into());
}
