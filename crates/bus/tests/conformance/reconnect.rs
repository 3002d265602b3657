//! Connections that are cut, stall, or cannot be had for a while.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{
    BusError, ConsumeOptions, Delivery, Limits, RabbitBus, RabbitOptions, Selection, Verdict,
};
use serde_json::json;

use crate::kit::{Bus, LONG, dead, eventually, prefix};
use crate::proxy::Proxy;
use crate::world::{Seen, broker, envelope, failure, number, publish, queue, until_waiting};

/// A bus through a proxy, and one straight to the broker with the same queues.
async fn world(patience: Duration) -> (Proxy, Bus, Bus) {
    let proxy = Proxy::to(&broker()).await;
    let limits = Limits { publish_patience: patience, ..Limits::default() };
    let options = RabbitOptions {
        prefix: prefix(),
        limits,
        answer_patience: Duration::from_secs(2),
        heartbeat_secs: 2,
        first_wait: Duration::from_millis(5),
        longest_wait: Duration::from_millis(100),
        ..RabbitOptions::default()
    };
    let through = connect(&proxy.url, &options).await;
    let straight = connect(&broker(), &options).await;
    (proxy, through, straight)
}

/// Connects, as often as it takes: an impatient bus gives up on a busy machine.
async fn connect(address: &str, options: &RabbitOptions) -> Bus {
    let connecting = async {
        loop {
            if let Ok(bus) = RabbitBus::connect(address, options.clone()).await {
                return Arc::new(bus);
            }
        }
    };
    tokio::time::timeout(LONG, connecting).await.expect("the broker answers")
}

/// The first time that each number was seen, in order.
fn firsts(numbers: &[u64]) -> Vec<u64> {
    let mut seen = BTreeSet::new();
    numbers.iter().copied().filter(|number| seen.insert(*number)).collect()
}

/// Cuts the way a few times while something goes on.
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
/// that were confirmed are handled, in order, and a repeat has the same id.
#[tokio::test(flavor = "multi_thread")]
async fn x28_no_confirmed_message_is_lost_when_connections_are_cut() {
    let (proxy, bus, _) = world(LONG).await;
    let inbox = queue("agent.cut");
    let seen = Seen::open();
    let options = ConsumeOptions { prefetch: 10, ..ConsumeOptions::default() };
    let consumer = seen.consume_with(&bus, &inbox, options).await;
    cutting(&proxy, 10, publish(&bus, &inbox, 0..300)).await;
    let all = async || firsts(&seen.numbers()).len() == 300;
    eventually("all messages", all).await;
    consumer.close().await;
    assert_eq!(firsts(&seen.numbers()), (0..300).collect::<Vec<_>>());
    let ids: BTreeSet<_> = seen.all().iter().map(|one| one.envelope.message.id).collect();
    assert_eq!(ids.len(), 300, "a repeat has the same id");
    until_waiting(&bus, &inbox, 0).await;
}

/// Only publishing is straight: the consumer alone loses its connection, and
/// what it settled it does not handle again.
#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_comes_back_by_itself_and_repeats_nothing_it_settled() {
    let (proxy, bus, straight) = world(LONG).await;
    let inbox = queue("agent.cut");
    let seen = Seen::open();
    let options = ConsumeOptions { concurrency: 4, prefetch: 20, accepts: None };
    let consumer = seen.consume_with(&bus, &inbox, options).await;
    cutting(&proxy, 10, publish(&straight, &inbox, 0..300)).await;
    seen.until(300).await;
    until_waiting(&straight, &inbox, 0).await;
    consumer.close().await;
    assert_eq!(seen.sorted(), (0..300).collect::<Vec<_>>());
}

/// What is in work when the connection is lost is not begun a second time, and
/// its outcome counts for the copy that comes again.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_in_work_outlives_its_connection() {
    let (proxy, bus, straight) = world(LONG).await;
    let inbox = queue("agent.long");
    let seen = Seen::gated();
    let consumer = seen.consume(&bus, &inbox).await;
    publish(&straight, &inbox, [1, 2]).await;
    seen.until(1).await;
    proxy.cut();
    let back = async || straight.depth(&inbox).await.unwrap().consumers == 1;
    eventually("the consumer to be back", back).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(seen.numbers(), [1]);
    seen.let_pass();
    seen.until(2).await;
    consumer.close().await;
    assert_eq!(seen.numbers(), [1, 2]);
    until_waiting(&straight, &inbox, 0).await;
}

/// Another process takes over what was in work: marked, with the same id.
#[tokio::test(flavor = "multi_thread")]
async fn another_consumer_gets_what_a_dead_one_had() {
    let (proxy, bus, straight) = world(LONG).await;
    let inbox = queue("agent.dies");
    let dies = Seen::gated();
    let _consumer = dies.consume(&bus, &inbox).await;
    publish(&straight, &inbox, [1]).await;
    dies.until(1).await;
    proxy.shut();
    let heir = Seen::open();
    let _heir = heir.consume(&straight, &inbox).await;
    heir.until(1).await;
    let (first, second) = (&dies.all()[0], &heir.all()[0]);
    assert_eq!(first.envelope.message.id, second.envelope.message.id);
    assert_eq!((first.redelivered, second.redelivered, second.attempt), (false, true, 2));
}

/// The broker is away for a while: patient publishers wait, impatient ones are
/// told, and consumers come back.
#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_away_is_waited_for_within_a_bound() {
    let (proxy, bus, _) = world(LONG).await;
    let (hasty_way, hasty, _) = world(Duration::from_millis(300)).await;
    let inbox = queue("agent.away");
    let seen = Seen::open();
    let _consumer = seen.consume(&bus, &inbox).await;
    publish(&bus, &inbox, [1]).await;
    seen.until(1).await;
    proxy.shut();
    hasty_way.shut();
    let refused = hasty.publish(&inbox, Arc::new(envelope(9))).await;
    assert!(matches!(refused, Err(BusError::Unavailable { .. })), "{refused:?}");
    let waits = {
        let (bus, inbox) = (Arc::clone(&bus), inbox.clone());
        tokio::spawn(async move { publish(&bus, &inbox, [2, 3]).await })
    };
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(!waits.is_finished());
    proxy.open();
    hasty_way.open();
    waits.await.unwrap();
    seen.until(3).await;
    assert_eq!(firsts(&seen.numbers()), [1, 2, 3]);
    let again = async || hasty.publish(&queue("agent.hasty"), Arc::new(envelope(1))).await.is_ok();
    eventually("the hasty bus to be back", again).await;
}

/// A connection over which nothing comes any more is given up.
#[tokio::test(flavor = "multi_thread")]
async fn a_stalled_connection_is_replaced() {
    let (proxy, bus, straight) = world(LONG).await;
    let inbox = queue("agent.stalled");
    let seen = Seen::open();
    let _consumer = seen.consume(&bus, &inbox).await;
    publish(&bus, &inbox, [1]).await;
    seen.until(1).await;
    proxy.stall();
    let waits = {
        let (bus, inbox) = (Arc::clone(&bus), inbox.clone());
        tokio::spawn(async move { publish(&bus, &inbox, [2]).await })
    };
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(!waits.is_finished());
    // The old connection stays silent; a new one is let through.
    proxy.cut();
    waits.await.unwrap();
    publish(&straight, &inbox, [3]).await;
    eventually("the rest", async || firsts(&seen.numbers()).len() == 3).await;
    assert_eq!(firsts(&seen.numbers()), [1, 2, 3]);
}

/// X28: what fails while connections are cut is a dead letter in the end, once
/// or, repeated, with the same id.
#[tokio::test(flavor = "multi_thread")]
async fn x28_dead_letters_are_not_lost_when_connections_are_cut() {
    let (proxy, bus, straight) = world(LONG).await;
    let inbox = queue("agent.fails");
    let seen = Seen::judging(|one| match number(one) % 2 {
        0 => Verdict::Done,
        _ => Verdict::Dead(failure("odd")),
    });
    let consumer = seen.consume(&bus, &inbox).await;
    cutting(&proxy, 8, publish(&straight, &inbox, 0..100)).await;
    until_waiting(&straight, &inbox, 0).await;
    eventually("all", async || firsts(&seen.numbers()).len() == 100).await;
    consumer.close().await;
    until_waiting(&straight, &inbox, 0).await;
    dead(&straight, 50).await;
    let letters = straight.dead_letters(Selection::All, 1000).await.unwrap();
    let ids: BTreeSet<_> = letters.iter().map(|one| one.id).collect();
    let odd: BTreeSet<_> = seen
        .all()
        .iter()
        .filter(|one| number(one) % 2 == 1)
        .map(|one| one.envelope.message.id)
        .collect();
    assert_eq!(ids, odd);
}

/// A request whose reply was on its way when the connection was lost gets it.
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_outlives_the_connection_of_the_asker() {
    let (proxy, bus, straight) = world(LONG).await;
    let name = queue("agent.slow");
    let replies = Arc::clone(&straight);
    let handler = move |delivery: Delivery| {
        let bus = Arc::clone(&replies);
        async move {
            tokio::time::sleep(Duration::from_millis(300)).await;
            let to = delivery.envelope.context.reply_to.clone().unwrap();
            let reply = delivery.envelope.reply("slowly", json!(number(&delivery)));
            bus.publish(&to, Arc::new(reply)).await.unwrap();
            Verdict::Done
        }
    };
    let options = ConsumeOptions::default();
    let _consumer = straight.consume(&name, options, Arc::new(handler)).await.unwrap();
    let asking = bus.request(&name, envelope(7), LONG);
    let cut = async {
        tokio::time::sleep(Duration::from_millis(150)).await;
        proxy.cut();
    };
    let (reply, ()) = tokio::join!(asking, cut);
    assert_eq!(*reply.unwrap().message.payload, json!(7));
}

/// Members stay members, and broadcasts reach them, over a lost connection.
#[tokio::test(flavor = "multi_thread")]
async fn a_team_outlives_a_connection() {
    let (proxy, bus, straight) = world(LONG).await;
    let team = "crew".parse().unwrap();
    let seen = Seen::open();
    let mut consumers = Vec::new();
    for name in ["a", "b"] {
        bus.join(&team, &name.parse().unwrap()).await.unwrap();
        consumers.push(seen.consume(&bus, &queue(&format!("agent.{name}"))).await);
    }
    proxy.cut();
    straight.broadcast(&team, Arc::new(envelope(1))).await.unwrap();
    bus.broadcast(&team, Arc::new(envelope(2))).await.unwrap();
    eventually("both to both", async || seen.all().len() >= 4).await;
    assert_eq!(BTreeSet::from_iter(seen.numbers()), [1, 2].into());
}
