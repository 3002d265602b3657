//! What fails is kept with its reason, and can be put back or deleted.

use std::collections::BTreeSet;
use std::sync::Arc;

use ostler_bus::{ConsumeOptions, Kind, Limits, Selection, Verdict};
use ostler_domain::dispatch::failure::FailureClass;

use crate::kit::{Backend, dead, eventually, on_every_bus};
use crate::world::{Seen, envelope, failure, number, publish, queue, until_waiting};

on_every_bus!(x10_x28_a_failed_message_is_a_dead_letter);
/// X10, X28: the message is kept with reason and attempts, and the next one is
/// handled, also after a panic.
async fn x10_x28_a_failed_message_is_a_dead_letter(backend: &Backend) {
    let bus = backend.bus().await;
    let inbox = queue("agent.fails");
    let seen = Seen::judging(|delivery| match number(delivery) {
        1 => Verdict::Dead(failure("no such customer")),
        2 => panic!("a bug"),
        _ => Verdict::Done,
    });
    let _consumer = seen.consume(&bus, &inbox).await;
    let sent: Vec<_> = (1..4).map(|number| Arc::new(envelope(number))).collect();
    for envelope in &sent {
        bus.publish(&inbox, Arc::clone(envelope)).await.unwrap();
    }
    seen.until(3).await;
    let letters = dead(&bus, 2).await;
    let found: Vec<_> = letters
        .iter()
        .map(|one| (one.id, one.death.class, one.death.reason.as_str(), one.death.attempts))
        .collect();
    let application = FailureClass::Application;
    let expected = [
        (sent[0].message.id, application, "no such customer", 1),
        (sent[1].message.id, application, "the handler panicked", 1),
    ];
    assert_eq!(found, expected);
    assert_eq!(letters[0].envelope.as_ref(), Some(&sent[0]));
    assert_eq!(letters[0].death.queue, inbox);
    assert_eq!(bus.depth(&inbox).await.unwrap().total(), 0);
}

on_every_bus!(x28_a_type_nobody_handles_is_a_dead_letter);
/// X28: a message of a type that the consumer does not know.
async fn x28_a_type_nobody_handles_is_a_dead_letter(backend: &Backend) {
    let bus = backend.bus().await;
    let inbox = queue("agent.picky");
    let accepts: BTreeSet<Kind> = ["other".into()].into();
    let seen = Seen::open();
    let options = ConsumeOptions { accepts: Some(accepts), ..ConsumeOptions::default() };
    let _consumer = seen.consume_with(&bus, &inbox, options).await;
    publish(&bus, &inbox, [1]).await;
    let letters = dead(&bus, 1).await;
    assert_eq!(letters[0].death.class, FailureClass::Data);
    assert!(letters[0].death.reason.contains("`work`"), "{:?}", letters[0].death);
    assert!(seen.all().is_empty());
}

on_every_bus!(attempts_are_counted_and_come_to_an_end);
async fn attempts_are_counted_and_come_to_an_end(backend: &Backend) {
    let limits = Limits { attempts: 3, ..Limits::default() };
    let bus = backend.limited(limits).await;
    let inbox = queue("agent.never");
    let seen = Seen::judging(|_| Verdict::Again(failure("still not")));
    let _consumer = seen.consume(&bus, &inbox).await;
    publish(&bus, &inbox, [1]).await;
    let letters = dead(&bus, 1).await;
    assert_eq!((letters[0].death.attempts, letters[0].death.reason.as_str()), (3, "still not"));
    assert_eq!(seen.numbers(), [1; 3]);
}

on_every_bus!(dead_letters_are_shown_replayed_and_purged);
async fn dead_letters_are_shown_replayed_and_purged(backend: &Backend) {
    let bus = backend.bus().await;
    let (a, b) = (queue("agent.a"), queue("agent.b"));
    let seen = Seen::judging(|_| Verdict::Dead(failure("broken")));
    let consumers = [seen.consume(&bus, &a).await, seen.consume(&bus, &b).await];
    publish(&bus, &a, 1..4).await;
    dead(&bus, 3).await;
    publish(&bus, &b, 4..6).await;
    let all = dead(&bus, 5).await;
    for consumer in &consumers {
        consumer.close().await;
    }
    let list = async |which, limit| bus.dead_letters(which, limit).await.unwrap();
    assert_eq!(list(Selection::All, 2).await, all[..2]);
    assert_eq!(list(Selection::All, 9).await, all, "looking changes nothing");
    assert_eq!(list(Selection::Queue(b.clone()), 9).await, all[3..]);
    let second = Selection::One { queue: a.clone(), id: all[1].id };
    assert_eq!(list(second.clone(), 9).await, all[1..2]);

    assert_eq!(bus.replay(second.clone()).await, Ok(1));
    assert_eq!(bus.replay(second).await, Ok(0));
    until_waiting(&bus, &a, 1).await;
    let works = Seen::open();
    let consumer = works.consume(&bus, &a).await;
    works.until(1).await;
    let back = &works.all()[0];
    assert_eq!((back.envelope.message.id, back.attempt, back.redelivered), (all[1].id, 1, false));
    consumer.close().await;

    assert_eq!(bus.purge(Selection::Queue(a.clone())).await, Ok(2));
    assert_eq!(list(Selection::All, 9).await, all[3..]);
    assert_eq!(bus.replay(Selection::All).await, Ok(2));
    until_waiting(&bus, &b, 2).await;
    assert_eq!(list(Selection::All, 9).await, []);
}

on_every_bus!(full_dead_letters_hold_consumers_back);
/// Nothing is dropped when there is no room for another dead letter: its
/// consumer holds it until there is, or gives it back when it is closed.
async fn full_dead_letters_hold_consumers_back(backend: &Backend) {
    let bus = backend.limited(Limits { dead_letters: 1, ..Limits::default() }).await;
    let inbox = queue("agent.a");
    let seen = Seen::judging(|_| Verdict::Dead(failure("broken")));
    let consumer = seen.consume(&bus, &inbox).await;
    publish(&bus, &inbox, 1..21).await;
    dead(&bus, 1).await;
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    assert!(seen.all().len() < 20, "the consumer holds on to what has no room");
    consumer.close().await;
    // One may still become a dead letter while its consumer closes.
    let somewhere = async || {
        let kept = bus.dead_letters(Selection::All, 100).await.unwrap().len() as u64;
        kept + bus.depth(&inbox).await.unwrap().total() == 20
    };
    eventually("each in one place or the other", somewhere).await;
    let consumer = seen.consume(&bus, &inbox).await;
    let mut purged = 0;
    let all = async || {
        purged += bus.purge(Selection::All).await.unwrap();
        purged == 20
    };
    eventually("every letter", all).await;
    consumer.close().await;
}

on_every_bus!(a_queue_that_is_removed_leaves_dead_letters);
/// What waits in a queue that ends is kept; one that is consumed stays, and one
/// that is gone comes to be again.
async fn a_queue_that_is_removed_leaves_dead_letters(backend: &Backend) {
    let bus = backend.bus().await;
    let inbox = queue("agent.gone");
    let seen = Seen::gated();
    let consumer = seen.consume(&bus, &inbox).await;
    publish(&bus, &inbox, 1..=5).await;
    seen.until(1).await;
    assert!(!bus.remove(&inbox, failure("nobody comes back")).await.unwrap());
    tokio::join!(consumer.close(), async { seen.let_pass() });
    let handled = seen.all().len();

    assert!(bus.remove(&inbox, failure("nobody comes back")).await.unwrap());
    let letters = dead(&bus, 5 - handled).await;
    assert!(letters.iter().all(|one| one.death.reason == "nobody comes back"), "{letters:?}");
    assert!(letters.iter().all(|one| one.death.queue == inbox && one.envelope.is_some()));
    assert!(bus.remove(&inbox, failure("nobody comes back")).await.unwrap());

    let seen = Seen::open();
    let _consumer = seen.consume(&bus, &inbox).await;
    publish(&bus, &inbox, [7]).await;
    seen.until(1).await;
    assert_eq!(seen.numbers(), [7]);
}
