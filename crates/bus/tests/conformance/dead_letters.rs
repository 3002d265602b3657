//! Dead letters keep the reason of the failure, and can be replayed or deleted.

use std::collections::BTreeSet;
use std::sync::Arc;

use ostler_bus::{ConsumeOptions, DeadLetterFilter, Disposition, EnvelopeKind, QueueLimits};
use ostler_domain::queue_agent::failure::FailureClass;

use crate::kit::{Backend, eventually, on_every_bus, wait_for_dead_letters};
use crate::support::{RecordingHandler, envelope, failure, number, publish, queue, wait_for_depth};

on_every_bus!(x10_x28_a_failed_message_becomes_a_dead_letter);
/// X10, X28: the message is stored with reason and attempts, and the next delivery
/// is handled, also after a panic.
async fn x10_x28_a_failed_message_becomes_a_dead_letter(backend: &Backend) {
    let bus = backend.bus().await;
    let inbox = queue("agent.fails");
    let seen = RecordingHandler::returning(|delivery| match number(delivery) {
        1 => Disposition::DeadLetter(failure("no such customer")),
        2 => panic!("a bug"),
        _ => Disposition::Done,
    });
    let _consumer = seen.consume(&bus, &inbox).await;
    let sent: Vec<_> = (1..4).map(|number| Arc::new(envelope(number))).collect();
    for envelope in &sent {
        bus.publish(&inbox, Arc::clone(envelope)).await.unwrap();
    }
    seen.wait_for(3).await;
    let dead_letters = wait_for_dead_letters(&bus, 2).await;
    let found: Vec<_> = dead_letters
        .iter()
        .map(|delivery| {
            (
                delivery.id,
                delivery.cause.class,
                delivery.cause.reason.as_str(),
                delivery.cause.attempts,
            )
        })
        .collect();
    let application = FailureClass::Application;
    let expected = [
        (sent[0].message.id, application, "no such customer", 1),
        (sent[1].message.id, application, "the handler panicked", 1),
    ];
    assert_eq!(found, expected);
    assert_eq!(dead_letters[0].envelope.as_ref(), Some(&sent[0]));
    assert_eq!(dead_letters[0].cause.queue, inbox);
    assert_eq!(bus.depth(&inbox).await.unwrap().total(), 0);
}

on_every_bus!(x28_an_unaccepted_message_type_becomes_a_dead_letter);
/// X28: the consumer does not accept this message type.
async fn x28_an_unaccepted_message_type_becomes_a_dead_letter(backend: &Backend) {
    let bus = backend.bus().await;
    let inbox = queue("agent.picky");
    let accepts: BTreeSet<EnvelopeKind> = ["other".into()].into();
    let seen = RecordingHandler::open();
    let options = ConsumeOptions { accepts: Some(accepts), ..ConsumeOptions::default() };
    let _consumer = seen.consume_with(&bus, &inbox, options).await;
    publish(&bus, &inbox, [1]).await;
    let dead_letters = wait_for_dead_letters(&bus, 1).await;
    assert_eq!(dead_letters[0].cause.class, FailureClass::Data);
    assert!(dead_letters[0].cause.reason.contains("`work`"), "{:?}", dead_letters[0].cause);
    assert!(seen.deliveries().is_empty());
}

on_every_bus!(a_message_becomes_a_dead_letter_after_the_last_attempt);
async fn a_message_becomes_a_dead_letter_after_the_last_attempt(backend: &Backend) {
    let limits = QueueLimits { max_attempts: 3, ..QueueLimits::default() };
    let bus = backend.bus_with(limits).await;
    let inbox = queue("agent.never");
    let seen = RecordingHandler::returning(|_| Disposition::Retry(failure("still not")));
    let _consumer = seen.consume(&bus, &inbox).await;
    publish(&bus, &inbox, [1]).await;
    let dead_letters = wait_for_dead_letters(&bus, 1).await;
    assert_eq!(
        (dead_letters[0].cause.attempts, dead_letters[0].cause.reason.as_str()),
        (3, "still not")
    );
    assert_eq!(seen.numbers(), [1; 3]);
}

on_every_bus!(dead_letters_are_listed_replayed_and_purged);
async fn dead_letters_are_listed_replayed_and_purged(backend: &Backend) {
    let bus = backend.bus().await;
    let (a, b) = (queue("agent.a"), queue("agent.b"));
    let seen = RecordingHandler::returning(|_| Disposition::DeadLetter(failure("broken")));
    let consumers = [seen.consume(&bus, &a).await, seen.consume(&bus, &b).await];
    publish(&bus, &a, 1..4).await;
    wait_for_dead_letters(&bus, 3).await;
    publish(&bus, &b, 4..6).await;
    let all = wait_for_dead_letters(&bus, 5).await;
    for consumer in &consumers {
        consumer.close().await;
    }
    let list = async |which, limit| bus.dead_letters(which, limit).await.unwrap();
    assert_eq!(list(DeadLetterFilter::All, 2).await, all[..2]);
    assert_eq!(list(DeadLetterFilter::All, 9).await, all, "looking changes nothing");
    assert_eq!(list(DeadLetterFilter::Queue(b.clone()), 9).await, all[3..]);
    let second = DeadLetterFilter::One { queue: a.clone(), id: all[1].id };
    assert_eq!(list(second.clone(), 9).await, all[1..2]);

    assert_eq!(bus.replay_dead_letters(second.clone()).await, Ok(1));
    assert_eq!(bus.replay_dead_letters(second).await, Ok(0));
    wait_for_depth(&bus, &a, 1).await;
    let works = RecordingHandler::open();
    let consumer = works.consume(&bus, &a).await;
    works.wait_for(1).await;
    let back = &works.deliveries()[0];
    assert_eq!((back.envelope.message.id, back.attempt, back.redelivered), (all[1].id, 1, false));
    consumer.close().await;

    assert_eq!(bus.purge_dead_letters(DeadLetterFilter::Queue(a.clone())).await, Ok(2));
    assert_eq!(list(DeadLetterFilter::All, 9).await, all[3..]);
    assert_eq!(bus.replay_dead_letters(DeadLetterFilter::All).await, Ok(2));
    wait_for_depth(&bus, &b, 2).await;
    assert_eq!(list(DeadLetterFilter::All, 9).await, []);
}

on_every_bus!(consumers_keep_failed_messages_while_dead_letters_are_full);
/// Without room for another dead letter nothing is dropped: the consumer keeps
/// the message until there is room, or requeues it when it is closed.
async fn consumers_keep_failed_messages_while_dead_letters_are_full(backend: &Backend) {
    let bus = backend.bus_with(QueueLimits { dead_letters: 1, ..QueueLimits::default() }).await;
    let inbox = queue("agent.a");
    let seen = RecordingHandler::returning(|_| Disposition::DeadLetter(failure("broken")));
    let consumer = seen.consume(&bus, &inbox).await;
    publish(&bus, &inbox, 1..21).await;
    wait_for_dead_letters(&bus, 1).await;
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    assert!(seen.deliveries().len() < 20, "the consumer holds on to what has no room");
    consumer.close().await;
    // One more may become a dead letter while the consumer closes.
    let somewhere = async || {
        let kept = bus.dead_letters(DeadLetterFilter::All, 100).await.unwrap().len() as u64;
        kept + bus.depth(&inbox).await.unwrap().total() == 20
    };
    eventually("each in delivery place or the other", somewhere).await;
    let consumer = seen.consume(&bus, &inbox).await;
    let mut purged = 0;
    let all = async || {
        purged += bus.purge_dead_letters(DeadLetterFilter::All).await.unwrap();
        purged == 20
    };
    eventually("every dead_letter", all).await;
    consumer.close().await;
}

on_every_bus!(messages_of_a_deleted_queue_become_dead_letters);
/// A queue with a consumer is kept, and a deleted queue can be used again.
async fn messages_of_a_deleted_queue_become_dead_letters(backend: &Backend) {
    let bus = backend.bus().await;
    let inbox = queue("agent.deleted");
    let seen = RecordingHandler::gated();
    let consumer = seen.consume(&bus, &inbox).await;
    publish(&bus, &inbox, 1..=5).await;
    seen.wait_for(1).await;
    assert!(!bus.delete_queue(&inbox, failure("the consumer does not return")).await.unwrap());
    tokio::join!(consumer.close(), async { seen.open_gate() });
    let handled = seen.deliveries().len();

    assert!(bus.delete_queue(&inbox, failure("the consumer does not return")).await.unwrap());
    let dead_letters = wait_for_dead_letters(&bus, 5 - handled).await;
    assert!(
        dead_letters.iter().all(|delivery| delivery.cause.reason == "the consumer does not return"),
        "{dead_letters:?}"
    );
    assert!(
        dead_letters
            .iter()
            .all(|delivery| delivery.cause.queue == inbox && delivery.envelope.is_some())
    );
    assert!(bus.delete_queue(&inbox, failure("the consumer does not return")).await.unwrap());

    let seen = RecordingHandler::open();
    let _consumer = seen.consume(&bus, &inbox).await;
    publish(&bus, &inbox, [7]).await;
    seen.wait_for(1).await;
    assert_eq!(seen.numbers(), [7]);
}
