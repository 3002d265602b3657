//! Whatever happens in whatever order, each published message ends as handled
//! or as a dead letter, exactly one of the two.

use std::sync::{Arc, Mutex};

use ostler_bus::{ConsumeOptions, Consumer, Delivery, Limits, Selection, Verdict};
use ostler_domain::dispatch::priority::Priority;
use ostler_domain::time::Timestamp;
use proptest::prelude::*;

use crate::kit::{Backend, Counted, campaign, ends, once, until_all_ended};
use crate::world::{envelope, failure, number, queue};

const QUEUES: [&str; 2] = ["agent.p", "agent.q"];

#[derive(Debug, Clone)]
enum Step {
    Publish {
        queue: usize,
        class: usize,
        deadline: Option<i64>,
        fate: u64,
    },
    Consume {
        queue: usize,
        concurrency: u16,
        prefetch: u16,
    },
    /// Closes the n-th consumer; without waiting, if it is only dropped.
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
    let publish = (0usize..2, 0usize..4, deadline, 0u64..6)
        .prop_map(|(queue, class, deadline, fate)| Step::Publish { queue, class, deadline, fate });
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

/// Handles, fails, panics or asks for more attempts, as the message says. What
/// is replayed after it died is handled.
fn judge(handled: &Counted, died: &Counted, delivery: &Delivery) -> Verdict {
    let id = delivery.envelope.message.id;
    let again = died.lock().unwrap().contains_key(&id);
    let verdict = match number(delivery) {
        3 if !again => Verdict::Dead(failure("fails")),
        4 if delivery.attempt < 3 => Verdict::Again(failure("not yet")),
        5 if !again => Verdict::Again(failure("never")),
        _ => Verdict::Done,
    };
    match &verdict {
        Verdict::Done => *handled.lock().unwrap().entry(id).or_default() += 1,
        Verdict::Again(_) if delivery.attempt < 4 => {}
        _ => *died.lock().unwrap().entry(id).or_default() += 1,
    }
    verdict
}

async fn run(backend: &Backend, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let bus = backend.limited(Limits { attempts: 4, ..Limits::default() }).await;
    let (handled, died) = (Counted::default(), Counted::default());
    let in_work = Arc::new(Mutex::new(0i32));
    let consume = async |name: usize, options| {
        let (handled, died, in_work) = (handled.clone(), died.clone(), in_work.clone());
        let handler = move |delivery: Delivery| {
            let (handled, died, in_work) = (handled.clone(), died.clone(), in_work.clone());
            async move {
                *in_work.lock().unwrap() += 1;
                tokio::task::yield_now().await;
                *in_work.lock().unwrap() -= 1;
                judge(&handled, &died, &delivery)
            }
        };
        bus.consume(&queue(QUEUES[name]), options, Arc::new(handler)).await.unwrap()
    };
    let (mut consumers, mut published) = (Vec::<Consumer>::new(), Vec::new());
    for step in steps {
        match step {
            Step::Publish { queue: to, class, deadline, fate } => {
                let mut one = envelope(fate);
                one.priority = Priority::ALL[class];
                one.sla_deadline = deadline.map(Timestamp::from_millis);
                published.push(one.message.id);
                bus.publish(&queue(QUEUES[to]), Arc::new(one)).await.unwrap();
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
                bus.stop_all().await;
                consumers.clear();
            }
            Step::Replay => {
                bus.replay(Selection::All).await.unwrap();
            }
            Step::Close { .. } => {}
            Step::Pause => tokio::task::yield_now().await,
        }
    }
    for name in 0..2 {
        consumers.push(consume(name, ConsumeOptions::default()).await);
    }
    until_all_ended(&bus, &handled, &published).await;
    bus.stop_all().await;
    prop_assert_eq!(*in_work.lock().unwrap(), 0, "stop returned before a handler did");
    prop_assert_eq!(ends(&bus, &handled).await, once(&published));
    for name in QUEUES {
        prop_assert_eq!(bus.depth(&queue(name)).await.unwrap().total(), 0);
    }
    bus.close().await;
    Ok(())
}

#[test]
fn every_message_ends_once_in_memory() {
    campaign(&Backend::Memory, 300, &steps(), &run);
}

#[test]
fn every_message_ends_once_on_rabbitmq() {
    campaign(&Backend::rabbitmq(), 12, &steps(), &run);
}
