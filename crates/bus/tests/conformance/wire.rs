//! Invalid messages and settings that only a broker can have.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lapin::options::{
    BasicGetOptions, BasicPublishOptions, ConfirmSelectOptions, ExchangeDeclareOptions,
    QueueDeclareOptions,
};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties, ExchangeKind};
use ostler_bus::{
    BusError, ConsumeOptions, DeadLetterFilter, Disposition, QueueLimits, RabbitBus, RabbitOptions,
};
use ostler_domain::queue_agent::failure::FailureClass;
use tokio::sync::Semaphore;

use crate::kit::{Backend, Bus, prefix, wait_for_dead_letters};
use crate::support::{
    RecordingHandler, broker, envelope, failure, number, publish, queue, wait_for_depth,
};

/// Returns a bus and a separate plain AMQP channel.
async fn connect(limits: QueueLimits) -> (Bus, String, Connection, Channel) {
    let options = RabbitOptions { prefix: prefix(), limits, ..RabbitOptions::default() };
    let prefix = options.prefix.clone();
    let bus = RabbitBus::connect(&broker(), options).await.unwrap();
    let properties = ConnectionProperties::default();
    let connection = Connection::connect(&broker(), properties).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
    (Arc::new(bus), prefix, connection, channel)
}

/// X28: an unreadable body, a missing or different type, a newer version: each
/// becomes a dead letter with the reason, and cannot be replayed.
#[tokio::test(flavor = "multi_thread")]
async fn x28_an_unreadable_message_becomes_a_dead_letter() {
    let (bus, prefix, _connection, channel) = connect(QueueLimits::default()).await;
    let inbox = queue("agent.reads");
    let seen = RecordingHandler::open();
    let _consumer = seen.consume(&bus, &inbox).await;
    let good = serde_json::to_string(&envelope(1)).unwrap();
    let newer = good.replace("\"v\":1", "\"v\":2");
    let typed = |kind: &str| BasicProperties::default().with_type(kind.into());
    let table = [
        ("{\"v\":", typed("work"), "cannot be read"),
        ("\u{0}\u{1}", typed("work"), "cannot be read"),
        (&newer, typed("work"), "version 2"),
        (&good, BasicProperties::default(), "has no type"),
        (&good, typed("play"), "`play`"),
    ];
    for (body, properties, _) in &table {
        let (options, key) = (BasicPublishOptions::default(), format!("{prefix}agent.reads"));
        let body = body.as_bytes();
        let sent = channel.basic_publish("".into(), key.into(), options, body, properties.clone());
        assert!(sent.await.unwrap().await.unwrap().is_ack());
    }
    let dead_letters = wait_for_dead_letters(&bus, table.len()).await;
    for ((body, _, reason), dead_letter) in table.iter().zip(&dead_letters) {
        assert!(dead_letter.cause.reason.contains(reason), "{body}: {:?}", dead_letter.cause);
        assert_eq!(dead_letter.cause.class, FailureClass::Data);
        assert_eq!(dead_letter.cause.queue, inbox);
        assert_eq!(dead_letter.envelope.is_none(), dead_letter.body.as_deref() == Some(body));
    }
    assert!(seen.deliveries().is_empty());
    let unreadable = DeadLetterFilter::One { queue: inbox.clone(), id: dead_letters[0].id };
    assert_eq!(bus.replay_dead_letters(unreadable.clone()).await, Ok(0));
    assert_eq!(bus.purge_dead_letters(unreadable).await, Ok(1));
    publish(&bus, &inbox, [7]).await;
    seen.wait_for(1).await;
}

/// X28: the broker's delivery limit ends the redeliveries.
#[tokio::test(flavor = "multi_thread")]
async fn x28_a_message_that_kills_its_consumers_becomes_a_dead_letter() {
    let limits = QueueLimits { max_attempts: 3, ..QueueLimits::default() };
    let (bus, prefix, connection, _) = connect(limits).await;
    let inbox = queue("agent.poison");
    publish(&bus, &inbox, [1]).await;
    for _ in 0..3 {
        wait_for_depth(&bus, &inbox, 1).await;
        let channel = connection.create_channel().await.unwrap();
        let name = format!("{prefix}agent.poison");
        let got = channel.basic_get(name.into(), BasicGetOptions::default()).await.unwrap();
        assert!(got.is_some());
        channel.close(200, "died".into()).await.unwrap();
    }
    let dead_letters = wait_for_dead_letters(&bus, 1).await;
    assert_eq!(dead_letters[0].cause.class, FailureClass::Infrastructure);
    assert_eq!(dead_letters[0].cause.queue, inbox);
    assert!(dead_letters[0].cause.reason.contains("delivery_limit"), "{:?}", dead_letters[0].cause);
    assert_eq!(bus.replay_dead_letters(DeadLetterFilter::All).await, Ok(1));
    wait_for_depth(&bus, &inbox, 1).await;
}

/// X35: `team.{id}` is a fanout exchange; X01: `agent.{id}` is a queue.
#[tokio::test(flavor = "multi_thread")]
async fn x35_x01_queues_and_exchanges_have_the_documented_names() {
    let (bus, prefix, _connection, channel) = connect(QueueLimits::default()).await;
    bus.join_team(&"crew".parse().unwrap(), &"a".parse().unwrap()).await.unwrap();
    let passive = ExchangeDeclareOptions { passive: true, ..ExchangeDeclareOptions::default() };
    let (team, none) = (format!("{prefix}team.crew"), FieldTable::default());
    channel.exchange_declare(team.into(), ExchangeKind::Fanout, passive, none).await.unwrap();
    let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
    for name in ["agent.a", "agent.a:critical", "agent.a:high", "agent.a:low"] {
        let (name, none) = (format!("{prefix}{name}"), FieldTable::default());
        channel.queue_declare(name.into(), passive, none).await.unwrap();
    }
}

/// The error names the queue, and other queues still work.
#[tokio::test(flavor = "multi_thread")]
async fn a_queue_with_other_settings_is_refused_by_name() {
    let (bus, prefix, _connection, channel) = connect(QueueLimits::default()).await;
    let seen = RecordingHandler::open();
    let _consumer = seen.consume(&bus, &queue("agent.good")).await;
    let (name, none) = (format!("{prefix}agent.odd"), FieldTable::default());
    channel.queue_declare(name.into(), QueueDeclareOptions::durable(), none).await.unwrap();
    let refused = bus.publish(&queue("agent.odd"), Arc::new(envelope(1))).await;
    assert!(matches!(&refused, Err(BusError::TopologyRefused { .. })), "{refused:?}");
    publish(&bus, &queue("agent.good"), [1]).await;
    seen.wait_for(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_too_large_is_refused() {
    let limits = QueueLimits { message_bytes: 100, ..QueueLimits::default() };
    let (bus, ..) = connect(limits).await;
    let refused = bus.publish(&queue("agent.a"), Arc::new(envelope(1))).await;
    assert!(matches!(refused, Err(BusError::MessageTooLarge { limit: 100, .. })), "{refused:?}");
}

/// The address contains a password.
#[tokio::test(flavor = "multi_thread")]
async fn a_bad_address_is_not_repeated() {
    for address in ["http://user:secret@host", "amqp//secret", ""] {
        let refused = RabbitBus::connect(address, RabbitOptions::default()).await.err();
        assert_eq!(refused, Some(BusError::InvalidAddress));
    }
}

/// X10: also when the consumer that failed it gets it from another consumer
/// that requeued it.
#[tokio::test(flavor = "multi_thread")]
async fn x10_a_replayed_dead_letter_is_not_mistaken_for_a_settled_message_on_rabbitmq() {
    let bus = Backend::rabbitmq().bus().await;
    let inbox = queue("agent.again");
    let sequential = || ConsumeOptions { concurrency: 1, prefetch: 1, accepts: None };
    let failed_once = AtomicBool::new(false);
    let first = RecordingHandler::returning(move |delivery| {
        if number(delivery) == 1 && !failed_once.swap(true, Ordering::Relaxed) {
            Disposition::DeadLetter(failure("not the first time"))
        } else {
            Disposition::Done
        }
    });
    let _first = first.consume_with(&bus, &inbox, sequential()).await;
    publish(&bus, &inbox, [1]).await;
    wait_for_dead_letters(&bus, 1).await;

    // The first consumer is at its limit, so the second gets the replayed
    // message.
    first.gate.forget_permits(Semaphore::MAX_PERMITS);
    publish(&bus, &inbox, [2, 3]).await;
    wait_for_depth(&bus, &inbox, 0).await;
    let second = RecordingHandler::gated();
    let leaving = second.consume_with(&bus, &inbox, sequential()).await;
    publish(&bus, &inbox, [4]).await;
    second.wait_for(1).await;
    assert_eq!(bus.replay_dead_letters(DeadLetterFilter::All).await.unwrap(), 1);
    wait_for_depth(&bus, &inbox, 0).await;
    tokio::join!(leaving.close(), async {
        wait_for_depth(&bus, &inbox, 1).await;
        second.open_gate();
        first.open_gate();
    });
    first.wait_for(4).await;
    assert_eq!((first.numbers(), second.numbers()), (vec![1, 2, 3, 1], vec![4]));
}
