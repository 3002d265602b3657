//! After any sequence of operations, each published message is either handled
//! or a dead letter, exactly once.

use std::sync::{Arc, Mutex};

use ostler_bus::{ConsumeOptions, Consumer, DeadLetterFilter, Delivery, Disposition, QueueLimits};
use ostler_domain::queue_agent::priority::Priority;
use ostler_domain::time::Timestamp;
use proptest::prelude::*;

use crate::kit::{
    Backend, MessageCounts, once_each, run_property, settled_counts, wait_until_all_settled,
};
use crate::support::{envelope, failure, number, queue};

const QUEUES: [&str; 2] = ["agent.p", "agent.q"];

#[derive(Debug, Clone)]
enum Step {
    Publish {
        queue: usize,
        class: usize,
        deadline: Option<i64>,
        behaviour: u64,
    },
    Consume {
        queue: usize,
        concurrency: u16,
        prefetch: u16,
    },
    /// Closes the n-th consumer, or only drops it if `wait` is false.
    Close {
        which: usize,
        wait: bool,
    },
    StopAll,
    Replay,
    Pause,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let deadline = prop::option::of(0i64..5);
    let publish = (0usize..2, 0usize..4, deadline, 0u64..6).prop_map(
        |(queue, class, deadline, behaviour)| Step::Publish { queue, class, deadline, behaviour },
    );
    let consume = (0usize..2, 1u16..4, 1u16..6)
        .prop_map(|(queue, concurrency, prefetch)| Step::Consume { queue, concurrency, prefetch });
    let close =
        (any::<usize>(), any::<bool>()).prop_map(|(which, wait)| Step::Close { which, wait });
    let step = prop_oneof![
        12 => publish,
        3 => consume,
        3 => close,
        1 => Just(Step::StopAll),
        1 => Just(Step::Replay),
        2 => Just(Step::Pause),
    ];
    prop::collection::vec(step, 1..60)
}

/// Handles, fails or retries, depending on the message. A replayed dead letter
/// is handled.
fn dispose(handled: &MessageCounts, failed: &MessageCounts, delivery: &Delivery) -> Disposition {
    let id = delivery.envelope.message.id;
    let again = failed.lock().unwrap().contains_key(&id);
    let disposition = match number(delivery) {
        3 if !again => Disposition::DeadLetter(failure("fails")),
        4 if delivery.attempt < 3 => Disposition::Retry(failure("not yet")),
        5 if !again => Disposition::Retry(failure("never")),
        _ => Disposition::Done,
    };
    match &disposition {
        Disposition::Done => *handled.lock().unwrap().entry(id).or_default() += 1,
        Disposition::Retry(_) if delivery.attempt < 4 => {}
        _ => *failed.lock().unwrap().entry(id).or_default() += 1,
    }
    disposition
}

async fn run(backend: &Backend, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let bus = backend.bus_with(QueueLimits { max_attempts: 4, ..QueueLimits::default() }).await;
    let (handled, failed) = (MessageCounts::default(), MessageCounts::default());
    let in_progress = Arc::new(Mutex::new(0i32));
    let consume = async |name: usize, options| {
        let (handled, failed, in_progress) = (handled.clone(), failed.clone(), in_progress.clone());
        let handler = move |delivery: Delivery| {
            let (handled, failed, in_progress) =
                (handled.clone(), failed.clone(), in_progress.clone());
            async move {
                *in_progress.lock().unwrap() += 1;
                tokio::task::yield_now().await;
                *in_progress.lock().unwrap() -= 1;
                dispose(&handled, &failed, &delivery)
            }
        };
        bus.consume(&queue(QUEUES[name]), options, Arc::new(handler)).await.unwrap()
    };
    let (mut consumers, mut published) = (Vec::<Consumer>::new(), Vec::new());
    for step in steps {
        match step {
            Step::Publish { queue: to, class, deadline, behaviour } => {
                let mut message = envelope(behaviour);
                message.priority = Priority::ALL[class];
                message.sla_deadline = deadline.map(Timestamp::from_millis);
                published.push(message.message.id);
                bus.publish(&queue(QUEUES[to]), Arc::new(message)).await.unwrap();
            }
            Step::Consume { queue, concurrency, prefetch } => {
                let options = ConsumeOptions { concurrency, prefetch, accepts: None };
                consumers.push(consume(queue, options).await);
            }
            Step::Close { which, wait } if !consumers.is_empty() => {
                let consumer = consumers.swap_remove(which % consumers.len());
                if wait {
                    consumer.close().await;
                }
            }
            Step::StopAll => {
                bus.stop_consumers().await;
                consumers.clear();
            }
            Step::Replay => {
                bus.replay_dead_letters(DeadLetterFilter::All).await.unwrap();
            }
            Step::Close { .. } => {}
            Step::Pause => tokio::task::yield_now().await,
        }
    }
    for name in 0..2 {
        consumers.push(consume(name, ConsumeOptions::default()).await);
    }
    wait_until_all_settled(&bus, &handled, &published).await;
    bus.stop_consumers().await;
    prop_assert_eq!(*in_progress.lock().unwrap(), 0, "stop returned before a handler did");
    prop_assert_eq!(settled_counts(&bus, &handled).await, once_each(&published));
    for name in QUEUES {
        prop_assert_eq!(bus.depth(&queue(name)).await.unwrap().total(), 0);
    }
    bus.close().await;
    Ok(())
}

#[test]
fn every_message_is_settled_once_in_memory() {
    run_property(&Backend::Memory, 300, &steps(), &run);
}

#[test]
fn every_message_is_settled_once_on_rabbitmq() {
    run_property(&Backend::rabbitmq(), 12, &steps(), &run);
}
