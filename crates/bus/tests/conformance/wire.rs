//! What only a broker can be given, and what it is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lapin::options::{
    BasicGetOptions, BasicPublishOptions, ConfirmSelectOptions, ExchangeDeclareOptions,
    QueueDeclareOptions,
};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties, ExchangeKind};
use ostler_bus::{BusError, ConsumeOptions, Limits, RabbitBus, RabbitOptions, Selection, Verdict};
use ostler_domain::dispatch::failure::FailureClass;
use tokio::sync::Semaphore;

use crate::kit::{Backend, Bus, dead, prefix};
use crate::world::{Seen, broker, envelope, failure, number, publish, queue, until_waiting};

/// A bus, and a bare channel beside it.
async fn world(limits: Limits) -> (Bus, String, Connection, Channel) {
    let options = RabbitOptions { prefix: prefix(), limits, ..RabbitOptions::default() };
    let prefix = options.prefix.clone();
    let bus = RabbitBus::connect(&broker(), options).await.unwrap();
    let properties = ConnectionProperties::default();
    let connection = Connection::connect(&broker(), properties).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
    (Arc::new(bus), prefix, connection, channel)
}

/// X28: a body that cannot be read, no type, another type, a newer version:
/// each is a dead letter that says so, and stays one when it is replayed.
#[tokio::test(flavor = "multi_thread")]
async fn x28_what_cannot_be_read_is_a_dead_letter() {
    let (bus, prefix, _connection, channel) = world(Limits::default()).await;
    let inbox = queue("agent.reads");
    let seen = Seen::open();
    let _consumer = seen.consume(&bus, &inbox).await;
    let good = serde_json::to_string(&envelope(1)).unwrap();
    let newer = good.replace("\"v\":1", "\"v\":2");
    let typed = |kind: &str| BasicProperties::default().with_type(kind.into());
    let table = [
        ("{\"v\":", typed("work"), "cannot be read"),
        ("\u{0}\u{1}", typed("work"), "cannot be read"),
        (&newer, typed("work"), "version 2"),
        (&good, BasicProperties::default(), "does not name its type"),
        (&good, typed("play"), "`play`"),
    ];
    for (body, properties, _) in &table {
        let (options, key) = (BasicPublishOptions::default(), format!("{prefix}agent.reads"));
        let body = body.as_bytes();
        let sent = channel.basic_publish("".into(), key.into(), options, body, properties.clone());
        assert!(sent.await.unwrap().await.unwrap().is_ack());
    }
    let letters = dead(&bus, table.len()).await;
    for ((body, _, reason), letter) in table.iter().zip(&letters) {
        assert!(letter.death.reason.contains(reason), "{body}: {:?}", letter.death);
        assert_eq!(letter.death.class, FailureClass::Data);
        assert_eq!(letter.death.queue, inbox);
        assert_eq!(letter.envelope.is_none(), letter.body.as_deref() == Some(body));
    }
    assert!(seen.all().is_empty());
    let unreadable = Selection::One { queue: inbox.clone(), id: letters[0].id };
    assert_eq!(bus.replay(unreadable.clone()).await, Ok(0));
    assert_eq!(bus.purge(unreadable).await, Ok(1));
    publish(&bus, &inbox, [7]).await;
    seen.until(1).await;
}

/// X28: whoever dies with a message again and again does not get it for ever.
#[tokio::test(flavor = "multi_thread")]
async fn x28_the_broker_gives_up_what_kills_its_consumers() {
    let limits = Limits { attempts: 3, ..Limits::default() };
    let (bus, prefix, connection, _) = world(limits).await;
    let inbox = queue("agent.poison");
    publish(&bus, &inbox, [1]).await;
    for _ in 0..3 {
        until_waiting(&bus, &inbox, 1).await;
        let channel = connection.create_channel().await.unwrap();
        let name = format!("{prefix}agent.poison");
        let got = channel.basic_get(name.into(), BasicGetOptions::default()).await.unwrap();
        assert!(got.is_some());
        channel.close(200, "died".into()).await.unwrap();
    }
    let letters = dead(&bus, 1).await;
    assert_eq!(letters[0].death.class, FailureClass::Infrastructure);
    assert_eq!(letters[0].death.queue, inbox);
    assert!(letters[0].death.reason.contains("delivery_limit"), "{:?}", letters[0].death);
    assert_eq!(bus.replay(Selection::All).await, Ok(1));
    until_waiting(&bus, &inbox, 1).await;
}

/// X35: `team.{id}` is a fanout exchange; X01: `agent.{id}` is a queue.
#[tokio::test(flavor = "multi_thread")]
async fn x35_x01_the_broker_has_the_names_one_expects() {
    let (bus, prefix, _connection, channel) = world(Limits::default()).await;
    bus.join(&"crew".parse().unwrap(), &"a".parse().unwrap()).await.unwrap();
    let passive = ExchangeDeclareOptions { passive: true, ..ExchangeDeclareOptions::default() };
    let (team, none) = (format!("{prefix}team.crew"), FieldTable::default());
    channel.exchange_declare(team.into(), ExchangeKind::Fanout, passive, none).await.unwrap();
    let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
    for name in ["agent.a", "agent.a:critical", "agent.a:high", "agent.a:low"] {
        let (name, none) = (format!("{prefix}{name}"), FieldTable::default());
        channel.queue_declare(name.into(), passive, none).await.unwrap();
    }
}

/// A queue that exists with other settings is an error that names it, and
/// disturbs nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn a_queue_with_other_settings_is_refused_by_name() {
    let (bus, prefix, _connection, channel) = world(Limits::default()).await;
    let seen = Seen::open();
    let _consumer = seen.consume(&bus, &queue("agent.good")).await;
    let (name, none) = (format!("{prefix}agent.odd"), FieldTable::default());
    channel.queue_declare(name.into(), QueueDeclareOptions::durable(), none).await.unwrap();
    let refused = bus.publish(&queue("agent.odd"), Arc::new(envelope(1))).await;
    assert!(matches!(&refused, Err(BusError::Topology { .. })), "{refused:?}");
    publish(&bus, &queue("agent.good"), [1]).await;
    seen.until(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_too_large_is_refused() {
    let limits = Limits { message_bytes: 100, ..Limits::default() };
    let (bus, ..) = world(limits).await;
    let refused = bus.publish(&queue("agent.a"), Arc::new(envelope(1))).await;
    assert!(matches!(refused, Err(BusError::TooLarge { limit: 100, .. })), "{refused:?}");
}

/// An error never repeats the address: it has a password.
#[tokio::test(flavor = "multi_thread")]
async fn a_bad_address_is_not_repeated() {
    for address in ["http://user:secret@host", "amqp//secret", ""] {
        let refused = RabbitBus::connect(address, RabbitOptions::default()).await.err();
        assert_eq!(refused, Some(BusError::Address));
    }
}

/// X10: a dead letter that was put back is handled, also by the consumer that
/// once buried it and gets it from another that gave it back.
#[tokio::test(flavor = "multi_thread")]
async fn x10_what_was_put_back_is_not_taken_for_what_was_settled_on_rabbitmq() {
    let bus = Backend::rabbitmq().bus().await;
    let inbox = queue("agent.again");
    let one_by_one = || ConsumeOptions { concurrency: 1, prefetch: 1, accepts: None };
    let buried = AtomicBool::new(false);
    let first = Seen::judging(move |delivery| {
        if number(delivery) == 1 && !buried.swap(true, Ordering::Relaxed) {
            Verdict::Dead(failure("not the first time"))
        } else {
            Verdict::Done
        }
    });
    let _first = first.consume_with(&bus, &inbox, one_by_one()).await;
    publish(&bus, &inbox, [1]).await;
    dead(&bus, 1).await;

    // Now the first is full, and the second holds what was put back.
    first.gate.forget_permits(Semaphore::MAX_PERMITS);
    publish(&bus, &inbox, [2, 3]).await;
    until_waiting(&bus, &inbox, 0).await;
    let second = Seen::gated();
    let leaving = second.consume_with(&bus, &inbox, one_by_one()).await;
    publish(&bus, &inbox, [4]).await;
    second.until(1).await;
    assert_eq!(bus.replay(Selection::All).await.unwrap(), 1);
    until_waiting(&bus, &inbox, 0).await;
    tokio::join!(leaving.close(), async {
        until_waiting(&bus, &inbox, 1).await;
        second.let_pass();
        first.let_pass();
    });
    first.until(4).await;
    assert_eq!((first.numbers(), second.numbers()), (vec![1, 2, 3, 1], vec![4]));
}
